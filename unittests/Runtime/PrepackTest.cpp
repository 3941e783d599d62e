//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// When weights are packed, and how often. The entries of this file are in the
// module of RuntimeTest.cpp.

#include "PrepackEntries.h"
#include "attune/Runtime/program.h"

#include <gtest/gtest.h>
#include <vector>

using testing::Test;

namespace {

int packedInputs = 0, packedWeights = 0;

float *floats(void *pointer) {
  return static_cast<float *>(
      static_cast<AttuneDescriptor *>(pointer)->aligned);
}

} // namespace

/// weigh(x: 3xf32, w: 3xf32) -> 3xf32: x + 2 * w, where w is packed as 2 * w.
void packForWeigh(void **arguments) {
  ++packedInputs;
  for (int i = 0; i < 3; ++i)
    floats(arguments[1])[i] = 2 * floats(arguments[2])[i];
}
void weigh(void **arguments) {
  for (int i = 0; i < 3; ++i)
    floats(arguments[5])[i] = floats(arguments[3])[i] + floats(arguments[2])[i];
}

/// bias(x: 3xf32) -> 3xf32: x + 7, where 7 is packed from weights.
void packForBias(void **arguments) {
  ++packedWeights;
  for (int i = 0; i < 3; ++i)
    floats(arguments[1])[i] = 7;
}
void bias(void **arguments) {
  for (int i = 0; i < 3; ++i)
    floats(arguments[4])[i] = floats(arguments[3])[i] + floats(arguments[2])[i];
}

namespace {

AttuneTensor describe(std::vector<float> &values, int64_t stride = 1) {
  return {values.data(), ATTUNE_F32, 1, {3}, {stride}};
}

class PrepackTest : public Test {
protected:
  void SetUp() override {
    packedInputs = packedWeights = 0;
    ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &program), 0);
  }
  void TearDown() override {
    attune_set_checked(program, 0);
    attune_destroy(program);
  }

  std::vector<float> run(const char *entry, std::vector<AttuneTensor> inputs) {
    std::vector<float> out(3);
    AttuneTensor output = describe(out);
    EXPECT_EQ(
        attune_run(program, entry, inputs.data(), inputs.size(), &output, 1), 0)
        << attune_error(program);
    return out;
  }
  void hold(std::vector<AttuneTensor> inputs) {
    ASSERT_EQ(attune_prepack(program, "weigh", inputs.data(), inputs.size()), 0)
        << attune_error(program);
  }

  AttuneProgram *program = nullptr;
  std::vector<float> x = {1, 2, 3}, w = {10, 20, 30};
};

using Floats = std::vector<float>;

TEST_F(PrepackTest, WeightsArePackedOnceForAllPrograms) {
  EXPECT_EQ(packedWeights, 1);
  AttuneProgram *other = nullptr;
  ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &other), 0);
  EXPECT_EQ(packedWeights, 1);
  attune_destroy(other);
  EXPECT_EQ(run("bias", {describe(x)}), Floats({8, 9, 10}));
  EXPECT_EQ(run("bias", {describe(x)}), Floats({8, 9, 10}));
  EXPECT_EQ(packedWeights, 1);
}

TEST_F(PrepackTest, WeightsArePackedAgainAfterTheLastProgramIsGone) {
  attune_destroy(program);
  ASSERT_EQ(attune_create(ATTUNE_ABI_VERSION, &program), 0);
  EXPECT_EQ(packedWeights, 2);
  EXPECT_EQ(run("bias", {describe(x)}), Floats({8, 9, 10}));
}

TEST_F(PrepackTest, InputsArePackedInEveryRun) {
  EXPECT_EQ(run("weigh", {describe(x), describe(w)}), Floats({21, 42, 63}));
  w[0] = 0;
  EXPECT_EQ(run("weigh", {describe(x), describe(w)}), Floats({1, 42, 63}));
  EXPECT_EQ(packedInputs, 2);
}

TEST_F(PrepackTest, HeldInputsArePackedOnce) {
  hold({describe(x), describe(w)});
  EXPECT_EQ(packedInputs, 1);
  EXPECT_EQ(run("weigh", {describe(x), describe(w)}), Floats({21, 42, 63}));
  std::vector<float> otherX = {0, 0, 0};
  EXPECT_EQ(run("weigh", {describe(otherX), describe(w)}),
            Floats({20, 40, 60}));
  EXPECT_EQ(packedInputs, 1);
}

TEST_F(PrepackTest, OtherInputsAreNotTakenForTheHeldOnes) {
  hold({describe(x), describe(w)});
  std::vector<float> other = {0, 0, 1};
  EXPECT_EQ(run("weigh", {describe(x), describe(other)}), Floats({1, 2, 5}));
  EXPECT_EQ(run("weigh", {describe(x), describe(w)}), Floats({21, 42, 63}));
  EXPECT_EQ(packedInputs, 3);
}

TEST_F(PrepackTest, AStridedInputIsHeldToo) {
  std::vector<float> sparse = {10, 0, 20, 0, 30, 0};
  hold({describe(x), describe(sparse, 2)});
  EXPECT_EQ(run("weigh", {describe(x), describe(sparse, 2)}),
            Floats({21, 42, 63}));
  EXPECT_EQ(packedInputs, 1);
}

TEST_F(PrepackTest, CheckedRunsPackAgain) {
  hold({describe(x), describe(w)});
  attune_set_checked(program, 1);
  EXPECT_EQ(run("weigh", {describe(x), describe(w)}), Floats({21, 42, 63}));
  EXPECT_EQ(packedInputs, 2);
}

TEST_F(PrepackTest, AnEntryWithoutPackedInputsHasNothingToHold) {
  AttuneTensor input = describe(x);
  EXPECT_EQ(attune_prepack(program, "bias", &input, 1), 0);
  EXPECT_EQ(packedWeights, 1);
}

TEST_F(PrepackTest, WrongInputsAreErrors) {
  AttuneTensor input = describe(x);
  EXPECT_NE(attune_prepack(program, "weigh", &input, 1), 0);
  EXPECT_STREQ(attune_error(program), "'weigh' takes 2 inputs, not 1");
  EXPECT_NE(attune_prepack(program, "wiegh", &input, 1), 0);
  EXPECT_STREQ(attune_error(program), "no entry function 'wiegh'");
}

} // namespace
