//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Root ops in IREE's dumps: spaces, configurations, specs, and whether they
// arrived.

#include "../../lib/Backend/IreeRoots.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

static constexpr llvm::StringLiteral
    ours("#iree_cpu.lowering_config<distribution = [64, 64, 0], "
         "vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 8]>"),
    other("#iree_cpu.lowering_config<distribution = [32, 16, 0], "
          "vector_common_parallel = [1, 4, 0], vector_reduction = [0, 0, 1]>");

/// A dispatch of iree-hal-dump-executable-configurations-to.
static std::string dispatchOf(llvm::StringRef op) {
  return ("func.func @main_dispatch_0() attributes {translation_info = "
          "#iree_codegen.translation_info<pipeline = "
          "#iree_cpu.pipeline<DoubleTilingExpert>>} {\n" +
          op)
      .str();
}

static std::string contraction(llvm::StringRef k, llvm::StringRef config,
                               llvm::StringRef body = "") {
  return dispatchOf(
      llvm::formatv(
          "%7 = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) "
          "-> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, "
          "affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = "
          "[\"parallel\", \"parallel\", \"reduction\"]} ins(%3, %4 : "
          "tensor<256x{0}xf32>, tensor<{0}x64xf32>) outs(%6 : "
          "tensor<256x64xf32>) attrs =  {{lowering_config = {1}} {{\n{2}",
          k, config, body)
          .str());
}

static std::vector<iree::RootOp> rootsOf(llvm::StringRef text,
                                         iree::Untuned *untuned = nullptr) {
  std::vector<iree::RootOp> found;
  iree::findRoots(text, found, untuned);
  return found;
}

/// The only root of a text, and its space.
static std::pair<Space, Configuration> spaceOf(const iree::RootOp &root) {
  auto made = iree::rootSpace(root);
  if (!made) {
    ADD_FAILURE() << llvm::toString(made.takeError());
    std::abort();
  }
  return std::move(*made);
}

TEST(IreeRootsTest, FindsEqualContractionsOnce) {
  std::string text = contraction("512", ours);
  auto found = rootsOf(text + text + contraction("128", ours));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shapes(), "256x64x512xf32");
  EXPECT_EQ(found[0].kinds, "mnk");
  EXPECT_EQ(found[0].rootOp, "contraction");
  EXPECT_EQ(found[0].dispatches.size(), 2u);
  EXPECT_EQ(found[0].dispatches[0], "main_dispatch_0");
  EXPECT_EQ(found[0].configs[0], ours);
}

