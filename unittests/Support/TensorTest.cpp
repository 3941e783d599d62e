//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Tensor.h"

#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>
#include <zlib.h>

using namespace attune;
using testing::HasSubstr;

template <typename T> static std::string messageOf(llvm::Expected<T> value) {
  return value ? "success" : llvm::toString(value.takeError());
}

static double roundTrip(ElementType type, double value) {
  Tensor tensor = Tensor::zeros(type, {1});
  tensor.set(0, value);
  return tensor.at(0);
}

TEST(Tensor, HalvesRoundToNearestEven) {
  EXPECT_EQ(roundTrip(ElementType::F16, 65504), 65504);
  EXPECT_EQ(roundTrip(ElementType::F16, 65520), INFINITY);
  EXPECT_EQ(roundTrip(ElementType::F16, 2049), 2048);       // a tie
  EXPECT_EQ(roundTrip(ElementType::F16, 0x1p-24), 0x1p-24); // a denormal
  EXPECT_TRUE(std::isnan(roundTrip(ElementType::F16, NAN)));
}

TEST(Tensor, Bfloat16RoundsOnce) {
  EXPECT_EQ(roundTrip(ElementType::BF16, 1.0), 1.0);
  EXPECT_EQ(roundTrip(ElementType::BF16, 1.00390625), 1.0); // a tie: to even
  // Just above the tie: through float first, it would become the tie.
  EXPECT_EQ(roundTrip(ElementType::BF16, 1.00390625 + 0x1p-40), 1.0078125);
  EXPECT_EQ(roundTrip(ElementType::BF16, -1.00390625 - 0x1p-40), -1.0078125);
  EXPECT_EQ(roundTrip(ElementType::BF16, 1.00390625 - 0x1p-40), 1.0);
  EXPECT_EQ(roundTrip(ElementType::BF16, -INFINITY), -INFINITY);
  EXPECT_EQ(roundTrip(ElementType::BF16, 1e39), INFINITY);
  EXPECT_TRUE(std::isnan(roundTrip(ElementType::BF16, NAN)));
}

TEST(Tensor, IntegersAreExact) {
  Tensor tensor = Tensor::zeros(ElementType::I64, {2});
  tensor.setInteger(1, std::numeric_limits<int64_t>::min() + 1);
  EXPECT_EQ(tensor.integerAt(1), std::numeric_limits<int64_t>::min() + 1);
  EXPECT_EQ(roundTrip(ElementType::I4, -8), -8);
  EXPECT_EQ(roundTrip(ElementType::I8, -128), -128);
  EXPECT_EQ(roundTrip(ElementType::I1, 7), 1);
}

TEST(Tensor, TypesAsText) {
  for (const char *text : {"4x?xf32", "f32", "0x2xbf16", "16xi1", "?xindex"})
    EXPECT_EQ(toString(llvm::cantFail(tensorTypeFromString(text))), text);
  EXPECT_FALSE(llvm::cantFail(tensorTypeFromString("4x?xf32")).isStatic());
  EXPECT_THAT(messageOf(tensorTypeFromString("4xf31")), HasSubstr("'f31'"));
  EXPECT_THAT(messageOf(tensorTypeFromString("4y3xf32")), HasSubstr("'4y3'"));
  EXPECT_THAT(messageOf(tensorTypeFromString("")), HasSubstr("tensor type"));
  EXPECT_THAT(messageOf(tensorTypeFromString("99999999999999999999xf32")),
              HasSubstr("is not a size"));
}

TEST(Tensor, ElementCountsAreChecked) {
  EXPECT_EQ(checkedElementCount({}), 1);
  EXPECT_EQ(checkedElementCount({3, 0, 4}, 8), 0);
  EXPECT_EQ(checkedElementCount({1l << 40, 1l << 40}), std::nullopt);
  EXPECT_EQ(checkedElementCount({-1}), std::nullopt);
}

TEST(Tensor, ReinterpretsEqualWidths) {
  Tensor tensor = Tensor::zeros(ElementType::I16, {2});
  tensor.setInteger(0, 0x3f80);
  EXPECT_EQ(llvm::cantFail(reinterpretAs(tensor, ElementType::BF16)).at(0), 1);
  EXPECT_THAT(messageOf(reinterpretAs(tensor, ElementType::F32)),
              HasSubstr("i16 (2 bytes an element) cannot be read as f32"));
}

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

static std::string npy(llvm::StringRef dictionary, llvm::StringRef data,
                       int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  size_t length = dictionary.size() + 1;
  for (int byte = 0; byte < (version == 1 ? 2 : 4); ++byte)
    file += static_cast<char>(length >> (8 * byte));
  return file + dictionary.str() + "\n" + data.str();
}

TEST(Npy, EveryTypeComesBack) {
  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  for (const char *name : {"f32", "f64", "f16", "bf16", "i1", "i4", "i8", "i16",
                           "i32", "i64", "index"}) {
    ElementType type = llvm::cantFail(elementTypeFromString(name));
    for (std::vector<int64_t> shape :
         std::vector<std::vector<int64_t>>{{}, {3}, {2, 3}, {0, 5}}) {
      Tensor tensor = Tensor::zeros(type, shape);
      for (int64_t i = 0; i < tensor.elementCount(); ++i)
        tensor.set(i, i % 2);
      std::string path = folder.file("x.npy");
      ASSERT_FALSE(writeNpy(path, tensor));
      Tensor back =
          llvm::cantFail(reinterpretAs(llvm::cantFail(readNpy(path)), type));
      EXPECT_EQ(back.shape, shape) << name;
      EXPECT_EQ(back.bytes, tensor.bytes) << name;
    }
  }
}

