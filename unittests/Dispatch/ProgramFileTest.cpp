//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Files that say they were written by Attune, and were changed by a stranger.

#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dialect/Attune.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"

using namespace attune;
using testing::HasSubstr;

namespace {

constexpr char text[] = R"(
  module attributes {attune.dispatch_version = 1 : i64} {
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {attune.entry} {
      %w = attune.weight 0 hash "00" : tensor<4xf32>
      %e = tensor.empty() : tensor<4xf32>
      %r = attune.dispatch @NAME ins(%x, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>)
      return %r : tensor<4xf32>
    }
    func.func private @NAME(%a: tensor<4xf32>, %b: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
        attributes {attune.dispatch = {fingerprint = "0123456789abcdef", root = "elementwise", shapes = "4xf32"}} {
      %s = linalg.add ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
      return %s : tensor<4xf32>
    }
  })";

class ProgramFileTest : public testing::Test {
protected:
  ProgramFileTest()
      : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// What reading says of this text with one weight of `size` floats beside
  /// it; empty if nothing.
  std::string read(std::string program, int64_t size = 4) {
    auto folder = llvm::cantFail(TemporaryFolder::create());
    std::string path = folder.file("p.mlir");
    llvm::cantFail(writeFile(path, program));
    WeightStore weights;
    weights.add({ElementType::F32, {size}}, std::vector<char>(size * 4));
    llvm::cantFail(weights.write(weightsPathFor(path)));
    auto result = readProgram(context, path);
    return result ? "" : llvm::toString(result.takeError());
  }

  static std::string with(llvm::StringRef from, llvm::StringRef to) {
    std::string result = text;
    for (size_t at; (at = result.find(from)) != std::string::npos;)
      result.replace(at, from.size(), to);
    return result;
  }

  mlir::MLIRContext context;
};

TEST_F(ProgramFileTest, WhatAttuneWritesIsRead) {
  EXPECT_EQ(read(with("NAME", "sum_1")), "");
}

// `attune dispatches --dump-to` and `attune tune` make files of these names.
TEST_F(ProgramFileTest, ANameThatIsAPathIsRefused) {
  for (const char *name : {"\"../../evil\"", "\"/etc/evil\"", "\"\"", "\"a b\"",
                           "\"$(evil)\"", "\"a\\00b\""})
    EXPECT_THAT(read(with("NAME", name)),
                HasSubstr("is no name for a dispatch"))
        << name;
}

// Code reads the weight of this number, and as many bytes as the type says.
TEST_F(ProgramFileTest, AWeightThatIsNotThereIsRefused) {
  EXPECT_THAT(read(with("NAME", "sum_1"), 3),
              HasSubstr("weight 0 is 4xf32 in the program and 3xf32"));
  std::string program = with("NAME", "sum_1");
  for (const char *number :
       {"weight 1", "weight -1", "weight 4611686018427387904"}) {
    std::string changed = program;
    changed.replace(changed.find("weight 0"), 8, number);
    EXPECT_THAT(read(changed), HasSubstr("it has no weight")) << number;
  }
}

TEST_F(ProgramFileTest, AnEntryThatUpdatesAnArgumentItDoesNotHaveIsRefused) {
  std::string program = with("NAME", "sum_1");
  program.replace(program.find("{attune.entry}"), 14,
                  "{attune.entry, attune.updates = array<i64: 7>}");
  EXPECT_THAT(read(program), HasSubstr("updates its argument 7"));
}

TEST_F(ProgramFileTest, AStrangersProgramHasNoOpsOfOurs) {
  auto program = importProgramFromString(context, R"(
    func.func @main() -> tensor<4xf32> {
      %w = attune.weight 7 hash "00" : tensor<4xf32>
      return %w : tensor<4xf32>
    })",
                                         "p.mlir");
  ASSERT_FALSE(bool(program));
  EXPECT_THAT(
      llvm::toString(program.takeError()),
      HasSubstr("p.mlir:3: attune.weight is in files that Attune wrote"));
}

} // namespace
