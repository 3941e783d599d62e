//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Harness/Problem.h"

#include "attune/Dialect/Attune.h"
#include "attune/Import/Program.h"
#include "attune/Support/Files.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

/// Small sizes for every dimension that has none of its own.
ProblemSizes smallSizes(const Problem &problem) {
  ProblemSizes sizes;
  for (const ProblemDimension &dimension : problem.dimensions)
    if (dimension.expression.empty() && !dimension.defaultSize) {
      bool isWindow = dimension.name.size() == 2 && dimension.name[0] == 'k';
      sizes.push_back({dimension.name, isWindow ? 3 : 8});
    }
  return sizes;
}

class ProblemTest : public testing::Test {
protected:
  ProblemTest()
      : context([] {
          mlir::DialectRegistry registry;
          registerAllDialects(registry);
          return registry;
        }()) {
    context.loadAllAvailableDialects();
  }

  llvm::Expected<Program> import(const ProblemCase &problemCase) {
    auto text = buildModule(problemCase);
    if (!text)
      return text.takeError();
    return importProgramFromString(context, *text, problemCase.problem.name);
  }

  mlir::MLIRContext context;
};

TEST_F(ProblemTest, everyShippedProblemBuildsItsModule) {
  for (const Problem &problem : shippedProblems()) {
    auto program = import({problem, smallSizes(problem)});
    ASSERT_TRUE(bool(program))
        << problem.name << ": " << llvm::toString(program.takeError());
    auto types = typesOf(problem, smallSizes(problem));
    ASSERT_TRUE(bool(types));
    const EntrySignature &entry = program->entries.front();
    ASSERT_EQ(entry.inputs.size(), types->inputs.size()) << problem.name;
    for (size_t i = 0; i < entry.inputs.size(); ++i)
      EXPECT_EQ(toString(entry.inputs[i].type), toString(types->inputs[i]));
    ASSERT_EQ(entry.outputs.size(), types->outputs.size()) << problem.name;
    EXPECT_EQ(toString(entry.outputs[0].type), toString(types->outputs[0]));
  }
}

TEST_F(ProblemTest, everyShippedProblemBuildsWithWhatCanBeDynamic) {
  for (const Problem &problem : shippedProblems()) {
    auto program = import({problem, smallSizes(problem), {"*"}});
    ASSERT_TRUE(bool(program))
        << problem.name << ": " << llvm::toString(program.takeError());
    EXPECT_FALSE(program->entries.front().inputs[0].type.isStatic())
        << problem.name;
  }
}

TEST_F(ProblemTest, shippedNamesAreDifferent) {
  std::set<std::string> names;
  for (const Problem &problem : shippedProblems())
    EXPECT_TRUE(names.insert(problem.name).second) << problem.name;
}

TEST_F(ProblemTest, eachDimensionIsDynamicAlone) {
  auto matmul = findProblem("matmul");
  ASSERT_TRUE(bool(matmul));
  auto program = import({*matmul, {{"m", 4}, {"n", 5}, {"k", 6}}, {"n"}});
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  EXPECT_EQ(toString(program->entries[0].inputs[0].type), "4x6xf32");
  EXPECT_EQ(toString(program->entries[0].inputs[1].type), "6x?xf32");
  EXPECT_EQ(toString(program->entries[0].outputs[0].type), "4x?xf32");
}

TEST_F(ProblemTest, sizesAreComputedFromOthers) {
  auto conv = findProblem("conv2d_nhwc");
  ASSERT_TRUE(bool(conv));
  ProblemSizes sizes = {{"n", 1},  {"h", 224},    {"w", 224},
                        {"c", 3},  {"f", 64},     {"kh", 7},
                        {"kw", 7}, {"stride", 2}, {"pad", 3}};
  auto resolved = resolveSizes(*conv, sizes);
  ASSERT_TRUE(bool(resolved));
  EXPECT_THAT(*resolved,
              testing::Contains(std::pair<std::string, int64_t>("oh", 112)));
  auto flops = flopsOf(*conv, sizes);
  ASSERT_TRUE(bool(flops));
  EXPECT_EQ(*flops, 2.0 * 112 * 112 * 64 * 7 * 7 * 3);
  auto bytes = bytesOf(*conv, sizes);
  ASSERT_TRUE(bool(bytes));
  EXPECT_EQ(*bytes, 4.0 * (224 * 224 * 3 + 7 * 7 * 3 * 64 + 112 * 112 * 64));
  auto length = reductionLengthOf(*conv, sizes);
  ASSERT_TRUE(bool(length));
  EXPECT_EQ(*length, 7 * 7 * 3);
}

