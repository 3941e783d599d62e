//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Import/Inputs.h"

#include "llvm/Support/FileSystem.h"
#include <cmath>
#include <gmock/gmock.h>

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

EntrySignature entryOf(std::vector<std::string> types) {
  EntrySignature entry;
  entry.name = "main";
  for (const std::string &text : types) {
    ValueSignature value;
    value.type = llvm::cantFail(tensorTypeFromString(text));
    entry.inputs.push_back(value);
  }
  return entry;
}

std::vector<InputSet> make(const EntrySignature &entry,
                           std::vector<std::string> specs, uint64_t seed = 0) {
  auto sets = makeInputs(entry, specs, seed);
  EXPECT_TRUE(bool(sets)) << llvm::toString(sets.takeError());
  return sets ? std::move(*sets) : std::vector<InputSet>();
}

std::string failure(const EntrySignature &entry,
                    std::vector<std::string> specs) {
  auto sets = makeInputs(entry, specs);
  return sets ? "no error" : llvm::toString(sets.takeError());
}

std::vector<double> values(const Tensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.elementCount(); ++i)
    result.push_back(tensor.at(i));
  return result;
}

TEST(Inputs, AFilledTensorHasTheNumberEverywhere) {
  auto sets = make(entryOf({"2x2xf32"}), {"2x2xf32=2.5"});
  EXPECT_THAT(values(sets[0].tensors[0]), ElementsAre(2.5, 2.5, 2.5, 2.5));
}

TEST(Inputs, ScalarsAndInfinities) {
  auto sets =
      make(entryOf({"f32", "f64", "i1"}), {"f32=1.5", "f64=-inf", "i1=true"});
  EXPECT_EQ(sets[0].tensors[0].at(0), 1.5);
  EXPECT_EQ(sets[0].tensors[1].at(0), -INFINITY);
  EXPECT_EQ(sets[0].tensors[2].at(0), 1);
}

TEST(Inputs, WholeNumbersKeepAllTheirBits) {
  auto sets = make(entryOf({"i64"}), {"i64=9007199254740993"});
  int64_t value;
  memcpy(&value, sets[0].tensors[0].bytes.data(), 8);
  EXPECT_EQ(value, 9007199254740993);
}

TEST(Inputs, RandomIsTheSameForTheSameSeed) {
  EntrySignature entry = entryOf({"64xf32"});
  auto a = make(entry, {"64xf32=random:7"}),
       b = make(entry, {"64xf32=random:7"}, 3),
       c = make(entry, {"64xf32=random:8"});
  EXPECT_EQ(a[0].tensors[0].bytes, b[0].tensors[0].bytes);
  EXPECT_NE(a[0].tensors[0].bytes, c[0].tensors[0].bytes);
}

TEST(Inputs, InputsOfOneCommandDiffer) {
  auto sets = make(entryOf({"64xf32", "64xf32"}), {});
  EXPECT_NE(sets[0].tensors[0].bytes, sets[0].tensors[1].bytes);
  EXPECT_NE(make(entryOf({"64xf32"}), {}, 1)[0].tensors[0].bytes,
            sets[0].tensors[0].bytes);
}

TEST(Inputs, RandomFloatsAreCloseToNormal) {
  Tensor tensor = makeRandom(ElementType::F64, {10000}, 0);
  double sum = 0, squares = 0;
  for (double value : values(tensor))
    sum += value, squares += value * value;
  EXPECT_NEAR(sum / 10000, 0, 0.05);
  EXPECT_NEAR(squares / 10000, 1, 0.05);
}

TEST(Inputs, RandomIntegersAreSmallAndBooleansAreBooleans) {
  for (double value : values(makeRandom(ElementType::I64, {1000}, 0))) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 8);
  }
  for (char byte : makeRandom(ElementType::I1, {1000}, 0).bytes)
    EXPECT_TRUE(byte == 0 || byte == 1);
}

TEST(Inputs, EveryRandomStandsForAllInputs) {
  auto sets = make(entryOf({"2xf32", "3xi64", "f32"}), {"random"});
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].tensors.size(), 3u);
}

TEST(Inputs, SizesToTuneForMakeSeveralSets) {
  auto sets =
      make(entryOf({"?x16xf32", "?x4xi64"}), {"?x16xf32:1,8,32", "?x4xi64:2"});
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_THAT(sets[1].tensors[0].shape, ElementsAre(8, 16));
  EXPECT_THAT(sets[2].tensors[1].shape, ElementsAre(2, 4));
  EXPECT_EQ(sets[2].label, "?=32");
}

TEST(Inputs, SizesWithAValue) {
  auto sets = make(entryOf({"?xf32"}), {"?xf32:1,2=3.0"});
  EXPECT_THAT(values(sets[1].tensors[0]), ElementsAre(3, 3));
  sets = make(entryOf({"?xf32"}), {"?xf32=random:7:1,2"});
  EXPECT_EQ(sets.size(), 2u);
}

TEST(Inputs, AStaticSizeForADynamicDimension) {
  auto sets = make(entryOf({"?x16xf32"}), {"7x16xf32"});
  EXPECT_THAT(sets[0].tensors[0].shape, ElementsAre(7, 16));
}

TEST(Inputs, AnEmptyTensorIsAllowed) {
  auto sets = make(entryOf({"?x16xf32"}), {"0x16xf32=1"});
  EXPECT_EQ(sets[0].tensors[0].elementCount(), 0);
}

