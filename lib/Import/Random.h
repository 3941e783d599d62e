//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Random numbers that are the same on every machine: integers and their exact
// sums only, no library function.

#ifndef ATTUNE_LIB_IMPORT_RANDOM_H
#define ATTUNE_LIB_IMPORT_RANDOM_H

#include <cstdint>

namespace attune {

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
/// Generators, OOPSLA 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return double(next() >> 11) * 0x1p-53; }
  /// In [0, bound).
  uint64_t below(uint64_t bound) { return next() % bound; }
  /// Close to normal, mean 0, deviation 1, at most 3.47: the sum of four
  /// uniform numbers (Irwin and Hall).
  double normal() {
    uint64_t z = next();
    double sum = double(z & 0xFFFF) + double(z >> 16 & 0xFFFF) +
                 double(z >> 32 & 0xFFFF) + double(z >> 48);
    return (sum - 2.0 * 65535) * (1.7320508075688772 / 65536);
  }

private:
  uint64_t state;
};

} // namespace attune

#endif // ATTUNE_LIB_IMPORT_RANDOM_H
