//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE's texts: signatures, contractions, specs, and whether they arrived.

#include "../../lib/Backend/IreeText.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

static std::vector<EntrySignature> entriesOf(llvm::StringRef text) {
  auto entries = iree::parseEntries(text, "model.mlir");
  if (entries)
    return std::move(*entries);
  ADD_FAILURE() << llvm::toString(entries.takeError());
  return {};
}

TEST(IreeTextTest, ReadsPublicFunctionsWithTheirTypes) {
  auto entries = entriesOf(R"(module {
  func.func private @helper(%a: f32) -> f32
  func.func @mm(%a: tensor<4x?xf32>, %b: i32) -> (tensor<4xf32> {x.y = "}"}, f64) {
  })");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].name, "mm");
  ASSERT_EQ(entries[0].inputs.size(), 2u);
  EXPECT_EQ(toString(entries[0].inputs[0].type), "4x?xf32");
  EXPECT_TRUE(entries[0].inputs[1].isScalar);
  ASSERT_EQ(entries[0].outputs.size(), 2u);
  EXPECT_EQ(toString(entries[0].outputs[0].type), "4xf32");
}

TEST(IreeTextTest, ReadsTypesOfTorchAndSeveralLines) {
  auto entries = entriesOf("  func.func @main(%a: !torch.vtensor<[4,?],f32>,\n"
                           "      %b: !torch.vtensor<[],si64>)\n"
                           "      -> !torch.vtensor<[4,10],f32> {\n");
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(toString(entries[0].inputs[0].type), "4x?xf32");
  EXPECT_EQ(toString(entries[0].inputs[1].type), "i64");
  EXPECT_EQ(toString(entries[0].outputs[0].type), "4x10xf32");
}

TEST(IreeTextTest, SaysWhatIsNotAProgram) {
  auto nothing = iree::parseEntries("module {}", "model.mlir");
  ASSERT_FALSE(bool(nothing));
  EXPECT_THAT(llvm::toString(nothing.takeError()),
              HasSubstr("model.mlir: no public func.func"));
  auto odd = iree::parseEntries("func.func @f(%a: !util.buffer) {\n", "m");
  ASSERT_FALSE(bool(odd));
  EXPECT_THAT(llvm::toString(odd.takeError()), HasSubstr("!util.buffer"));
}

/// A line of iree-hal-dump-executable-configurations-to.
static std::string genericLine(llvm::StringRef k, llvm::StringRef config) {
  return llvm::formatv(
             "func.func @mm_dispatch_0() {{\n"
             "%7 = linalg.generic {{indexing_maps = [affine_map<(d0, d1, d2) "
             "-> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, "
             "affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = "
             "[\"parallel\", \"parallel\", \"reduction\"]} ins(%3, %4 : "
             "tensor<256x{0}xf32>, tensor<{0}x64xf32>) outs(%6 : "
             "tensor<256x64xf32>) attrs =  {{lowering_config = {1}} {{\n",
             k, config)
      .str();
}

static std::vector<iree::Contraction> contractionsOf(llvm::StringRef text) {
  std::vector<iree::Contraction> found;
  iree::findContractions(text, found);
  return found;
}

TEST(IreeTextTest, FindsEqualContractionsOnce) {
  std::string text = genericLine("512", "#x");
  auto found = contractionsOf(text + text + genericLine("128", "#x"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].shapes(), "256x64x512xf32");
  EXPECT_EQ(found[0].kinds, "mnk");
  EXPECT_EQ(found[0].dispatches.size(), 2u);
  EXPECT_EQ(found[0].dispatches[0], "mm_dispatch_0");
}

TEST(IreeTextTest, ConvolutionsAreNoContractions) {
  std::string text = genericLine("512", "#x");
  size_t at = text.find("(d0, d2)>");
  text.replace(at, 9, "(d0 + d1, d2)>");
  EXPECT_TRUE(contractionsOf(text).empty());
}

TEST(IreeTextTest, SpaceHoldsItsDefaultAndItsLimits) {
  auto found = contractionsOf(genericLine("512", "#x"));
  ASSERT_EQ(found.size(), 1u);
  auto made = iree::contractionSpace(found[0]);
  ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
  EXPECT_GT(made->first.count(), 1000u);
  EXPECT_TRUE(made->first.contains(made->second));
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    Configuration one = made->first.sample(random);
    int64_t m = std::get<int64_t>(*one.find("m_vector")),
            n = std::get<int64_t>(*one.find("n_vector")),
            k = std::get<int64_t>(*one.find("k_vector"));
    EXPECT_LT(4 * m * n * k, 16384);
  }
}

TEST(IreeTextTest, ConfigurationsAreWrittenAsIreePrintsThem) {
  auto found = contractionsOf(genericLine("512", "#x"));
  Configuration wanted{"",
                       {{"m_distribute", int64_t(64)},
                        {"n_distribute", int64_t(32)},
                        {"m_vector", int64_t(8)},
                        {"n_vector", int64_t(16)},
                        {"k_vector", int64_t(4)},
                        {"cache", false}}};
  std::string config = iree::loweringConfig(found[0], wanted);
  EXPECT_EQ(config,
            "#iree_cpu.lowering_config<distribution = [64, 32, 0], "
            "vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, "
            "4]>");
  std::string spec = iree::printTuningSpec({{&found[0], config}});
  EXPECT_THAT(spec, HasSubstr("dims_equal %k, [512]"));
  EXPECT_THAT(spec, HasSubstr("@match_0 -> @apply_op_config"));
}

TEST(IreeTextTest, OpenDimensionsAreNotChecked) {
  auto found = contractionsOf(genericLine("?", "#x"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].shapes(), "256x64x?xf32");
  std::string spec = iree::printTuningSpec({{&found[0], "#x"}});
  EXPECT_THAT(spec, Not(HasSubstr("dims_equal %k")));
  EXPECT_THAT(spec, HasSubstr("dims_equal %m, [256]"));
}

TEST(IreeTextTest, ArrivalMeansEveryDispatchHasTheConfiguration) {
  std::string line = genericLine("512", "#x");
  auto found = contractionsOf(line + line);
  iree::SpecRow row{&found[0], "#wanted<1>"};
  std::string there = genericLine("512", "#wanted<1>");
  EXPECT_EQ(iree::explainMissing({row}, {there, there}), "");
  EXPECT_THAT(iree::explainMissing({row}, {there, line}),
              HasSubstr("arrived in 1 of 2"));
  // On another contraction it did not arrive.
  EXPECT_THAT(iree::explainMissing({row}, {genericLine("128", "#wanted<1>")}),
              HasSubstr("arrived in 0 of 2"));
}
