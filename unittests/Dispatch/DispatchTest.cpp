//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How programs are split, and what makes two dispatches the same.

#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Dispatch/ProgramFile.h"
#include "attune/Import/CleanUp.h"
#include "attune/Support/Files.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Verifier.h"
#include "gmock/gmock.h"
#include <set>

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

namespace {

/// Each occurrence of `from` in `text` is `to`.
std::string replaced(std::string text, const std::string &from,
                     const std::string &to) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size(), ++count)
    text.replace(at, from.size(), to);
  EXPECT_GT(count, 0u) << from << " is not in the text";
  return text;
}

class DispatchTest : public testing::Test {
protected:
  DispatchTest() : context(registry(), mlir::MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  Program split(llvm::StringRef text) {
    auto program = importProgramFromString(context, text, "p.mlir");
    if (!program)
      llvm::report_fatal_error(program.takeError());
    if (llvm::Error error = cleanUp(*program))
      llvm::report_fatal_error(std::move(error));
    if (llvm::Error error = formDispatches(*program))
      llvm::report_fatal_error(std::move(error));
    EXPECT_TRUE(succeeded(mlir::verify(*program->module)));
    return std::move(*program);
  }

  /// `root x calls`, in the order of the program.
  std::vector<std::string> groups(const Program &program) {
    std::vector<std::string> texts;
    for (const DispatchInfo &info : listDispatches(*program.module))
      texts.push_back(info.rootOp + " x" + std::to_string(info.calls));
    return texts;
  }
  std::vector<std::string> groups(llvm::StringRef text) {
    return groups(split(text));
  }

  /// Of a program with one dispatch.
  std::string fingerprint(llvm::StringRef text) {
    Program program = split(text);
    auto infos = listDispatches(*program.module);
    EXPECT_EQ(infos.size(), 1u) << text.str();
    return infos.empty() ? "" : infos.front().fingerprint;
  }

  /// Ops of linalg inside a dispatch function.
  static int linalgOps(mlir::func::FuncOp function) {
    int count = 0;
    function.walk([&](mlir::linalg::LinalgOp) { ++count; });
    return count;
  }

  mlir::MLIRContext context;
};

const char *const matmulBias = R"(
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %bias: tensor<4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %bias : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    %m = arith.mulf %s, %scale : f32
    linalg.yield %m : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
)";

//===-- Fingerprints ------------------------------------------------------===//

TEST_F(DispatchTest, NamesLocationsAndStrayAttributesDoNotCount) {
  std::string text = matmulBias, same = fingerprint(text);
  EXPECT_EQ(same.size(), 16u);
  EXPECT_EQ(fingerprint(replaced(text, "@main", "@another")), same);
  EXPECT_EQ(fingerprint(replaced(text, "%bias", "%offset")), same);
  EXPECT_EQ(fingerprint(replaced(text, "%p", "%product")), same);
  EXPECT_EQ(fingerprint("\n\n// comment\n" + text), same);
  EXPECT_EQ(fingerprint(replaced(
                text, "return %r : tensor<8x4xf32>",
                "return %r : tensor<8x4xf32> loc(\"somewhere.py\":3:4)")),
            same);
  EXPECT_EQ(fingerprint(replaced(text, "linalg.matmul ins",
                                 "linalg.matmul {layer = \"dense_1\"} ins")),
            same);
  EXPECT_EQ(fingerprint(
                replaced(text, "iterator_types = [\"parallel\", \"parallel\"]}",
                         "iterator_types = [\"parallel\", \"parallel\"], "
                         "library_call = \"x\"}")),
            same)
      << "documentation of an op is no meaning";
}

TEST_F(DispatchTest, OrderOfIndependentOpsDoesNotCount) {
  std::string text = matmulBias;
  std::string moved = replaced(
      replaced(text, "  %zero = arith.constant 0.0 : f32\n", ""),
      "  %scale = arith.constant 2.5 : f32\n",
      "  %scale = arith.constant 2.5 : f32\n  %zero = arith.constant 0.0 : "
      "f32\n");
  EXPECT_EQ(fingerprint(moved), fingerprint(text));
}

TEST_F(DispatchTest, ANamedOpAndItsGenericAreTheSame) {
  std::string generic = replaced(
      matmulBias,
      "linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f "
      ": tensor<8x4xf32>)",
      R"(linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>,
          affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %m = arith.mulf %x, %y : f32
        %s = arith.addf %o, %m : f32
        linalg.yield %s : f32
      })");
  EXPECT_EQ(fingerprint(generic), fingerprint(matmulBias));
}