TEST(IreeRootsTest, OtherBodiesAreFoundByTheirTypes) {
  auto found = rootsOf(contraction("512", ours,
                                   "^bb0(%a: f32, %b: f32, %c: f32):\n"
                                   "  %1 = arith.subf %a, %b : f32\n"
                                   "  %2 = arith.addf %1, %c : f32\n"
                                   "  linalg.yield %2 : f32\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rootOp, "reduction");
  EXPECT_EQ(found[0].kinds, "ppr");
  std::string spec = iree::printTuningSpec({{&found[0], "#x", "#y"}});
  EXPECT_THAT(spec, HasSubstr("operation_name %op [\"linalg.generic\"]"));
  EXPECT_THAT(spec, HasSubstr("%operand1 = tensor<512x64xf32>"));
}

TEST(IreeRootsTest, SpacesHoldWhatIreeDoes) {
  auto [space, own] = spaceOf(rootsOf(contraction("512", ours)).front());
  EXPECT_GT(space.count(), 1000u);
  EXPECT_TRUE(space.contains(own));
  auto root = rootsOf(contraction("512", ours)).front();
  EXPECT_EQ(iree::loweringConfig(root, own), ours);
}

TEST(IreeRootsTest, VectorsStayUnderIreesLimit) {
  auto [space, own] = spaceOf(rootsOf(contraction("512", ours)).front());
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    Configuration one = space.sample(random);
    int64_t m = std::get<int64_t>(*one.find("m_vector")),
            n = std::get<int64_t>(*one.find("n_vector")),
            k = std::get<int64_t>(*one.find("k_vector"));
    EXPECT_LT(4 * m * n * k, 16384);
  }
}

TEST(IreeRootsTest, CacheTilesAreALevelOfTheirOwn) {
  auto root = rootsOf(contraction("512", ours)).front();
  Configuration wanted{"",
                       {{"m_distribute", int64_t(128)},
                        {"n_distribute", int64_t(64)},
                        {"m_vector", int64_t(8)},
                        {"n_vector", int64_t(16)},
                        {"k_vector", int64_t(4)},
                        {"cache", true},
                        {"m_cache", int64_t(64)},
                        {"n_cache", int64_t(32)},
                        {"k_cache", int64_t(256)}}};
  std::string config = iree::loweringConfig(root, wanted);
  EXPECT_EQ(config,
            "#iree_cpu.lowering_config<cache_parallel = [64, 32, 0], "
            "cache_reduction = [0, 0, 256], distribution = [128, 64, 0], "
            "vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, "
            "4]>");
  std::string spec = iree::printTuningSpec(
      {{&root, config, iree::translationInfo(root, wanted)}});
  EXPECT_THAT(spec, HasSubstr("dims_equal %k, [512]"));
  EXPECT_THAT(spec, HasSubstr("#iree_cpu.pipeline<DoubleTilingExpert>"));
  EXPECT_THAT(spec, HasSubstr("@match_0 -> @apply_op_config"));
}

TEST(IreeRootsTest, OpenDimensionsAreNotChecked) {
  auto found = rootsOf(contraction("?", ours));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shapes(), "256x64x?xf32");
  std::string spec = iree::printTuningSpec({{&found[0], "#x", "#y"}});
  EXPECT_THAT(spec, Not(HasSubstr("dims_equal %k")));
  EXPECT_THAT(spec, HasSubstr("dims_equal %m, [256]"));
}

TEST(IreeRootsTest, PackedContractionsKeepTheirInnerTiles) {
  auto found = rootsOf(dispatchOf(
      "%7 = linalg.mmt4d {lowering_config = "
      "#iree_cpu.lowering_config<distribution = [1, 2, 0, 0, 0, 0], "
      "vector_common_parallel = [1, 1, 0, 8, 4, 0], vector_reduction = [0, 0, "
      "1, 0, 0, 2]>} ins(%3, %4 : tensor<256x512x8x2xf32>, "
      "tensor<64x512x4x2xf32>) outs(%6 : tensor<256x64x8x4xf32>) -> "
      "tensor<256x64x8x4xf32>"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shapes(), "256x64x512x8x4x2xf32");
  auto [space, own] = spaceOf(found[0]);
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i)
    EXPECT_THAT(iree::loweringConfig(found[0], space.sample(random)),
                HasSubstr("vector_common_parallel = [1, 1, 0, 8, 4, 0], "
                          "vector_reduction = [0, 0, 1, 0, 0, 2]>"));
}

TEST(IreeRootsTest, ConvolutionsHaveAPipelineToChoose) {
  std::string text = dispatchOf(
      "%7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> "
      "(d0, d1 * 2 + d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3)>, "
      "affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = "
      "[\"parallel\", \"parallel\", \"parallel\", \"reduction\"]} ins(%3, %4 : "
      "tensor<2x35xf16>, tensor<8x3xf16>) outs(%6 : tensor<2x16x8xf32>) attrs "
      "=  {lowering_config = #iree_cpu.lowering_config<distribution = [0, 8, "
      "8, 0], vector_common_parallel = [1, 4, 8, 0], vector_reduction = [0, 0, "
      "0, 3]>} {\n");
  size_t at = text.find("DoubleTilingExpert");
  text.replace(at, 18, "ConvTileAndDecomposeExpert");
  auto found = rootsOf(text);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rootOp, "convolution");
  EXPECT_EQ(found[0].shapes(), "2x16x8x3xf16");
  auto [space, own] = spaceOf(found[0]);
  Configuration changed = own;
  for (auto &[name, value] : changed.values)
    if (name == "pipeline")
      value = "DoubleTilingExpert";
  EXPECT_THAT(iree::translationInfo(found[0], own), HasSubstr("Conv"));
  EXPECT_EQ(iree::translationInfo(found[0], changed),
            "#iree_codegen.translation_info<pipeline = "
            "#iree_cpu.pipeline<DoubleTilingExpert>>");
  // What IREE leaves whole stays whole.
  EXPECT_EQ(own.find("d0_distribute"), nullptr);
}

