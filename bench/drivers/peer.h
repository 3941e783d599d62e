//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the drivers share: each peer is a process of its own that bench.py wakes
// for one round after the other. Commands come as lines on standard input:
//
//   setup M N K [LIBRARY]   make the operands (the same numbers in every peer)
//   run SECONDS             call for about that long
//   output PATH             write the last result as raw floats
//
// Each is answered by one line: `ok TEXT` or `error TEXT`; that of `run` is
// `ok FASTEST MEDIAN CALLS`, in seconds.

#ifndef ATTUNE_BENCH_PEER_H
#define ATTUNE_BENCH_PEER_H

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// Row-major operands of C = A B.
struct Matmul {
  int64_t m, n, k;
  std::vector<float> a, b, c;
};

/// One peer: how it prepares a problem, and one call of it.
class Peer {
public:
  virtual ~Peer() = default;
  /// What runs (version, kernel) for people; throws std::runtime_error when it
  /// cannot. `library` is what came after the sizes.
  virtual std::string setUp(Matmul &problem, const std::string &library) = 0;
  virtual void call() = 0;
};

/// Answers commands until standard input ends.
int serve(Peer &peer);

} // namespace bench

#endif // ATTUNE_BENCH_PEER_H