TEST_F(ProblemTest, wrongSizesAreNamed) {
  auto matmul = findProblem("matmul");
  ASSERT_TRUE(bool(matmul));
  EXPECT_EQ(messageOf(resolveSizes(*matmul, {{"m", 4}, {"n", 4}})),
            "problem 'matmul' needs a size for 'k'; it has m, n, k");
  EXPECT_EQ(messageOf(resolveSizes(*matmul, {{"m", 4}, {"q", 4}})),
            "problem 'matmul' has no dimension 'q'; it has m, n, k");
  EXPECT_EQ(messageOf(resolveSizes(*matmul, {{"m", 4}, {"n", 0}, {"k", 1}})),
            "problem 'matmul': 'n' is 0, and must be 1 or more");
  EXPECT_EQ(messageOf(resolveSizes(*matmul,
                                   {{"m", 4}, {"m", 5}, {"n", 1}, {"k", 1}})),
            "problem 'matmul': the size of 'm' is given twice");
  auto conv = findProblem("conv1d_nwc");
  ASSERT_TRUE(bool(conv));
  EXPECT_THAT(messageOf(resolveSizes(
                  *conv, {{"n", 1}, {"w", 2}, {"c", 1}, {"f", 1}, {"kw", 9}})),
              HasSubstr("'ow' is"));
  EXPECT_THAT(messageOf(typesOf(*matmul, {{"m", int64_t(1) << 40},
                                          {"n", 1},
                                          {"k", int64_t(1) << 40}})),
              HasSubstr("too large"));
}

TEST_F(ProblemTest, whatCannotBeDynamicSaysWhy) {
  auto conv = findProblem("conv1d_nwc");
  ASSERT_TRUE(bool(conv));
  ProblemSizes sizes = {{"n", 1}, {"w", 9}, {"c", 4}, {"f", 4}, {"kw", 3}};
  EXPECT_THAT(messageOf(buildModule({*conv, sizes, {"ow"}})),
              HasSubstr("'ow' cannot be dynamic: it follows from others"));
  EXPECT_THAT(messageOf(buildModule({*conv, sizes, {"stride"}})),
              HasSubstr("'stride' cannot be dynamic"));
  EXPECT_THAT(messageOf(buildModule({*conv, sizes, {"x"}})),
              HasSubstr("no dimension 'x'"));
}

TEST_F(ProblemTest, aBodyWithAnUnknownNameIsAnError) {
  Problem problem;
  problem.name = "mine";
  problem.dimensions = {{"n"}};
  problem.inputs = {{"A", "n"}};
  problem.outputs = {{"B", "n"}};
  problem.body = "%B = linalg.exp ins(%A : $Q) outs(%B.empty : $B) -> $B";
  EXPECT_THAT(messageOf(buildModule({problem, {{"n", 4}}})),
              HasSubstr("names '$Q'"));
  problem.inputs[0].shape = "n z";
  EXPECT_THAT(messageOf(buildModule({problem, {{"n", 4}}})),
              HasSubstr("tensor 'A' has a dimension 'z'"));
}

TEST_F(ProblemTest, sizesAsText) {
  auto sizes = parseProblemSizes(" m=128, n=64");
  ASSERT_TRUE(bool(sizes));
  EXPECT_EQ(toString(*sizes), "m=128,n=64");
  EXPECT_THAT(messageOf(parseProblemSizes("m=1,n")),
              HasSubstr("'n' is no size"));
  EXPECT_THAT(messageOf(parseProblemSizes("m=one")),
              HasSubstr("'m=one' is no size"));
}

TEST_F(ProblemTest, problemsAreTheSameAfterJson) {
  for (const Problem &problem : shippedProblems()) {
    auto read = problemFromJSON(toJSON(problem));
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    auto before = buildModule({problem, smallSizes(problem), {"*"}});
    auto after = buildModule({*read, smallSizes(problem), {"*"}});
    ASSERT_TRUE(bool(before) && bool(after));
    EXPECT_EQ(*before, *after);
    EXPECT_EQ(problem.flops, read->flops);
  }
}

