//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Inputs of dispatches that compiled code hands over, and rounding to bf16.

#include "attune/Runtime/module_info.h"
#include "attune/Runtime/program.h"
#include "attune/Support/Files.h"
#include "attune/Support/Tensor.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace attune;

extern "C" void
_mlir_ciface_attune_rt_capture_i32(int32_t dispatch, int32_t argument,
                                   const AttuneUnrankedDescriptor *buffer);
extern "C" __bf16 __truncsfbf2(float value);

namespace {

class Capture : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("ATTUNE_CAPTURE", folder.getPath().c_str(), 1);
  }
  void TearDown() override { ::unsetenv("ATTUNE_CAPTURE"); }

  /// Rows by 3, from element `offset` on.
  void capture(int32_t *data, int64_t rows, int64_t offset = 0) {
    alignas(AttuneDescriptor) char
        space[sizeof(AttuneDescriptor) + 4 * sizeof(int64_t)];
    auto *descriptor = reinterpret_cast<AttuneDescriptor *>(space);
    descriptor->allocated = descriptor->aligned = data;
    descriptor->offset = offset;
    int64_t sizesAndStrides[] = {rows, 3, 3, 1};
    std::memcpy(descriptor->sizesAndStrides, sizesAndStrides,
                sizeof(sizesAndStrides));
    AttuneUnrankedDescriptor buffer = {2, descriptor};
    _mlir_ciface_attune_rt_capture_i32(7, 1, &buffer);
  }

  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  std::string path = folder.file("d7.a1.npy");
};

TEST_F(Capture, WritesAnArrayThatNumpyReads) {
  int32_t data[] = {0, 1, 2, 3, 4, 5, 6};
  capture(data, 2, 1);
  Tensor read = llvm::cantFail(readNpy(path));
  EXPECT_EQ(read.type, ElementType::I32);
  EXPECT_EQ(read.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read.integerAt(0), 1);
  EXPECT_EQ(read.integerAt(5), 6);
}

TEST_F(Capture, AnEmptyArrayIsAnArray) {
  capture(nullptr, 0);
  EXPECT_EQ(llvm::cantFail(readNpy(path)).shape, (std::vector<int64_t>{0, 3}));
}

TEST_F(Capture, OnlyTheFirstTimeCounts) {
  int32_t first[] = {1, 2, 3}, second[] = {4, 5, 6};
  capture(first, 1);
  capture(second, 1);
  EXPECT_EQ(llvm::cantFail(readNpy(path)).integerAt(0), 1);
}

TEST_F(Capture, WithoutAFolderNothingIsWritten) {
  ::unsetenv("ATTUNE_CAPTURE");
  int32_t data[] = {1, 2, 3};
  capture(data, 1);
  EXPECT_FALSE(llvm::sys::fs::exists(path));
}

TEST_F(Capture, AFolderThatIsNotThereEndsTheProgram) {
  ::setenv("ATTUNE_CAPTURE", "/nowhere/at/all", 1);
  int32_t data[] = {1, 2, 3};
  EXPECT_DEATH(capture(data, 1), "/nowhere/at/all/sizes.txt: No such file");
}

/// The bits of `value` rounded to bf16.
uint16_t rounded(float value) {
  __bf16 result = __truncsfbf2(value);
  uint16_t bits;
  std::memcpy(&bits, &result, sizeof(bits));
  return bits;
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(rounded(1.0f), 0x3f80);
  EXPECT_EQ(rounded(1.0f + 0x1p-8f), 0x3f80);           // a tie, to even
  EXPECT_EQ(rounded(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82); // a tie, to even
  EXPECT_EQ(rounded(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(rounded(-INFINITY), 0xff80);
  EXPECT_EQ(rounded(3.4028235e38f), 0x7f80); // beyond bf16: infinity
  EXPECT_TRUE(std::isnan(float(__truncsfbf2(NAN))));
}

} // namespace
