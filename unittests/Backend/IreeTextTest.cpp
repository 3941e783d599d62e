//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE's texts: signatures, and what is missing in them.

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

TEST(IreeTextTest, FindsWeightsThatWereLeftOut) {
  std::string text =
      "%0 = arith.constant dense_resource<a> : tensor<2x4xf32>\n"
      "%1 = arith.constant dense_resource<b> : tensor<f16>\n"
      "%2 = arith.constant dense_resource<a> : tensor<2x4xf32>\n";
  auto missing = iree::findMissingResources(text);
  ASSERT_EQ(missing.size(), 2u);
  EXPECT_EQ(missing[0].first, "a");
  EXPECT_EQ(missing[0].second, "tensor<2x4xf32>");
  missing = iree::findMissingResources(
      text + "{-#\n  dialect_resources: {\n    builtin: {\n      a: "
             "\"0x40000000\",\n      b: \"0x02000000\"\n    }\n  }\n#-}\n");
  EXPECT_TRUE(missing.empty());
}
