//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Forest.h"

#include <algorithm>
#include <cmath>

using namespace attune;

struct Forest::Data {
  llvm::ArrayRef<float> rows;
  size_t width;
  llvm::ArrayRef<double> targets;
  std::mt19937_64 &random;
  std::vector<uint32_t> order; ///< Points, in the order of the leaves.
  std::vector<uint32_t> features;

  float at(uint32_t point, uint32_t feature) const {
    return rows[point * width + feature];
  }
  /// The same on every platform.
  double drawUnit() { return double(random() >> 11) * 0x1p-53; }
  size_t drawBelow(size_t bound) { return size_t(drawUnit() * double(bound)); }
};

Forest::Forest(llvm::ArrayRef<float> rows, size_t width,
               llvm::ArrayRef<double> targets, const ForestOptions &options,
               std::mt19937_64 &random)
    : options(options) {
  Data data{rows, width, targets, random, {}, {}};
  for (uint32_t i = 0; i < targets.size(); ++i)
    data.order.push_back(i);
  for (uint32_t i = 0; i < width; ++i)
    data.features.push_back(i);
  nodes.reserve(options.trees * targets.size() * 2);
  for (size_t tree = 0; tree < options.trees; ++tree) {
    roots.push_back(uint32_t(nodes.size()));
    nodes.push_back({});
    grow(data, roots.back(), 0, targets.size());
  }
}

void Forest::grow(Data &data, uint32_t node, size_t begin, size_t end) {
  double sum = 0, squares = 0, count = double(end - begin);
  for (size_t i = begin; i < end; ++i) {
    double target = data.targets[data.order[i]];
    sum += target;
    squares += target * target;
  }
  double mean = sum / count;
  double variance = std::max(0.0, squares / count - mean * mean);
  nodes[node] = {0, leaf, 0, float(mean), float(variance)};
  if (end - begin < 2 * options.leastLeaf || variance < 1e-12)
    return;
  Split split = chooseSplit(data, begin, end);
  if (split.gain < 0)
    return;
  auto first = data.order.begin();
  size_t middle =
      std::partition(first + begin, first + end,
                     [&](uint32_t point) {
                       return data.at(point, split.feature) < split.threshold;
                     }) -
      first;
  uint32_t left = uint32_t(nodes.size());
  nodes.resize(nodes.size() + 2);
  nodes[node].feature = split.feature;
  nodes[node].threshold = split.threshold;
  nodes[node].left = left;
  grow(data, left, begin, middle);
  grow(data, left + 1, middle, end);
}

/// One random threshold for each of some random features that are not constant
/// here; the one that separates the targets best.
Forest::Split Forest::chooseSplit(Data &data, size_t begin, size_t end) const {
  Split best;
  size_t wanted = std::max<size_t>(
      1, size_t(std::lround(options.featureShare * double(data.width))));
  size_t tried = 0;
  for (size_t i = 0; i < data.width && tried < wanted; ++i) {
    std::swap(data.features[i],
              data.features[i + data.drawBelow(data.width - i)]);
    uint32_t feature = data.features[i];
    float low = data.at(data.order[begin], feature), high = low;
    for (size_t p = begin + 1; p < end; ++p) {
      float value = data.at(data.order[p], feature);
      low = std::min(low, value);
      high = std::max(high, value);
    }
    if (!(low < high))
      continue;
    ++tried;
    float threshold = low + float(data.drawUnit()) * (high - low);
    if (!(threshold > low))
      threshold = high;
    double leftSum = 0, rightSum = 0, left = 0, right = 0;
    for (size_t p = begin; p < end; ++p) {
      uint32_t point = data.order[p];
      bool isLeft = data.at(point, feature) < threshold;
      (isLeft ? leftSum : rightSum) += data.targets[point];
      (isLeft ? left : right) += 1;
    }
    if (left < double(options.leastLeaf) || right < double(options.leastLeaf))
      continue;
    double difference = leftSum / left - rightSum / right;
    double gain = left * right * difference * difference;
    if (gain > best.gain)
      best = {gain, feature, threshold};
  }
  return best;
}

Prediction Forest::predict(const float *point) const {
  double sum = 0, squares = 0;
  for (uint32_t root : roots) {
    const Node *node = &nodes[root];
    while (node->feature != leaf)
      node = &nodes[node->left + !(point[node->feature] < node->threshold)];
    sum += node->mean;
    squares += double(node->mean) * node->mean + node->variance;
  }
  double trees = double(roots.size()), mean = sum / trees;
  return {mean, std::sqrt(std::max(0.0, squares / trees - mean * mean))};
}