TEST(IreeRootsTest, ReductionsWithTwoResultsHaveASpace) {
  auto found = rootsOf(dispatchOf(
      "%7:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, "
      "d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], "
      "iterator_types = [\"parallel\", \"reduction\"]} ins(%3 : "
      "tensor<64x1536xf32>) outs(%4, %5 : tensor<64xf32>, tensor<64xi32>) "
      "attrs =  {lowering_config = #iree_cpu.lowering_config<distribution = "
      "[8, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 8]>} "
      "{\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rootOp, "reduction");
  EXPECT_EQ(found[0].inputCount, 1u);
  EXPECT_GT(spaceOf(found[0]).first.count(), 10u);
}

TEST(IreeRootsTest, AttentionIsMatchedByItsOperands) {
  auto found = rootsOf(dispatchOf(
      "%12:3 = iree_linalg_ext.online_attention <indexing_maps = "
      "[affine_map<(d0, d1, d2, d3) -> (d0, d2)>, affine_map<(d0, d1, d2, d3) "
      "-> (d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d3, d1)>, "
      "affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, "
      "d1)>]> {lowering_config = #iree_cpu.lowering_config<distribution = [64, "
      "64, 0, 0], vector_common_parallel = [1, 8, 0, 0], vector_reduction = "
      "[0, 0, 0, 2]>} ins(%4, %5, %6, %c : tensor<256x64xf32>, "
      "tensor<128x64xf32>, tensor<128x32xf32>, f32) outs(%9 : "
      "tensor<256x32xf32>) {\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rootOp, "attention");
  EXPECT_EQ(found[0].kinds, "pppr");
  std::string spec = iree::printTuningSpec({{&found[0], "#x", "#y"}});
  EXPECT_THAT(spec, HasSubstr("[\"iree_linalg_ext.online_attention\"]"));
  EXPECT_THAT(spec, HasSubstr("%operand4 = tensor<256x32xf32>"));
  EXPECT_THAT(spec, Not(HasSubstr("%operand3")));
}

TEST(IreeRootsTest, WhatHasNoSpaceIsCountedByItsName) {
  iree::Untuned untuned;
  std::string sort = dispatchOf("%1 = iree_linalg_ext.sort dimension(0) "
                                "outs(%0 : tensor<8xf32>) {\n");
  EXPECT_TRUE(rootsOf(sort, &untuned).empty());
  EXPECT_TRUE(rootsOf(sort, &untuned).empty());
  EXPECT_TRUE(rootsOf(dispatchOf("return\n"), &untuned).empty());
  EXPECT_EQ(untuned["iree_linalg_ext.sort"], 2u);
  EXPECT_EQ(untuned["copies and the like"], 1u);
}

TEST(IreeRootsTest, ArrivalMeansEveryDispatchHasTheConfiguration) {
  std::string line = contraction("512", ours),
              there = contraction("512", other);
  auto found = rootsOf(line + line);
  iree::SpecRow row{&found[0], other.str(), ""};
  EXPECT_EQ(iree::explainMissing({row}, {there, there}), "");
  EXPECT_THAT(iree::explainMissing({row}, {there, line}),
              HasSubstr("arrived in 1 of 2"));
  // On another contraction it did not arrive.
  EXPECT_THAT(iree::explainMissing({row}, {contraction("128", other)}),
              HasSubstr("arrived in 0 of 2"));
  // Where it was not meant for, it is too much.
  EXPECT_THAT(iree::explainMissing({row}, {there, there, there}),
              HasSubstr("arrived in 3 of 2"));
}

TEST(IreeRootsTest, TwoHundredDispatchesAreAsManyAsTheyDiffer) {
  std::string text;
  for (int i = 0; i < 150; ++i)
    text += contraction("512", ours);
  for (int i = 0; i < 50; ++i)
    text += contraction(std::to_string(64 + i), ours);
  auto found = rootsOf(text);
  ASSERT_EQ(found.size(), 51u);
  EXPECT_EQ(found[0].dispatches.size(), 150u);
}