TEST(Npy, DataIsAlignedTo64) {
  std::string file = formatNpy(Tensor::zeros(ElementType::F32, {7}));
  EXPECT_EQ((file.size() - 28) % 64, 0u);
  EXPECT_EQ(file[file.size() - 29], '\n');
}

TEST(Npy, FortranOrderIsTransposed) {
  std::string data = "abcdef"; // 2x3 by columns
  Tensor tensor = llvm::cantFail(parseNpy(
      npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", data),
      "x"));
  EXPECT_EQ(std::string(tensor.bytes.begin(), tensor.bytes.end()), "acebdf");
}

TEST(Npy, VersionsTwoAndThree) {
  for (int version : {2, 3}) {
    Tensor tensor = llvm::cantFail(parseNpy(
        npy("{'shape': (2L,), \"descr\": \"<i2\", 'fortran_order': False}",
            llvm::StringRef("\1\0\2\0", 4), version),
        "x"));
    EXPECT_EQ(tensor.shape, std::vector<int64_t>{2});
  }
}

TEST(Npy, DamagedFilesAreErrors) {
  std::string good = formatNpy(Tensor::zeros(ElementType::F32, {2, 2}));
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(messageOf(parseNpy(good.substr(0, length), "x.npy")), "success");
  auto header = [](const char *text) {
    return messageOf(parseNpy(npy(text, "12345678"), "x.npy"));
  };
  EXPECT_THAT(header("{'descr': '>f4', 'fortran_order': False, 'shape': ()}"),
              HasSubstr("'>f4' cannot be read"));
  EXPECT_THAT(header("{'descr': [('a', '<f4')], 'fortran_order': False, "
                     "'shape': ()}"),
              HasSubstr("structures"));
  EXPECT_THAT(header("{'descr': '<f4', 'fortran_order': False, 'shape': "
                     "(4294967296, 4294967296)}"),
              HasSubstr("cut off"));
  EXPECT_THAT(
      header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"),
      HasSubstr("damaged shape"));
  EXPECT_THAT(header("{'descr': '<f4'"), HasSubstr("damaged"));
  EXPECT_THAT(messageOf(readNpy("/no/such.npy")),
              HasSubstr("/no/such.npy: No such file"));
}

//===----------------------------------------------------------------------===//
// .npz
//===----------------------------------------------------------------------===//

static void append(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i));
}

static std::string deflated(llvm::StringRef data) {
  std::string out(compressBound(data.size()) + 16, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data()));
  stream.avail_in = data.size();
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = out.size();
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// One member; `size` is what the directory claims.
static std::string zipOf(llvm::StringRef name, llvm::StringRef packed,
                         uint64_t size, int method) {
  std::string local("PK\x03\x04", 4), central("PK\x01\x02", 4),
      end("PK\x05\x06", 4);
  local += std::string(22, '\0');
  append(local, name.size(), 2);
  append(local, 0, 2);
  local += name.str() + packed.str();
  central += std::string(6, '\0');
  append(central, method, 2);
  central += std::string(8, '\0');
  append(central, packed.size(), 4);
  append(central, size, 4);
  append(central, name.size(), 2);
  central += std::string(16, '\0');
  central += name.str();
  end += std::string(4, '\0');
  append(end, 1, 2);
  append(end, 1, 2);
  append(end, central.size(), 4);
  append(end, local.size(), 4);
  append(end, 0, 2);
  return local + central + end;
}

static std::string readNpzBytes(llvm::StringRef bytes) {
  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  llvm::cantFail(writeFile(folder.file("x.npz"), bytes));
  auto arrays = readNpz(folder.file("x.npz"));
  if (!arrays)
    return llvm::toString(arrays.takeError());
  std::string text;
  for (auto &[name, tensor] : *arrays)
    text += name + ":" + toString(TensorType{tensor.type, tensor.shape}) + " ";
  return text;
}

TEST(Npz, StoredAndDeflatedMembers) {
  std::string member = formatNpy(Tensor::zeros(ElementType::F32, {2, 300}));
  EXPECT_EQ(readNpzBytes(zipOf("a.npy", member, member.size(), 0)),
            "a:2x300xf32 ");
  EXPECT_EQ(readNpzBytes(zipOf("b.npy", deflated(member), member.size(), 8)),
            "b:2x300xf32 ");
}

TEST(Npz, DamagedFilesAreErrors) {
  std::string member = formatNpy(Tensor::zeros(ElementType::F32, {2, 300}));
  std::string packed = deflated(member);
  std::string good = zipOf("b.npy", packed, member.size(), 8);
  for (size_t length = 0; length < good.size(); length += 5)
    EXPECT_THAT(readNpzBytes(good.substr(0, length)), HasSubstr("x.npz: "));
  // Sizes that lie, in both directions, and one that would take all memory.
  for (uint64_t size : {member.size() - 1, member.size() + 1, 0xfffffff0ul})
    EXPECT_THAT(readNpzBytes(zipOf("b.npy", packed, size, 8)),
                HasSubstr("member 'b.npy' is damaged"));
  EXPECT_THAT(readNpzBytes(zipOf("b.npy", packed, member.size(), 12)),
              HasSubstr("zip method 12"));
}
