//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Harness/Expert.h"

#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

Variable tileOf(const char *name) {
  return Variable::powerOfTwo(name, 4, 1, 64);
}

TEST(Expert, everyShippedExpertIsTheSameAfterAFile) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  for (const Expert &expert : shippedExperts()) {
    auto text = expert.str();
    ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
    llvm::Error error = expert.write(folder->getPath());
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    auto read = Expert::read(folder->file(expert.getName() + ".mlir"));
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    EXPECT_EQ(read->getName(), expert.getName());
    auto again = read->str();
    ASSERT_TRUE(bool(again));
    EXPECT_EQ(*text, *again) << expert.getName();
    auto knobs = expert.knobs(), knobsAgain = read->knobs();
    ASSERT_TRUE(bool(knobs) && bool(knobsAgain));
    ASSERT_EQ(knobs->size(), knobsAgain->size());
    for (size_t i = 0; i < knobs->size(); ++i)
      EXPECT_EQ((*knobs)[i].name, (*knobsAgain)[i].name);
  }
}

TEST(Expert, everyScheduleOfTheLibraryIsAnExpert) {
  for (const char *name :
       {"contraction_packed", "convolution_product", "reduction", "fallback"}) {
    auto read = Expert::read(ATTUNE_SOURCE_DIR "/schedules/cpu/" +
                             std::string(name) + ".mlir");
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    auto text = read->str();
    ASSERT_TRUE(bool(text));
    auto again = Expert::parse(name, *text);
    ASSERT_TRUE(bool(again));
    EXPECT_EQ(*text, llvm::cantFail(again->str()));
  }
}

TEST(Expert, knobsAreTyped) {
  Expert expert =
      Expert("mine")
          .then(tile({"m", "n"}, {Variable::range("a", 3, 1, 9, 2), 16},
                     {Variable::permutation("order", 2)}))
          .then(pack("n", Variable::boolean("packs", true)))
          .then(unroll("times", {1, 2, 4}))
          .then(tile({"k"}, {Variable::divisor("d", 1, "k")}));
  auto knobs = expert.knobs();
  ASSERT_TRUE(bool(knobs)) << llvm::toString(knobs.takeError());
  ASSERT_EQ(knobs->size(), 5u);
  EXPECT_EQ((*knobs)[0].name, "a");
  EXPECT_EQ((*knobs)[0].domain, "#attune.range<1, 9, step = 2>");
  EXPECT_EQ((*knobs)[0].selected, KnobValue(int64_t(3)));
  EXPECT_EQ((*knobs)[1].domain, "#attune.permutation<2>");
  EXPECT_EQ((*knobs)[1].selected, KnobValue(std::vector<int64_t>{0, 1}));
  EXPECT_EQ((*knobs)[2].domain, "[true, false]");
  EXPECT_EQ((*knobs)[2].selected, KnobValue(true));
  EXPECT_EQ((*knobs)[3].domain, "#attune.divisors<\"k\">");
  EXPECT_EQ((*knobs)[4].name, "times");
  EXPECT_EQ((*knobs)[4].domain, "[0, 1, 2]");
}

TEST(Expert, composingChangesNothingThatIsThere) {
  Expert first = Expert("first").then(tileRest());
  Expert second = first.then(vectorize());
  EXPECT_EQ(first.getSteps().size(), 1u);
  EXPECT_EQ(second.getSteps().size(), 2u);
  Expert both = first.then(Expert("other").then(vectorize()));
  EXPECT_EQ(llvm::cantFail(both.str()), llvm::cantFail(second.str()));
}

TEST(Expert, stepsOfAnExpertThatWasRead) {
  auto base = Expert::parse(
      "base", llvm::cantFail(
                  Expert("base").then(tile({"m"}, {tileOf("first")})).str()));
  ASSERT_TRUE(bool(base)) << llvm::toString(base.takeError());
  Expert longer = base->then(tile({"n"}, {tileOf("second")}))
                      .then(tileRest())
                      .then(vectorize());
  auto text = longer.str();
  ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
  EXPECT_THAT(*text, HasSubstr("tune.knob<\"first\">"));
  EXPECT_THAT(*text, HasSubstr("tune.knob<\"second\">"));
  // What the lanes are computed from was no argument of the base.
  EXPECT_THAT(*text, HasSubstr("attune.bind = \"vector_bytes\""));
  EXPECT_THAT(messageOf(base->then(tile({"n"}, {tileOf("first")})).str()),
              HasSubstr("first"));
}

