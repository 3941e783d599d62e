//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Import/Weights.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <unistd.h>

using namespace attune;

namespace {

TensorType floats(int64_t count) { return {ElementType::F32, {count}}; }

std::vector<char> bytesOf(std::initializer_list<float> values) {
  std::vector<char> bytes(values.size() * 4);
  memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

/// A path in a folder of its own that is removed afterwards.
struct TemporaryFile {
  TemporaryFile() {
    llvm::sys::fs::createTemporaryFile("weights", "bin", path);
  }
  ~TemporaryFile() { llvm::sys::fs::remove(path); }
  llvm::SmallString<128> path;
};

void write(llvm::StringRef path, llvm::StringRef text) {
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << text;
  ASSERT_FALSE(code);
}

std::string failureOf(llvm::StringRef path) {
  auto store = WeightStore::map(path);
  return store ? "" : llvm::toString(store.takeError());
}

TEST(Weights, EqualOnesShareStorage) {
  WeightStore store;
  EXPECT_EQ(store.add(floats(2), bytesOf({1, 2})), 0);
  EXPECT_EQ(store.add(floats(2), bytesOf({3, 4})), 1);
  EXPECT_EQ(store.add(floats(2), bytesOf({1, 2})), 0);
  EXPECT_EQ(store.size(), 2);
}

TEST(Weights, SameBytesOfAnotherShapeAreAnotherWeight) {
  WeightStore store;
  store.add(floats(2), bytesOf({1, 2}));
  EXPECT_EQ(store.add({ElementType::F32, {1, 2}}, bytesOf({1, 2})), 1);
  EXPECT_NE(store[0].hash, store[1].hash);
}

TEST(Weights, OffsetsAreMultiplesOf64) {
  WeightStore store;
  store.add(floats(3), bytesOf({1, 2, 3}));
  store.add(floats(1), bytesOf({4}));
  EXPECT_EQ(store[1].offset, 64u);
  EXPECT_EQ(store.blobBytes(), 68u);
}

TEST(Weights, WrittenAndMappedAgain) {
  TemporaryFile file;
  WeightStore store;
  store.add(floats(2), bytesOf({1, 2}));
  store.add({ElementType::I1, {3}}, {1, 0, 1}, /*generated=*/true);
  ASSERT_FALSE(bool(store.write(file.path)));
  auto mapped = WeightStore::map(file.path);
  ASSERT_TRUE(bool(mapped)) << llvm::toString(mapped.takeError());
  ASSERT_EQ(mapped->size(), 2);
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(mapped->bytes(i), store.bytes(i));
    EXPECT_EQ((*mapped)[i].hash, store[i].hash);
    EXPECT_EQ((*mapped)[i].offset, store[i].offset);
    EXPECT_EQ(toString((*mapped)[i].type), toString(store[i].type));
  }
  EXPECT_TRUE((*mapped)[1].generated);
  EXPECT_EQ(mapped->blobBytes(), store.blobBytes());
  EXPECT_EQ(mapped->tensor(0).at(1), 2.0);
}

TEST(Weights, NoWeightsMakeAFileToo) {
  TemporaryFile file;
  ASSERT_FALSE(bool(WeightStore().write(file.path)));
  auto mapped = WeightStore::map(file.path);
  ASSERT_TRUE(bool(mapped)) << llvm::toString(mapped.takeError());
  EXPECT_EQ(mapped->size(), 0);
}

TEST(Weights, MappingAMissingFileNamesIt) {
  EXPECT_NE(failureOf("/nowhere/weights.bin").find("/nowhere/weights.bin"),
            std::string::npos);
}

TEST(Weights, CutOffOrForeignFilesAreRefused) {
  TemporaryFile file;
  WeightStore store;
  store.add(floats(2), bytesOf({1, 2}));
  ASSERT_FALSE(bool(store.write(file.path)));
  ASSERT_EQ(::truncate(file.path.c_str(), 40), 0);
  EXPECT_NE(failureOf(file.path).find("cut off"), std::string::npos);
  write(file.path, "");
  EXPECT_NE(failureOf(file.path), "");
  write(file.path, "xxxxxxxxxx\xff\xff\xff\xff\xff\xff\xff\xff"
                   "ATTUNEW1");
  EXPECT_NE(failureOf(file.path).find("longer than the file"),
            std::string::npos);
}

// Compiled code reads as many bytes as the type says.
TEST(Weights, AWeightSmallerThanItsTypeIsRefused) {
  TemporaryFile file;
  std::string table = R"({"version":1,"weights":[{"type":"1000xf32",)"
                      R"("hash":"00","offset":0,"bytes":8}]})";
  std::string length(8, '\0');
  length[0] = char(table.size());
  write(file.path, "12345678" + table + length + "ATTUNEW1");
  EXPECT_NE(failureOf(file.path).find("has 8 bytes and is a 1000xf32"),
            std::string::npos)
      << failureOf(file.path);
}

TEST(Weights, WritingWhereThereIsNoFolderNamesThePath) {
  llvm::Error error = WeightStore().write("/nowhere/at/all/weights.bin");
  ASSERT_TRUE(bool(error));
  EXPECT_NE(
      llvm::toString(std::move(error)).find("/nowhere/at/all/weights.bin"),
      std::string::npos);
}

TEST(Weights, AFullDiskIsAnError) {
  if (!llvm::sys::fs::exists("/dev/full"))
    GTEST_SKIP();
  WeightStore store;
  store.add(floats(2), bytesOf({1, 2}));
  llvm::Error error = store.write("/dev/full");
  ASSERT_TRUE(bool(error));
  EXPECT_NE(llvm::toString(std::move(error)).find("/dev/full"),
            std::string::npos);
}

} // namespace