TEST_F(DispatchTest, WhatChangesTheMeaningOrTheSpeedCounts) {
  std::string text = matmulBias;
  std::map<std::string, std::string> variants = {
      {"shape", replaced(text, "8x", "9x")},
      {"type", replaced(text, "f32", "f64")},
      {"dynamic size", replaced(replaced(replaced(text, "8x", "?x"),
                                         "tensor.empty()", "tensor.empty(%d)"),
                                "%zero = arith.constant 0.0 : f32",
                                "%zero = arith.constant 0.0 : f32\n"
                                "%c0 = arith.constant 0 : index\n"
                                "%d = tensor.dim %a, %c0 : tensor<?x16xf32>")},
      {"constant", replaced(text, "2.5", "2.75")},
      {"start of the sum", replaced(text, "0.0 : f32", "1.0 : f32")},
      {"operator", replaced(text, "arith.mulf %s", "arith.divf %s")},
      {"operands", replaced(text, "addf %x, %y", "addf %y, %y")},
      {"map", replaced(text, "affine_map<(d0, d1) -> (d1)>",
                       "affine_map<(d0, d1) -> (d1 mod 4)>")},
      {"fast-math flag", replaced(text, "arith.addf %x, %y :",
                                  "arith.addf %x, %y fastmath<reassoc> :")},
  };
  std::set<std::string> seen = {fingerprint(text)};
  for (const auto &[what, variant] : variants)
    EXPECT_TRUE(seen.insert(fingerprint(variant)).second) << what;
}

const char *const weighted = R"(
func.func @main(%a: tensor<8x16xf32>) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant WEIGHTS : tensor<16x8xf32>
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%a, %w : tensor<8x16xf32>, tensor<16x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %p : tensor<8x8xf32>
}
)";

std::string weights(int first) {
  std::string text = "dense<[";
  for (int i = 0; i < 16; ++i) {
    text += i ? ", [" : "[";
    for (int j = 0; j < 8; ++j)
      text += (j ? ", " : "") + std::to_string(first + i * 8 + j) + ".5";
    text += "]";
  }
  return text + "]>";
}

TEST_F(DispatchTest, WeightsCountAsConstantsOfTheirTypeOnly) {
  std::string first = fingerprint(replaced(weighted, "WEIGHTS", weights(0)));
  EXPECT_EQ(fingerprint(replaced(weighted, "WEIGHTS", weights(500))), first);
  // The same product with an activation in its place can pack nothing once.
  std::string activation =
      replaced(replaced(weighted, "%a: tensor<8x16xf32>",
                        "%a: tensor<8x16xf32>, %w: tensor<16x8xf32>"),
               "  %w = arith.constant WEIGHTS : tensor<16x8xf32>\n", "");
  EXPECT_NE(fingerprint(activation), first);
  // A splat is known by its value.
  std::string ones = fingerprint(replaced(weighted, "WEIGHTS", "dense<1.0>"));
  EXPECT_NE(ones, first);
  EXPECT_NE(fingerprint(replaced(weighted, "WEIGHTS", "dense<2.0>")), ones);
}

TEST_F(DispatchTest, TheConfigurationOnADispatchDoesNotCount) {
  Program program = split(matmulBias);
  DispatchInfo info = listDispatches(*program.module).front();
  mlir::Builder builder(&context);
  info.function->setAttr(attr::config,
                         ConfigAttr::get(&context, "contraction_packed",
                                         builder.getDictionaryAttr({})));
  EXPECT_EQ(computeFingerprint(info.function), info.fingerprint);
}

TEST_F(DispatchTest, AFingerprintSurvivesAFile) {
  Program program = split(matmulBias);
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  std::string path = folder->file("p.mlir");
  ASSERT_FALSE(bool(writeProgram(program, path)));
  auto read = readProgram(context, path);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  DispatchInfo before = listDispatches(*program.module).front();
  DispatchInfo after = listDispatches(*read->module).front();
  EXPECT_EQ(after.fingerprint, before.fingerprint);
  EXPECT_EQ(computeFingerprint(after.function), before.fingerprint);
}

//===-- Groups ------------------------------------------------------------===//

