//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Import/Program.h"

#include "attune/Dialect/Attune.h"
#include "attune/Import/CleanUp.h"
#include "attune/Support/Files.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <gmock/gmock.h>
#include <map>

using namespace attune;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

mlir::DialectRegistry allDialects() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

class ImportTest : public testing::Test {
protected:
  ImportTest()
      : context(allDialects(), mlir::MLIRContext::Threading::DISABLED) {}

  std::optional<Program> import(llvm::StringRef text,
                                const ImportOptions &options = {}) {
    auto program = importProgramFromString(context, text, "p.mlir", options);
    EXPECT_TRUE(bool(program)) << llvm::toString(program.takeError());
    return program ? std::optional<Program>(std::move(*program)) : std::nullopt;
  }

  std::string failure(llvm::StringRef text, const ImportOptions &options = {}) {
    auto program = importProgramFromString(context, text, "p.mlir", options);
    return program ? "no error" : llvm::toString(program.takeError());
  }

  std::string textOf(const Program &program) {
    std::string text;
    llvm::raw_string_ostream(text) << **program.module;
    return text;
  }

  mlir::MLIRContext context;
};

std::string types(const std::vector<ValueSignature> &values) {
  std::string text;
  for (const ValueSignature &value : values)
    text +=
        (text.empty() ? "" : ", ") + toString(value.type) +
        (value.isScalar ? " scalar" : "") +
        (value.updates >= 0 ? " updates " + std::to_string(value.updates) : "");
  return text;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST_F(ImportTest, MissingFilesFoldersAndEmptyFiles) {
  auto message = [&](llvm::StringRef path) {
    return llvm::toString(importProgram(context, path).takeError());
  };
  EXPECT_EQ(message("/nowhere/m.mlir"), "/nowhere/m.mlir: no such file");
  EXPECT_THAT(message("/tmp"), HasSubstr("is a folder"));
  EXPECT_THAT(failure("  \n"), HasSubstr("the file is empty"));
  EXPECT_THAT(failure(llvm::StringRef("\x08\x00\x12\x07pytorch", 11)),
              HasSubstr("neither MLIR text nor MLIR bytecode"));
  EXPECT_THAT(failure("version https://git-lfs.github.com/spec/v1\n"),
              HasSubstr("git lfs pull"));
}

TEST_F(ImportTest, FilesOfOtherToolsNameTheCommandThatReadsThem) {
  TemporaryFolder folder = llvm::cantFail(TemporaryFolder::create());
  for (llvm::StringRef name : {"m.onnx", "m.pt2", "m.jax"}) {
    std::string path = folder.file(name);
    llvm::cantFail(writeFile(path, llvm::StringRef("\x08\x00\x12", 3)));
    EXPECT_THAT(llvm::toString(importProgram(context, path).takeError()),
                HasSubstr("`python -m attune.import " + path));
  }
}

TEST_F(ImportTest, DamagedAndNewerBytecode) {
  EXPECT_THAT(
      failure("ML\xEFRgarbage"),
      AnyOf(HasSubstr("export the program as text"), StartsWith("p.mlir: ")));
  // Version 99, producer "x".
  EXPECT_THAT(failure(llvm::StringRef("ML\xEFR\xC7x\0\0\0\0\0\0", 12)),
              HasSubstr("written by a newer MLIR"));
}

TEST_F(ImportTest, SyntaxErrorsNameTheLine) {
  EXPECT_THAT(failure("func.func @main() {\n  %0 = arith.addf %a, %a : f32\n"
                      "  return\n}"),
              StartsWith("p.mlir:2: use of undeclared SSA value name"));
  EXPECT_THAT(failure("this is not a program"), StartsWith("p.mlir:1: "));
}

TEST_F(ImportTest, OpsThatDoNotVerifyNameTheLine) {
  EXPECT_THAT(failure("func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n"
                      "  return %a : tensor<2xf32>\n}"),
              StartsWith("p.mlir:2: "));
}

//===----------------------------------------------------------------------===//
// Foreign dialects
//===----------------------------------------------------------------------===//

struct Foreign {
  const char *op, *wayOut;
};
class ForeignTest : public ImportTest,
                    public testing::WithParamInterface<Foreign> {};

TEST_P(ForeignTest, NamesTheOpItsLineAndTheWayOut) {
  std::string text = llvm::formatv("func.func @main(%a: tensor<2xf32>) {\n"
                                   "  \"{0}\"(%a) : (tensor<2xf32>) -> ()\n"
                                   "  return\n}",
                                   GetParam().op);
  std::string message = failure(text);
  EXPECT_THAT(message, StartsWith("p.mlir:2: " + std::string(GetParam().op)));
  EXPECT_THAT(message, HasSubstr(GetParam().wayOut));
  EXPECT_THAT(message, Not(HasSubstr("\n")));
  std::string custom = llvm::formatv(
      "func.func @main(%a: tensor<2xf32>) {\n  {0} %a\n  return\n}",
      GetParam().op);
  EXPECT_THAT(failure(custom),
              StartsWith("p.mlir:2: " + std::string(GetParam().op)));
}

INSTANTIATE_TEST_SUITE_P(
    Dialects, ForeignTest,
    testing::Values(
        Foreign{"tm_tensor.scan", "tm-tensor-to-loops"},
        Foreign{"stablehlo.add", "attune.import"},
        Foreign{"stablehlo.add", "iree-stablehlo-input-transformation"},
        Foreign{"torch.aten.add", "torch-backend-to-linalg-on-tensors"},
        Foreign{"onnx.Conv", "torch-mlir-import-onnx"},
        Foreign{"flow.dispatch", "--backend=iree"},
        Foreign{"hal.foo", "--backend=iree"},
        Foreign{"foo.bar", "lower it to linalg on tensors"}));

TEST_F(ImportTest, ForeignTypesNameTheirDialect) {
  EXPECT_THAT(
      failure("func.func @main(%a: !torch.vtensor<[4],f32>) {\n  return\n}"),
      HasSubstr("torch-mlir-opt"));
}

TEST_F(ImportTest, UpstreamOpsThatAreNoCpuTensorProgram) {
  EXPECT_THAT(failure("func.func @main() {\n  gpu.barrier\n  return\n}"),
              HasSubstr("p.mlir:2: gpu.barrier needs the gpu dialect"));
  EXPECT_THAT(
      failure("#s = #sparse_tensor.encoding<{map = (i) -> (i : compressed)}>\n"
              "func.func @main(%a: tensor<4xf32, #s>) -> tensor<4xf32, #s> {\n"
              "  %0 = tensor.cast %a : tensor<4xf32, #s> to tensor<4xf32, #s>\n"
              "  return %a : tensor<4xf32, #s>\n}"),
      HasSubstr("sparse"));
}

TEST_F(ImportTest, OpsOfAnotherVersionAreNotCalledForeign) {
  EXPECT_THAT(failure("func.func @main() {\n  linalg.frobnicate\n  return\n}"),
              HasSubstr("linalg.frobnicate is not an op of MLIR 22"));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

TEST_F(ImportTest, EveryPublicFunctionIsAnEntryAndCalleesAreInlined) {
  auto program =
      import("func.func @a(%x: f32) -> f32 {\n"
             "  %0 = call @h(%x) : (f32) -> f32\n  return %0 : f32\n}\n"
             "func.func @\"b c\"(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {\n"
             "  return %x : tensor<?x2xf32>\n}\n"
             "func.func private @h(%x: f32) -> f32 {\n"
             "  %0 = arith.addf %x, %x : f32\n  return %0 : f32\n}");
  ASSERT_TRUE(program);
  ASSERT_EQ(program->entries.size(), 2u);
  EXPECT_EQ(program->entries[0].name, "a");
  EXPECT_EQ(types(program->entries[0].inputs), "f32 scalar");
  EXPECT_EQ(program->entries[1].name, "b c");
  EXPECT_EQ(types(program->entries[1].outputs), "?x2xf32");
  EXPECT_THAT(textOf(*program), Not(HasSubstr("call")));
  EXPECT_THAT(textOf(*program), Not(HasSubstr("@h")));
  EXPECT_EQ(program->findEntry("b c"), &program->entries[1]);
  EXPECT_EQ(program->findEntry(), nullptr);
}

TEST_F(ImportTest, OneEntryByName) {
  llvm::StringRef text =
      "func.func @a() { return }\nfunc.func private @b() { return }";
  ImportOptions options;
  options.entry = "b";
  auto program = import(text, options);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->entries.size(), 1u);
  EXPECT_EQ(program->entries[0].name, "b");
  options.entry = "c";
  EXPECT_EQ(failure(text, options), "p.mlir: no function @c; there are @a, @b");
}

TEST_F(ImportTest, CallsThatCannotBeInlined) {
  EXPECT_THAT(
      failure("func.func @main() {\n  call @main() : () -> ()\n  return\n}"),
      HasSubstr("p.mlir:2: @main calls itself"));
  EXPECT_THAT(failure("func.func private @f()\nfunc.func @main() {\n"
                      "  call @f() : () -> ()\n  return\n}"),
              HasSubstr("p.mlir:3: calls @f, which has no body"));
  EXPECT_THAT(failure("func.func private @f()"), HasSubstr("no functions"));
  EXPECT_THAT(failure("func.func private @f() { return }\n"
                      "func.func private @g() { return }"),
              HasSubstr("name one of @f, @g with --entry"));
}

TEST_F(ImportTest, OddSignaturesAreKept) {
  auto program = import(
      "func.func @main(%a: tensor<2xf32>, %unused: index, %s: tensor<f32>) ->\n"
      "    (tensor<2xf32>, tensor<2xf32>, tensor<f32>, i1) {\n"
      "  %t = arith.constant true\n"
      "  return %a, %a, %s, %t : tensor<2xf32>, tensor<2xf32>, tensor<f32>, "
      "i1\n}");
  ASSERT_TRUE(program);
  EXPECT_EQ(types(program->entries[0].inputs), "2xf32, index scalar, f32");
  EXPECT_EQ(types(program->entries[0].outputs), "2xf32, 2xf32, f32, i1 scalar");
}

TEST_F(ImportTest, TypesNobodyCanPassAreNamed) {
  EXPECT_THAT(failure("func.func @main(%a: tensor<*xf32>) { return }"),
              HasSubstr("p.mlir:1: input 0 of @main: tensor<*xf32>"));
  EXPECT_THAT(failure("func.func @main(%a: tensor<2xf8E5M2>) { return }"),
              HasSubstr("f8E5M2 is not an element type"));
}

TEST_F(ImportTest, BranchesBecomeStructured) {
  auto program = import("func.func @main(%c: i1, %x: f32) -> f32 {\n"
                        "  cf.cond_br %c, ^a, ^b(%x : f32)\n^a:\n"
                        "  %0 = math.exp %x : f32\n  cf.br ^b(%0 : f32)\n"
                        "^b(%r: f32):\n  return %r : f32\n}");
  ASSERT_TRUE(program);
  EXPECT_THAT(textOf(*program), HasSubstr("scf.if"));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

TEST_F(ImportTest, LargeConstantsLeaveTheCodeAndSmallOnesStay) {
  std::string numbers;
  for (int i = 0; i < 65; ++i)
    numbers += (i ? ", " : "") + std::to_string(i) + ".0";
  auto program = import(
      llvm::formatv("func.func @main() -> (tensor<65xf32>, tensor<65xf32>, "
                    "tensor<2xf32>, "
                    "tensor<900xf32>) {\n"
                    "  %a = arith.constant dense<[{0}]> : tensor<65xf32>\n"
                    "  %s = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
                    "  %u = arith.constant dense<3.0> : tensor<900xf32>\n"
                    "  return %a, %a, %s, %u : tensor<65xf32>, tensor<65xf32>, "
                    "tensor<2xf32>, "
                    "tensor<900xf32>\n}",
                    numbers)
          .str());
  ASSERT_TRUE(program);
  ASSERT_EQ(program->weights.size(), 1);
  EXPECT_EQ(program->weights.tensor(0).at(64), 64.0);
  EXPECT_THAT(textOf(*program),
              HasSubstr("dense<3.000000e+00> : tensor<900xf32>"));
}

TEST_F(ImportTest, BooleansTakeOneByteEach) {
  std::string bits;
  for (int i = 0; i < 70; ++i)
    bits += (i ? ", " : "") + std::string(i % 3 ? "false" : "true");
  auto program =
      import(llvm::formatv("func.func @main() -> tensor<70xi1> {\n"
                           "  %a = arith.constant dense<[{0}]> : "
                           "tensor<70xi1>\n  return %a : tensor<70xi1>\n}",
                           bits)
                 .str());
  ASSERT_TRUE(program);
  ASSERT_EQ(program->weights.size(), 1);
  llvm::ArrayRef<char> bytes = program->weights.bytes(0);
  ASSERT_EQ(bytes.size(), 70u);
  for (int i = 0; i < 70; ++i)
    EXPECT_EQ(bytes[i], i % 3 == 0);
}

TEST_F(ImportTest, ResourcesAreTakenWithoutACopyAndSmallOnesInlined) {
  auto program =
      import("func.func @main() -> tensor<2xi32> {\n"
             "  %a = arith.constant dense_resource<r> : tensor<2xi32>\n"
             "  return %a : tensor<2xi32>\n}\n"
             "{-#\n dialect_resources: {\n builtin: {\n"
             " r: \"0x040000000100000002000000\"\n}\n}\n#-}");
  ASSERT_TRUE(program);
  EXPECT_THAT(textOf(*program), HasSubstr("dense<[1, 2]>"));
  EXPECT_TRUE(program->notes.empty());
}

TEST_F(ImportTest, AResourceOfTheWrongSizeIsAnError) {
  EXPECT_THAT(
      failure("func.func @main() -> tensor<3xi32> {\n"
              "  %a = arith.constant dense_resource<r> : tensor<3xi32>\n"
              "  return %a : tensor<3xi32>\n}\n"
              "{-#\n dialect_resources: {\n builtin: {\n"
              " r: \"0x040000000100000002000000\"\n}\n}\n#-}"),
      HasSubstr("dense_resource<r> has 8 bytes where 3xi32 needs 12"));
}

/// `body` turns the weight %w : tensor<128xf32> into %r : tensor<128xf32>.
std::string elementwise(llvm::StringRef body) {
  return llvm::formatv(
             "#m = affine_map<(i) -> (i)>\n"
             "func.func @main(%x: tensor<128xf32>) -> tensor<128xf32> {\n"
             "  %w = arith.constant dense_resource<__elided__> : "
             "tensor<128xf32>\n"
             "  %eps = arith.constant 1.0e-5 : f32\n"
             "  %r = linalg.generic {{indexing_maps = [#m, #m, #m], "
             "iterator_types = "
             "[\"parallel\"]} ins(%x, %w : tensor<128xf32>, tensor<128xf32>) "
             "outs(%x "
             ": tensor<128xf32>) {{\n  ^bb0(%a: f32, %b: f32, %o: f32):\n{0}\n"
             "    linalg.yield %y : f32\n  } -> tensor<128xf32>\n"
             "  return %r : tensor<128xf32>\n}",
             body)
      .str();
}

TEST_F(ImportTest, LeftOutVariancesArePositive) {
  for (const char *root : {"math.rsqrt", "math.sqrt", "math.log"}) {
    auto program = import(elementwise(
        llvm::formatv("    %v = arith.addf %b, %eps : f32\n"
                      "    %s = {0} %v : f32\n    %y = arith.mulf %a, %s : f32",
                      root)
            .str()));
    ASSERT_TRUE(program);
    EXPECT_THAT(program->notes[0], HasSubstr("random values"));
    Tensor weight = program->weights.tensor(0);
    for (int64_t i = 0; i < weight.elementCount(); ++i)
      EXPECT_GT(weight.at(i), 0.4);
  }
}

TEST_F(ImportTest, LeftOutFactorsAreNearOneAndTermsNearZero) {
  auto mean = [&](llvm::StringRef op) {
    auto program =
        import(elementwise(("    %y = " + op + " %a, %b : f32").str()));
    Tensor weight = program->weights.tensor(0);
    double sum = 0;
    for (int64_t i = 0; i < weight.elementCount(); ++i)
      sum += weight.at(i);
    return sum / weight.elementCount();
  };
  EXPECT_NEAR(mean("arith.mulf"), 1, 0.1);
  EXPECT_NEAR(mean("arith.addf"), 0, 0.1);
}

TEST_F(ImportTest, LeftOutIndicesAreValid) {
  auto program = import(
      "#m = affine_map<(i) -> (i)>\n"
      "func.func @main(%t: tensor<5xf32>) -> tensor<128xf32> {\n"
      "  %w = arith.constant dense_resource<__elided__> : tensor<128xi64>\n"
      "  %e = tensor.empty() : tensor<128xf32>\n"
      "  %r = linalg.generic {indexing_maps = [#m, #m], iterator_types = "
      "[\"parallel\"]} ins(%w : tensor<128xi64>) outs(%e : tensor<128xf32>) {\n"
      "  ^bb0(%a: i64, %o: f32):\n    %i = arith.index_cast %a : i64 to index\n"
      "    %v = tensor.extract %t[%i] : tensor<5xf32>\n    linalg.yield %v : "
      "f32\n"
      "  } -> tensor<128xf32>\n  return %r : tensor<128xf32>\n}");
  ASSERT_TRUE(program);
  Tensor weight = program->weights.tensor(0);
  for (int64_t i = 0; i < weight.elementCount(); ++i) {
    EXPECT_GE(weight.at(i), 0);
    EXPECT_LT(weight.at(i), 5);
  }
}

TEST_F(ImportTest, LeftOutWeightsAreTheSameInEveryRunAndDifferFromEachOther) {
  std::string text =
      "func.func @main() -> (tensor<128xf32>, tensor<128xf32>) {\n"
      "  %a = arith.constant dense_resource<__elided__> : tensor<128xf32>\n"
      "  %b = arith.constant dense_resource<__elided__> : tensor<128xf32>\n"
      "  return %a, %b : tensor<128xf32>, tensor<128xf32>\n}";
  auto first = import(text), second = import(text);
  ImportOptions other;
  other.seed = 1;
  auto third = import(text, other);
  ASSERT_EQ(first->weights.size(), 2);
  EXPECT_NE(first->weights[0].hash, first->weights[1].hash);
  EXPECT_EQ(first->weights[0].hash, second->weights[0].hash);
  EXPECT_NE(first->weights[0].hash, third->weights[0].hash);
}

//===----------------------------------------------------------------------===//
// Whole folders
//===----------------------------------------------------------------------===//

std::vector<std::string> filesOf(llvm::StringRef folder) {
  std::vector<std::string> files;
  std::error_code code;
  std::string path = (llvm::StringRef(ATTUNE_SOURCE_DIR "/") + folder).str();
  for (llvm::sys::fs::directory_iterator it(path, code), end;
       it != end && !code; it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".mlir"))
      files.push_back(it->path());
  llvm::sort(files);
  return files;
}

/// How often each op occurs.
std::map<std::string, int> countOps(mlir::ModuleOp module) {
  std::map<std::string, int> counts;
  module.walk([&](mlir::Operation *op) {
    if (!op->hasTrait<mlir::OpTrait::ConstantLike>())
      ++counts[op->getName().getStringRef().str()];
  });
  return counts;
}

TEST_F(ImportTest, EveryProgramOfTheProjectImportsAndCleansUp) {
  int count = 0;
  for (const char *folder :
       {"examples", "test/data/models", "test/data/ops", "test/data/cases"})
    for (const std::string &file : filesOf(folder)) {
      SCOPED_TRACE(file);
      auto program = importProgram(context, file);
      if (!program) {
        // Only ops that are not upstream's.
        EXPECT_THAT(llvm::toString(program.takeError()),
                    HasSubstr("tm_tensor"));
        continue;
      }
      ++count;
      Program before = program->clone();
      llvm::Error error = cleanUp(*program);
      ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
      EXPECT_TRUE(mlir::succeeded(mlir::verify(*before.module)));
      // Cleaning up what is clean changes nothing.
      auto once = countOps(*program->module);
      ASSERT_FALSE(bool(cleanUp(*program)));
      EXPECT_EQ(once, countOps(*program->module));
    }
  EXPECT_GT(count, 20);
}

} // namespace