TEST_F(ProblemTest, wrongJsonIsNamed) {
  auto read = [](const char *text) {
    return messageOf(problemFromJSON(
        *llvm::cantFail(llvm::json::parse(text)).getAsObject()));
  };
  EXPECT_EQ(read("{}"), "'name' has to be a text");
  EXPECT_EQ(read(R"({"name": "x", "dimensions": 3})"),
            "'dimensions' has to be a list");
  EXPECT_THAT(
      read(R"({"name": "x", "dimensions": [{"name": "m", "kind": "odd"}]})"),
      HasSubstr("kind 'odd' is none of"));
  EXPECT_THAT(read(R"({"name": "x", "type": "f33", "dimensions": []})"),
              HasSubstr("'type'"));
}

TEST_F(ProblemTest, everyTableOfSizesIsRead) {
  std::string data = ATTUNE_SOURCE_DIR "/bench/data/";
  for (auto [file, problem, rows] :
       {std::tuple("matmul_mmperf.csv", "matmul", 39),
        {"matmul_harness.csv", "matmul", 14},
        {"conv2d_resnet50.csv", "conv2d_nhwc", 23},
        {"conv2d_resnet50.csv", "conv2d_nchw", 23},
        {"depthwise_mobilenet.csv", "depthwise_conv2d", 9},
        {"memory_bound.csv", "", 16},
        {"attention.csv", "attention", 10}}) {
    auto cases = readProblemCases(data + file, problem);
    ASSERT_TRUE(bool(cases)) << llvm::toString(cases.takeError());
    EXPECT_EQ(cases->size(), size_t(rows)) << file;
    for (const ProblemCase &problemCase : *cases) {
      auto text = buildModule(problemCase);
      EXPECT_TRUE(bool(text)) << llvm::toString(text.takeError());
    }
  }
}

TEST_F(ProblemTest, aTableChoosesProblemsAndDynamicDimensions) {
  auto cases = readProblemCases(ATTUNE_SOURCE_DIR "/bench/data/attention.csv",
                                "attention");
  ASSERT_TRUE(bool(cases));
  EXPECT_EQ((*cases)[0].problem.name, "attention");
  EXPECT_EQ((*cases)[3].problem.name, "attention_causal");
  EXPECT_EQ((*cases)[3].label, "gpt2_prefill");
  EXPECT_EQ((*cases)[8].problem.name, "attention_mask");
  EXPECT_EQ(cases->back().dynamic, std::vector<std::string>{"kv_len"});
}

TEST_F(ProblemTest, aWrongTableNamesTheLine) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  auto read = [&](const char *text) {
    std::string path = folder->file("sizes.csv");
    llvm::cantFail(writeFile(path, text));
    std::string message = messageOf(readProblemCases(path, "matmul"));
    return message.substr(message.find("sizes.csv"));
  };
  EXPECT_EQ(read("m,n,k\n1,2,3\n1,2\n"),
            "sizes.csv:3: 2 columns where the first line has 3");
  EXPECT_EQ(read("m,n,k\n1,2,x\n"), "sizes.csv:2: column k: 'x' is no number");
  EXPECT_THAT(read("m,n,q\n1,2,3\n"), HasSubstr("sizes.csv:2: problem"));
  EXPECT_EQ(read("m,n,k\n"), "sizes.csv: there are no sizes in it");
  EXPECT_THAT(messageOf(readProblemCases("/nowhere.csv", "matmul")),
              HasSubstr("/nowhere.csv"));
}

TEST_F(ProblemTest, inputsDependOnTheSeedAlone) {
  auto matmul = findProblem("matmul");
  ASSERT_TRUE(bool(matmul));
  ProblemSizes sizes = {{"m", 4}, {"n", 4}, {"k", 4}};
  auto first = makeProblemInputs(*matmul, sizes, 1);
  auto again = makeProblemInputs(*matmul, sizes, 1);
  auto other = makeProblemInputs(*matmul, sizes, 2);
  ASSERT_TRUE(bool(first) && bool(again) && bool(other));
  EXPECT_EQ((*first)[0].bytes, (*again)[0].bytes);
  EXPECT_NE((*first)[0].bytes, (*other)[0].bytes);
  EXPECT_NE((*first)[0].bytes, (*first)[1].bytes);
}

} // namespace
