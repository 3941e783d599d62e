//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Target.h"

#include "gtest/gtest.h"
#include <fstream>

using namespace attune;

namespace {

/// What the kernel says of a cache of core 0, in bytes; 0 if it says nothing.
int64_t kernelCacheBytes(int wantedLevel) {
  for (int index = 0; index < 8; ++index) {
    std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::string type;
    int level = 0;
    int64_t size = 0;
    char unit = 0;
    std::ifstream(folder + "/type") >> type;
    std::ifstream(folder + "/level") >> level;
    std::ifstream(folder + "/size") >> size >> unit;
    if (type != "Instruction" && level == wantedLevel)
      return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  return 0;
}

TEST(Target, CacheSizesAreThoseOfTheKernel) {
  Target target = Target::host();
  if (int64_t bytes = kernelCacheBytes(1))
    EXPECT_EQ(target.l1Bytes, bytes);
  if (int64_t bytes = kernelCacheBytes(2))
    EXPECT_EQ(target.l2Bytes, bytes);
  if (int64_t bytes = kernelCacheBytes(3))
    EXPECT_EQ(target.l3Bytes, bytes);
}

TEST(Target, ZenFourHasWideVectors) {
  auto target = Target::forCPU("znver4");
  ASSERT_TRUE(bool(target));
  EXPECT_EQ(target->vectorBytes, 64);
  EXPECT_EQ(target->vectorRegisters, 32);
}

TEST(Target, ZenThreeHasSixteenRegisters) {
  auto target = Target::forCPU("znver3");
  ASSERT_TRUE(bool(target));
  EXPECT_EQ(target->vectorBytes, 32);
  EXPECT_EQ(target->vectorRegisters, 16);
}

TEST(Target, AnUnknownCPUIsAnErrorThatNamesIt) {
  auto target = Target::forCPU("znver99");
  ASSERT_FALSE(bool(target));
  EXPECT_NE(llvm::toString(target.takeError()).find("'znver99'"),
            std::string::npos);
}

TEST(Target, JSONKeepsEverything) {
  Target target = Target::host();
  auto read = targetFromJSON(toJSON(target));
  ASSERT_TRUE(bool(read));
  EXPECT_EQ(*read, target);
}

} // namespace