TEST(Expert, whatDoesNotComposeSaysWhichStep) {
  EXPECT_EQ(messageOf(Expert("x").then(tile({"m", "n"}, {4})).str()),
            "expert 'x', step 1 (tile): 2 loops and 1 sizes; it needs one size "
            "for each loop");
  EXPECT_THAT(messageOf(Expert("x").then(tile({"q"}, {4})).str()),
              HasSubstr("'q' is no loop"));
  EXPECT_THAT(messageOf(Expert("x").then(hoistPadding(1)).str()),
              HasSubstr("step 1 (hoist_padding): there is no pad before it"));
  EXPECT_THAT(
      messageOf(Expert("x").then(bufferize()).then(tileRest()).str()),
      HasSubstr("step 2 (tile_rest): it works on tensors, and comes after"));
  EXPECT_THAT(
      messageOf(Expert("x").then(lowerToLLVM()).then(bufferize()).str()),
      HasSubstr("step 2 (bufferize): lower_to_llvm was the end"));
  EXPECT_THAT(messageOf(Expert("x")
                            .then(tile({"m"}, {tileOf("t")}))
                            .then(tile({"n"}, {Variable::range("t", 1, 1, 4)}))
                            .str()),
              HasSubstr("step 2 (tile): knob 't' has the domain"));
  EXPECT_THAT(messageOf(Expert("x y").str()),
              HasSubstr("no name for an expert"));
  EXPECT_THAT(
      messageOf(Expert("x").then(tile({"m"}, {tileOf("no good")})).str()),
      HasSubstr("'no good' is no name for a knob"));
  EXPECT_THAT(messageOf(Expert("x").then(interchange("order", 9)).str()),
              HasSubstr("2 to 4 loops, not 9"));
  EXPECT_THAT(messageOf(Expert("x").then(softwarePipeline("p", {-1})).str()),
              HasSubstr("one latency or more, of 0 or more"));
  EXPECT_THAT(messageOf(Expert("x").then(unroll("u", {0})).str()),
              HasSubstr("factors of 1 or more"));
}

TEST(Expert, whatIsRequiredIsReadWhenItIsPrinted) {
  Expert base = Expert("x").then(tile({"m"}, {tileOf("t")}));
  EXPECT_THAT(messageOf(base.require("t <", "why").str()), HasSubstr("'t <'"));
  EXPECT_THAT(messageOf(base.require("s < 3", "why").str()),
              HasSubstr("names 's', which is no knob"));
  EXPECT_THAT(messageOf(base.require("1 < 3", "why").str()),
              HasSubstr("speaks of no knob"));
  auto text =
      base.require("min(t, m) % 2 == 0 or not t > 8", "it \"is\" so").str();
  ASSERT_TRUE(bool(text)) << llvm::toString(text.takeError());
  EXPECT_THAT(*text, HasSubstr("smt.or"));
}

TEST(Expert, filesThatAreNoScheduleNameTheLine) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  std::string path = folder->file("bad.mlir");
  llvm::cantFail(writeFile(path, "module {\n  nonsense.op\n}\n"));
  EXPECT_THAT(messageOf(Expert::read(path)), HasSubstr("bad.mlir:2: "));
  llvm::cantFail(writeFile(path, "module {\n}\n"));
  EXPECT_THAT(messageOf(Expert::read(path)),
              HasSubstr("no named sequence @schedule"));
  EXPECT_THAT(messageOf(Expert::read(folder->file("missing.mlir"))),
              HasSubstr("missing.mlir"));
  EXPECT_THAT(messageOf(findExpert("best")),
              HasSubstr("no expert 'best'; there are lowering_only"));
  llvm::Error error = shippedExperts()[0].write(folder->file("no/folder"));
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("no/folder"));
}

} // namespace