TEST_F(DispatchTest, ConvolutionBiasAndReluAreOne) {
  Program program = split(R"(
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#c = affine_map<(n, h, w, c) -> (c)>
func.func @main(%x: tensor<1x10x10x3xf32>, %k: tensor<3x3x3x8xf32>, %bias: tensor<8xf32>) -> tensor<1x8x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8x8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %c = linalg.conv_2d_nhwc_hwcf ins(%x, %k : tensor<1x10x10x3xf32>, tensor<3x3x3x8xf32>) outs(%f : tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %b = linalg.generic {indexing_maps = [#id, #c, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%c, %bias : tensor<1x8x8x8xf32>, tensor<8xf32>) outs(%e : tensor<1x8x8x8xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<1x8x8x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%b : tensor<1x8x8x8xf32>) outs(%e : tensor<1x8x8x8xf32>) {
  ^bb0(%p: f32, %o: f32):
    %m = arith.maximumf %p, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x8x8x8xf32>
  return %r : tensor<1x8x8x8xf32>
}
)");
  EXPECT_THAT(groups(program), ElementsAre("convolution x1"));
}

/// A program on 8x8 matrices: `body` uses %x, %y, %e (empty) and %f (zeros),
/// and may use the macros of expand().
std::string on8x8(const std::string &body, const std::string &result,
                  const std::string &type = "tensor<8x8xf32>") {
  std::string text = R"(
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> ()" +
                     type + R"() {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
)";
  return text + body + "  return " + result + " : " + type + "\n}\n";
}

std::string matmul(const std::string &name, const std::string &a,
                   const std::string &b) {
  return "  " + name + " = linalg.matmul ins(" + a + ", " + b +
         " : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> "
         "tensor<8x8xf32>\n";
}

std::string binary(const std::string &name, const std::string &op,
                   const std::string &a, const std::string &b) {
  return "  " + name +
         " = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = "
         "[\"parallel\", \"parallel\"]} ins(" +
         a + ", " + b +
         " : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {\n"
         "  ^bb0(%in: f32, %by: f32, %o: f32):\n    %v = " +
         op +
         " %in, %by : f32\n    linalg.yield %v : f32\n  } -> tensor<8x8xf32>\n";
}

TEST_F(DispatchTest, AResidualIsAddedWhereItsLastPartIsMade) {
  // h = x y; z = h y + h: the sum goes with the second product.
  Program program =
      split(on8x8(matmul("%h", "%x", "%y") + matmul("%p", "%h", "%y") +
                      binary("%z", "arith.addf", "%p", "%h"),
                  "%z"));
  EXPECT_THAT(groups(program),
              UnorderedElementsAre("contraction x1", "contraction x1"));
  std::multiset<int> sizes; // a product and its fill, or with the sum too
  for (const DispatchInfo &info : listDispatches(*program.module))
    sizes.insert(linalgOps(info.function));
  EXPECT_THAT(sizes, ElementsAre(2, 3));
}

TEST_F(DispatchTest, AProductThatIsUsedTwiceKeepsItsResult) {
  // Both the product and relu of it are results: the product is computed once.
  Program program = split(on8x8(matmul("%p", "%x", "%y") +
                                    binary("%r", "arith.maximumf", "%p", "%x") +
                                    binary("%s", "arith.mulf", "%p", "%r"),
                                "%p, %s", "tensor<8x8xf32>, tensor<8x8xf32>"));
  int products = 0;
  (*program.module)->walk([&](mlir::linalg::LinalgOp op) {
    products += op.getNumReductionLoops() == 1;
  });
  EXPECT_EQ(products, 1);
}

TEST_F(DispatchTest, EqualProductsShareOneDispatch) {
  Program program =
      split(on8x8(matmul("%p", "%x", "%y") + matmul("%q", "%p", "%y") +
                      matmul("%r", "%q", "%y"),
                  "%r"));
  EXPECT_THAT(groups(program), ElementsAre("contraction x3"));
}

TEST_F(DispatchTest, SoftmaxFromItsPartsIsOne) {
  auto reduce = [](const std::string &name, const std::string &op,
                   const std::string &from, const std::string &start) {
    return "  %i" + name + " = tensor.empty() : tensor<8xf32>\n  %j" + name +
           " = linalg.fill ins(" + start + " : f32) outs(%i" + name +
           " : tensor<8xf32>) -> tensor<8xf32>\n  %" + name +
           " = linalg.generic {indexing_maps = [#id, #rows], iterator_types = "
           "[\"parallel\", \"reduction\"]} ins(" +
           from + " : tensor<8x8xf32>) outs(%j" + name +
           " : tensor<8xf32>) {\n  ^bb0(%in: f32, %o: f32):\n    %v = " + op +
           " %in, %o : f32\n    linalg.yield %v : f32\n  } -> tensor<8xf32>\n";
  };
  auto rowwise = [](const std::string &name, const std::string &body,
                    const std::string &a, const std::string &b) {
    return "  %" + name +
           " = linalg.generic {indexing_maps = [#id, #rows, #id], "
           "iterator_types = [\"parallel\", \"parallel\"]} ins(" +
           a + ", " + b +
           " : tensor<8x8xf32>, tensor<8xf32>) outs(%e : tensor<8x8xf32>) {\n  "
           "^bb0(%in: f32, %by: f32, %o: f32):\n" +
           body + "    linalg.yield %v : f32\n  } -> tensor<8x8xf32>\n";
  };
  std::string body =
      reduce("max", "arith.maximumf", "%x", "%lowest") +
      rowwise("exp", "%d = arith.subf %in, %by : f32\n%v = math.exp %d : f32\n",
              "%x", "%max") +
      reduce("sum", "arith.addf", "%exp", "%zero") +
      rowwise("soft", "%v = arith.divf %in, %by : f32\n", "%exp", "%sum");
  EXPECT_THAT(groups(on8x8(body, "%soft")), ElementsAre("reduction x1"));
}

TEST_F(DispatchTest, AReshapeBetweenIsNoDispatch) {
  Program program = split(on8x8(
      matmul("%p", "%x", "%y") +
          "  %flat = tensor.collapse_shape %p [[0, 1]] : tensor<8x8xf32> into "
          "tensor<64xf32>\n  %b = tensor.expand_shape %flat [[0, 1]] "
          "output_shape [4, 16] : tensor<64xf32> into tensor<4x16xf32>\n",
      "%b", "tensor<4x16xf32>"));
  EXPECT_THAT(groups(program), ElementsAre("contraction x1"));
  for (DispatchInfo info : listDispatches(*program.module)) {
    bool reshapes = false;
    info.function.walk([&](mlir::Operation *op) {
      reshapes |=
          isa<mlir::tensor::CollapseShapeOp, mlir::tensor::ExpandShapeOp>(op);
    });
    EXPECT_FALSE(reshapes) << "a view costs nothing outside";
  }
}

TEST_F(DispatchTest, ElementwiseAloneIsOne) {
  EXPECT_THAT(groups(on8x8(binary("%p", "arith.addf", "%x", "%y") +
                               binary("%q", "arith.mulf", "%p", "%y"),
                           "%q")),
              ElementsAre("elementwise x1"));
}

TEST_F(DispatchTest, AProgramThatComputesNothingHasNone) {
  EXPECT_THAT(groups(on8x8("", "%y")), ElementsAre());
}

TEST_F(DispatchTest, FormingTwiceIsFormingOnce) {
  Program program = split(matmulBias);
  std::string before, after;
  llvm::raw_string_ostream(before) << **program.module;
  ASSERT_FALSE(bool(formDispatches(program)));
  llvm::raw_string_ostream(after) << **program.module;
  EXPECT_EQ(before, after);
}

//===-- Extraction --------------------------------------------------------===//

TEST_F(DispatchTest, AnExtractedDispatchIsAProgramWithTheSameDispatch) {
  Program program = split(matmulBias);
  DispatchInfo info = listDispatches(*program.module).front();
  auto alone = extractDispatch(program, info.name);
  ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
  EXPECT_TRUE(succeeded(mlir::verify(*alone->module)));
  ASSERT_EQ(alone->entries.size(), 1u);
  EXPECT_EQ(alone->entries[0].name, "main");
  EXPECT_EQ(alone->entries[0].inputs.size(), 3u);
  EXPECT_EQ(toString(alone->entries[0].outputs[0].type), "8x4xf32");
  DispatchInfo same = listDispatches(*alone->module).front();
  EXPECT_EQ(same.fingerprint, info.fingerprint);
  EXPECT_EQ(computeFingerprint(same.function), info.fingerprint);
}

TEST_F(DispatchTest, AnExtractedDispatchOfDynamicSizeTakesThemFromItsInputs) {
  std::string dynamic = replaced(
      replaced(replaced(matmulBias, "8x", "?x"), "tensor.empty()",
               "tensor.empty(%d)"),
      "%zero = arith.constant 0.0 : f32",
      "%zero = arith.constant 0.0 : f32\n%c0 = arith.constant 0 : index\n"
      "%d = tensor.dim %a, %c0 : tensor<?x16xf32>");
  Program program = split(dynamic);
  auto infos = listDispatches(*program.module);
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].shapes, "?x4x16xf32");
  auto alone = extractDispatch(program, infos[0].name);
  ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
  EXPECT_EQ(alone->entries[0].inputs.size(), 3u) << "no sizes as arguments";
  EXPECT_EQ(toString(alone->entries[0].outputs[0].type), "?x4xf32");
}

TEST_F(DispatchTest, ExtractingWhatIsNotThereIsAnError) {
  Program program = split(matmulBias);
  EXPECT_EQ(llvm::toString(extractDispatch(program, "nope").takeError()),
            "p.mlir: there is no dispatch 'nope'");
  EXPECT_EQ(llvm::toString(extractDispatch(program, "main").takeError()),
            "p.mlir: there is no dispatch 'main'");
}

} // namespace
