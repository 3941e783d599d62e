//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Extremely randomised trees: Geurts, Ernst, Wehenkel, "Extremely randomized
// trees", Machine Learning 63 (2006).

#ifndef ATTUNE_LIB_SEARCH_FOREST_H
#define ATTUNE_LIB_SEARCH_FOREST_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <random>
#include <vector>

namespace attune {

struct ForestOptions {
  size_t trees = 40;
  /// Splits tried at a node: this share of the features.
  double featureShare = 0.5;
  size_t leastLeaf = 1;
};

/// What a forest says of a point: the mean of its trees, and how far they are
/// apart.
struct Prediction {
  double mean = 0, deviation = 0;
};

class Forest {
public:
  /// `rows` holds one point after the other, `width` numbers each; `targets`
  /// has one number for each, and there is at least one.
  Forest(llvm::ArrayRef<float> rows, size_t width,
         llvm::ArrayRef<double> targets, const ForestOptions &options,
         std::mt19937_64 &random);

  Prediction predict(const float *point) const;

private:
  struct Node {
    float threshold;      ///< Left is below.
    uint32_t feature;     ///< `leaf` where it ends.
    uint32_t left;        ///< Right is the next.
    float mean, variance; ///< Of a leaf's targets.
  };
  static constexpr uint32_t leaf = UINT32_MAX;
  struct Split {
    double gain = -1;
    uint32_t feature = 0;
    float threshold = 0;
  };
  struct Data;

  void grow(Data &data, uint32_t node, size_t begin, size_t end);
  Split chooseSplit(Data &data, size_t begin, size_t end) const;

  ForestOptions options;
  std::vector<Node> nodes;
  std::vector<uint32_t> roots;
};

} // namespace attune

#endif // ATTUNE_LIB_SEARCH_FOREST_H
