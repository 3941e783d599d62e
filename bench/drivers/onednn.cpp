//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// oneDNN's matmul primitive. It chooses the layout of B (a weight to it) and
// gets it reordered once, outside the measurement; A and C stay row-major.

#include "peer.h"
#include <dnnl.hpp>

using namespace bench;
using dnnl::memory;

namespace {

class OneDnn : public Peer {
public:
  std::string setUp(Matmul &p, const std::string &) override {
    auto describe = [](int64_t rows, int64_t columns, memory::format_tag tag) {
      return memory::desc({rows, columns}, memory::data_type::f32, tag);
    };
    const auto plain = memory::format_tag::ab;
    auto a = describe(p.m, p.k, plain), c = describe(p.m, p.n, plain);
    dnnl::matmul::primitive_desc chosen(
        engine, a, describe(p.k, p.n, memory::format_tag::any), c);
    memory given(describe(p.k, p.n, plain), engine, p.b.data());
    memory weights(chosen.weights_desc(), engine);
    dnnl::reorder(given, weights).execute(stream, given, weights);
    stream.wait();
    primitive = dnnl::matmul(chosen);
    arguments = {{DNNL_ARG_SRC, memory(a, engine, p.a.data())},
                 {DNNL_ARG_WEIGHTS, weights},
                 {DNNL_ARG_DST, memory(c, engine, p.c.data())}};
    const dnnl_version_t *version = dnnl_version();
    return "oneDNN " + std::to_string(version->major) + "." +
           std::to_string(version->minor) + "; kernel " +
           chosen.impl_info_str();
  }

  void call() override {
    primitive.execute(stream, arguments);
    stream.wait();
  }

private:
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  std::unordered_map<int, memory> arguments;
};

} // namespace

int main() {
  OneDnn peer;
  return serve(peer);
}
