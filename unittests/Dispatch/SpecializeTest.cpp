//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Variants of entries for sizes, and root ops.

#include "attune/Dispatch/Specialize.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Import/CleanUp.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using llvm::cantFail;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const char *const product = R"(
func.func @main(%a: tensor<?x64xf32>, %b: tensor<64x32xf32>) -> tensor<?x32xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %d = tensor.dim %a, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%d) : tensor<?x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x32xf32>) -> tensor<?x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x64xf32>, tensor<64x32xf32>) outs(%f : tensor<?x32xf32>) -> tensor<?x32xf32>
  return %r : tensor<?x32xf32>
}
)";
const char *const productOf8 = R"(
func.func @main(%a: tensor<8x64xf32>, %b: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
  %r = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x32xf32>) outs(%f : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
)";

class SpecializeTest : public testing::Test {
protected:
  SpecializeTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  Program form(llvm::StringRef text, std::vector<EntrySizes> sizes = {}) {
    Program program =
        cantFail(importProgramFromString(context, text, "program.mlir"));
    cantFail(cleanUp(program));
    cantFail(specialize(program, sizes));
    cantFail(formDispatches(program));
    return program;
  }

  std::string fingerprintOf(const Program &program, llvm::StringRef shapes) {
    for (const DispatchInfo &info : listDispatches(*program.module))
      if (info.shapes == shapes)
        return info.fingerprint;
    return "";
  }

  mlir::MLIRContext context;
};

TEST_F(SpecializeTest, AVariantOfOneSizeIsAStaticProgram) {
  Program program = form(product, {{"main", {{8, 8}}}});
  ASSERT_EQ(program.entries.size(), 2u);
  const EntrySignature &variant = program.entries[1];
  EXPECT_EQ(variant.variantOf, "main");
  EXPECT_TRUE(variant.inputs[0].type.isStatic());
  EXPECT_TRUE(variant.outputs[0].type.isStatic());
  std::string fingerprint = fingerprintOf(program, "8x32x64xf32");
  EXPECT_FALSE(fingerprint.empty());
  EXPECT_EQ(fingerprint, fingerprintOf(form(productOf8), "8x32x64xf32"));
  EXPECT_EQ(program.findEntry()->name, "main");
}

TEST_F(SpecializeTest, AVariantOfARangeHasDispatchesOfItsOwn) {
  Program program = form(product, {{"main", {{2, 8}}}});
  std::string general = fingerprintOf(program, "?x32x64xf32"),
              range = fingerprintOf(program, "?x32x64xf32[2..8]");
  EXPECT_FALSE(general.empty());
  EXPECT_FALSE(range.empty());
  EXPECT_NE(general, range);
  EXPECT_EQ(general, fingerprintOf(form(product), "?x32x64xf32"));
}

TEST_F(SpecializeTest, VariantsAreTriedFromNarrowToWideAndSurviveAFile) {
  Program program = form(
      product, {{"main", {{1, 100}}}, {"main", {{8, 8}}}, {"main", {{2, 9}}}});
  auto folder = cantFail(TemporaryFolder::create());
  cantFail(writeProgram(program, folder.file("program.mlir")));
  Program back = cantFail(readProgram(context, folder.file("program.mlir")));
  std::vector<std::string> sizes;
  for (const EntrySignature &entry : back.entries)
    if (entry.isVariant())
      sizes.push_back(toString(entry.sizes));
  EXPECT_THAT(sizes, ElementsAre("8", "2..9", "1..100"));
}

TEST_F(SpecializeTest, SizesOfOtherProgramsAreANote) {
  Program program = form(productOf8, {{"main", {{8, 8}}}, {"other", {{1, 1}}}});
  EXPECT_EQ(program.entries.size(), 1u);
  EXPECT_THAT(program.notes,
              testing::Contains(HasSubstr("'other' are not for this program")));
}

TEST_F(SpecializeTest, RootOpsAreFoundWithoutMarks) {
  Program program =
      cantFail(importProgramFromString(context, product, "program.mlir"));
  auto main = program.module->lookupSymbol<mlir::func::FuncOp>("main");
  auto roots = findRootOps(main);
  ASSERT_EQ(roots.size(), 1u);
  EXPECT_EQ(classify(roots[0]), OpClass::Contraction);
  Program formed = form(product);
  for (const DispatchInfo &info : listDispatches(*formed.module))
    EXPECT_EQ(findRootOps(info.function).size(), 1u);
}

} // namespace