TEST(Inputs, DynamicSizesWithoutSpecsSayWhatToPass) {
  EXPECT_THAT(failure(entryOf({"?x784xf32"}), {}),
              HasSubstr("give its size with --input=?x784xf32:32"));
  EXPECT_THAT(failure(entryOf({"?x784xf32"}), {"random"}),
              HasSubstr("--input=?x784xf32:32"));
}

TEST(Inputs, EachMistakeIsNamed) {
  EntrySignature one = entryOf({"4x16xf32"});
  EXPECT_THAT(failure(one, {"4x16xf32", "f32"}),
              HasSubstr("1 input (4x16xf32), but 2"));
  EXPECT_THAT(failure(one, {"4x16xf64"}),
              HasSubstr("has element type f32, not f64"));
  EXPECT_THAT(failure(one, {"4x15xf32"}), HasSubstr("is 4x16xf32"));
  EXPECT_THAT(failure(one, {"64xf32"}), HasSubstr("is 4x16xf32"));
  EXPECT_THAT(failure(one, {"?x16xf32:4"}),
              HasSubstr("write 4 where you wrote"));
  EXPECT_THAT(failure(one, {"4x16xf32=abc"}),
              HasSubstr("'abc' is not a number"));
  EXPECT_THAT(failure(one, {"4x16xf32=random:x"}), HasSubstr("whole number"));
  EXPECT_THAT(failure(one, {"4x16xfoo"}), HasSubstr("--input=4x16xfoo"));
  EXPECT_THAT(failure(one, {""}), HasSubstr("--input="));
  EXPECT_THAT(failure(one, {"random", "random"}),
              HasSubstr("stands for every input"));
  EXPECT_THAT(failure(entryOf({}), {"f32"}), HasSubstr("0 inputs (none)"));
  EXPECT_THAT(failure(entryOf({"?xf32"}), {"?xf32"}),
              HasSubstr("?xf32:1,8,32"));
  EXPECT_THAT(failure(entryOf({"?xf32"}), {"?xf32:-1"}),
              HasSubstr("'-1' is not a size"));
  EXPECT_THAT(
      failure(entryOf({"?xf32", "?xf32"}), {"?xf32:1,2", "?xf32:1,2,3"}),
      HasSubstr("lists 2 sizes"));
  EXPECT_THAT(failure(entryOf({"4xi8"}), {"4xi8=300"}),
              HasSubstr("does not fit"));
  EXPECT_THAT(failure(entryOf({"4xi8"}), {"4xi8=1.5"}),
              HasSubstr("does not fit"));
}

TEST(Inputs, ARangeOfSizesIsSeenAtItsEnds) {
  auto sets = make(entryOf({"?x16xf32", "f32"}), {"?x16xf32:1,0..8", "f32"});
  ASSERT_EQ(sets.size(), 3u);
  std::vector<std::string> seen;
  for (const InputSet &set : sets)
    seen.push_back(set.label + " of " + toString(set.sizes));
  EXPECT_THAT(seen,
              testing::ElementsAre("?=1 of 1", "?=1 of 0..8", "?=8 of 0..8"));
  EXPECT_EQ(sets[2].tensors[0].shape, (std::vector<int64_t>{8, 16}));
  EXPECT_THAT(failure(entryOf({"?xf32"}), {"?xf32:8..2"}),
              HasSubstr("'8..2' is not a size"));
}

struct NpyFile {
  explicit NpyFile(const Tensor &tensor) {
    llvm::sys::fs::createTemporaryFile("input", "npy", path);
    llvm::cantFail(writeNpy(path, tensor));
  }
  ~NpyFile() { llvm::sys::fs::remove(path); }
  std::string spec() const { return "@" + std::string(path); }
  llvm::SmallString<128> path;
};

TEST(Inputs, AFileIsReadAndCheckedAgainstTheEntry) {
  Tensor tensor = makeRandom(ElementType::F32, {4, 16}, 3);
  NpyFile file(tensor);
  auto sets = make(entryOf({"?x16xf32"}), {file.spec()});
  EXPECT_EQ(sets[0].tensors[0].bytes, tensor.bytes);
  EXPECT_THAT(failure(entryOf({"4x15xf32"}), {file.spec()}),
              HasSubstr("is 4x16xf32, where 4x15xf32 is needed"));
  EXPECT_THAT(failure(entryOf({"4x16xf64"}), {file.spec()}),
              HasSubstr("astype"));
  EXPECT_THAT(failure(entryOf({"4x16xf32"}), {"@/nowhere/x.npy"}),
              HasSubstr("/nowhere/x.npy"));
  EXPECT_THAT(failure(entryOf({"4x16xf32"}), {"@"}), HasSubstr("missing"));
}

TEST(Inputs, RawIntegersAreReadAsTheTypeOfTheSameWidth) {
  NpyFile file(makeRandom(ElementType::I16, {4}, 3));
  auto sets = make(entryOf({"4xbf16"}), {file.spec()});
  EXPECT_EQ(sets[0].tensors[0].type, ElementType::BF16);
}

TEST(Inputs, AFileWithOneElementIsAScalar) {
  NpyFile file(makeRandom(ElementType::F32, {1}, 3));
  EXPECT_TRUE(
      make(entryOf({"f32"}), {file.spec()})[0].tensors[0].shape.empty());
}

TEST(Inputs, AnAbsurdSizeIsRefusedBeforeItIsAllocated) {
  EXPECT_THAT(failure(entryOf({"?xf32"}), {"?xf32:100000000000000"}),
              HasSubstr("GB of memory"));
}

} // namespace
