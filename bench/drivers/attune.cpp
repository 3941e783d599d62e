//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A library that `attune compile` wrote, called through its C interface.

#include "attune/Runtime/program.h"
#include "peer.h"
#include <dlfcn.h>
#include <stdexcept>

using namespace bench;

namespace {

class Attune : public Peer {
public:
  std::string setUp(Matmul &p, const std::string &library) override {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      throw std::runtime_error(dlerror());
    auto create = find<decltype(attune_create)>(handle, "attune_create");
    error = find<decltype(attune_error)>(handle, "attune_error");
    run = find<decltype(attune_run)>(handle, "attune_run");
    if (create(ATTUNE_ABI_VERSION, &program))
      throw std::runtime_error(error(nullptr));
    inputs[0] = describe(p.a, p.m, p.k);
    inputs[1] = describe(p.b, p.k, p.n);
    output = describe(p.c, p.m, p.n);
    return library;
  }

  void call() override {
    if (run(program, "main", inputs, 2, &output, 1))
      throw std::runtime_error(error(program));
  }

private:
  template <typename F> static F *find(void *handle, const char *name) {
    void *symbol = dlsym(handle, name);
    if (!symbol)
      throw std::runtime_error(dlerror());
    return reinterpret_cast<F *>(symbol);
  }

  static AttuneTensor describe(std::vector<float> &data, int64_t rows,
                               int64_t columns) {
    AttuneTensor tensor{};
    tensor.data = data.data();
    tensor.type = ATTUNE_F32;
    tensor.rank = 2;
    tensor.sizes[0] = rows;
    tensor.sizes[1] = columns;
    tensor.strides[0] = columns;
    tensor.strides[1] = 1;
    return tensor;
  }

  decltype(attune_run) *run = nullptr;
  decltype(attune_error) *error = nullptr;
  AttuneProgram *program = nullptr;
  AttuneTensor inputs[2] = {}, output = {};
};

} // namespace

int main() {
  Attune peer;
  return serve(peer);
}
