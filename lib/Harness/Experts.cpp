//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The experts that come with Attune.

#include "attune/Harness/Expert.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attune {

namespace {

/// What the tiling experts choose.
struct Tiles {
  /// A tile of registers, and the steps of k inside it.
  Variable m = Variable::range("m_tile", 6, 1, 16);
  Variable n = Variable::list("n_tile", 16, {4, 8, 16, 32, 64});
  Variable k = Variable::list("k_tile", 4, {1, 2, 4, 8});
  /// [0, 1]: along n outside, m inside.
  Variable order = Variable::permutation("order", 2);
  /// Blocks of tiles; 0 is no block.
  Variable mBlock =
      Variable::list("m_block", 0, {0, 2, 4, 8, 12, 16, 24, 32, 48, 64});
  Variable nBlock = Variable::list("n_block", 0, {0, 2, 4, 8, 16, 32, 64});
  Variable kBlock =
      Variable::list("k_block", 0, {0, 32, 64, 128, 192, 256, 384, 512});
};

} // namespace

/// Everything whose result is tiled: not what reduces to single numbers.
static std::vector<std::string> tileable() {
  return {"contraction", "convolution", "depthwise", "pooling",
          "matvec",      "elementwise", "copy",      "reduction"};
}

static Expert bounded(const Expert &expert) {
  // Accumulators, one row of n, and one value of m broadcast.
  const std::string row =
      "(n_tile * element_bytes + vector_bytes - 1) // vector_bytes";
  return expert
      .require("m_tile * n_tile * k_tile * element_bytes <= 128 * vector_bytes",
               "the unrolled body of a tile gets too long")
      .require("(m_tile + 1) * (" + row + ") + 1 <= vector_registers",
               "the tile needs more registers than there are");
}

static Expert withVectors(const Expert &expert) {
  return expert.then(tileRest()).then(vectorize());
}

static Expert singleTiling() {
  Tiles tiles;
  return withVectors(bounded(
      Expert("single_tiling")
          .fits(tileable())
          .then(tileToThreads({"batch"}, {1}))
          .then(tileAndFuse({"n", "m"}, {tiles.n, tiles.m}, {tiles.order}))
          .then(tile({"window", "k"}, {1, tiles.k}))));
}

static Expert doubleTiling() {
  Tiles tiles;
  return withVectors(bounded(
      Expert("double_tiling")
          .fits(tileable())
          .then(tileToThreads(
              {"batch", "n", "m"},
              {1, tiles.nBlock.times(tiles.n), tiles.mBlock.times(tiles.m)}))
          .then(tile({"k"}, {tiles.kBlock}))
          .then(tileAndFuse({"n", "m"}, {tiles.n, tiles.m}, {tiles.order}))
          .then(tile({"window", "k"}, {1, tiles.k}))));
}

static Expert tripleTiling() {
  Tiles tiles;
  Variable mMiddle = Variable::list("m_block", 8, {1, 2, 4, 8, 12, 16, 24, 32});
  Variable nMiddle = Variable::list("n_block", 4, {1, 2, 4, 8, 16});
  Variable mOuter = Variable::list("m_outer", 0, {0, 2, 4, 8, 16});
  Variable nOuter = Variable::list("n_outer", 0, {0, 2, 4, 8, 16});
  return withVectors(bounded(
      Expert("triple_tiling")
          .fits(tileable())
          .then(tileToThreads({"batch", "n", "m"},
                              {1, nOuter.times(nMiddle).times(tiles.n),
                               mOuter.times(mMiddle).times(tiles.m)}))
          .then(tile({"k"}, {tiles.kBlock}))
          .then(tileAndFuse({"n", "m"},
                            {nMiddle.times(tiles.n), mMiddle.times(tiles.m)}))
          .then(tileAndFuse({"n", "m"}, {tiles.n, tiles.m}, {tiles.order}))
          .then(tile({"window", "k"}, {1, tiles.k}))));
}

static Expert tileAndDecompose() {
  Tiles tiles;
  return withVectors(bounded(
      Expert("tile_and_decompose")
          .fits({"convolution", "depthwise", "pooling"})
          .then(tileToThreads({"batch"}, {1}))
          .then(tileAndFuse({"n", "m"}, {tiles.n, tiles.m}, {tiles.order}))
          .then(decompose())
          .then(tile({"k"}, {tiles.k}))));
}

static Expert packed() {
  Tiles tiles;
  return withVectors(
      bounded(
          Expert("packed")
              .fits({"contraction"})
              .then(tileToThreads({"batch", "n", "m"},
                                  {1, tiles.nBlock.times(tiles.n),
                                   tiles.mBlock.times(tiles.m)}))
              .then(tile({"k"}, {tiles.kBlock}))
              .then(tileAndFuse({"n", "m"}, {tiles.n, tiles.m}, {tiles.order}))
              .then(pack("n", Variable::boolean("pack_b", true)))
              .then(pack("m", Variable::boolean("pack_a", false)))
              .then(tile({"window", "k"}, {1, tiles.k})))
          .require("n_tile * element_bytes % vector_bytes == 0",
                   "a row of the tile is no whole vectors"));
}

const std::vector<Expert> &shippedExperts() {
  static const std::vector<Expert> experts = {
      // Small ops whole; of large ones the code would be without end.
      Expert("lowering_only").then(vectorize(256)),
      singleTiling(),
      doubleTiling(),
      tripleTiling(),
      tileAndDecompose(),
      packed(),
  };
  return experts;
}

Expected<Expert> findExpert(StringRef name) {
  for (const Expert &expert : shippedExperts())
    if (expert.getName() == name)
      return expert;
  return makeError(
      "there is no expert '{0}'; there are {1}", name,
      join(map_range(shippedExperts(),
                     [](const Expert &expert) { return expert.getName(); }),
           ", "));
}

} // namespace attune
