//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// OpenBLAS as numpy's wheel carries it: openblas LIBRARY.

#include "peer.h"
#include <dlfcn.h>
#include <stdexcept>

using namespace bench;

namespace {

class OpenBlas : public Peer {
public:
  explicit OpenBlas(const char *path) : path(path) {}

  std::string setUp(Matmul &given, const std::string &) override {
    problem = &given;
    handle = dlopen(path, RTLD_NOW);
    if (!handle)
      throw std::runtime_error(dlerror());
    sgemm = reinterpret_cast<Sgemm *>(find("cblas_sgemm64_"));
    auto text = [&](const char *name) {
      return std::string(reinterpret_cast<const char *(*)()>(find(name))());
    };
    return text("openblas_get_config64_") + "; kernel " +
           text("openblas_get_corename64_");
  }

  void call() override {
    constexpr int rowMajor = 101, noTranspose = 111;
    const Matmul &p = *problem;
    sgemm(rowMajor, noTranspose, noTranspose, p.m, p.n, p.k, 1, p.a.data(), p.k,
          p.b.data(), p.n, 0, problem->c.data(), p.n);
  }

private:
  using Sgemm = void(int, int, int, int64_t, int64_t, int64_t, float,
                     const float *, int64_t, const float *, int64_t, float,
                     float *, int64_t);

  /// Wheels since numpy 1.25 put a prefix before every name.
  void *find(const std::string &name) {
    void *symbol = dlsym(handle, ("scipy_" + name).c_str());
    if (!symbol)
      symbol = dlsym(handle, name.c_str());
    if (!symbol)
      throw std::runtime_error("no " + name + " in " + path);
    return symbol;
  }

  const char *path;
  void *handle = nullptr;
  Sgemm *sgemm = nullptr;
  Matmul *problem = nullptr;
};

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  OpenBlas peer(argv[1]);
  return serve(peer);
}
