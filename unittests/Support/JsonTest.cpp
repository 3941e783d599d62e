//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Json.h"
#include "attune/Support/Nesting.h"

#include "gtest/gtest.h"
#include <string>

using namespace attune;

static std::string nested(size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(Json, readsWhatIsNestedAsDeepAsAllowed) {
  auto value = parseJson(nested(64));
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
}

TEST(Json, bracketsWithoutEndAreAnErrorNotTheEndOfTheStack) {
  for (const std::string &text :
       {nested(65), std::string(10'000'000, '['), std::string(1000, '{')}) {
    auto value = parseJson(text);
    ASSERT_FALSE(bool(value));
    EXPECT_EQ(llvm::toString(value.takeError()), "nested more than 64 deep");
  }
}

TEST(Json, bracketsInTextsDoNotCount) {
  std::string text = "[\"\\\"" + std::string(100, '[') + "\"]";
  auto value = parseJson(text);
  ASSERT_TRUE(bool(value)) << llvm::toString(value.takeError());
  EXPECT_EQ(value->getAsArray()->front().getAsString()->size(), 101u);
}

TEST(Json, saysWhereTextIsNoJson) {
  auto value = parseJson("{\n  broken");
  ASSERT_FALSE(bool(value));
  EXPECT_NE(llvm::toString(value.takeError()).find("2:3"), std::string::npos);
}

TEST(Nesting, countsWhatIsOpenAtOnce) {
  auto deeper = [](llvm::StringRef text, int depth) {
    return isNestedDeeper(text, depth, Syntax::Mlir);
  };
  EXPECT_TRUE(deeper("([{<", 3));
  EXPECT_FALSE(deeper("([{<", 4));
  EXPECT_FALSE(deeper("()()()()[][]", 1));
  EXPECT_FALSE(deeper("\"((((\\\"((((\" ((", 2));
  EXPECT_FALSE(deeper("// ((((\n((", 2));
  EXPECT_TRUE(deeper("// ((((\n((", 1));
}

TEST(Json, aNumberThatOverflowsIsAnError) {
  for (const char *text :
       {"1e400", "[1, -1e400]", R"({"a": [{"b": 1e999}]})"}) {
    auto value = parseJson(text);
    ASSERT_FALSE(bool(value)) << text;
    EXPECT_EQ(llvm::toString(value.takeError()), "a number is too large");
  }
  EXPECT_TRUE(bool(parseJson("1e300")));
}

TEST(Nesting, arrowsAndComparisonsAreNoBrackets) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "tensor<4x4xf32> (d0) -> (d0) d0 <= 4, d0 >= 4 ";
  EXPECT_FALSE(isNestedDeeper(text, 1, Syntax::Mlir));
}
