//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Harness/Harness.h"

#include "attune/Backend/Cpu.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

namespace {

template <typename T> std::string messageOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

/// In this process; crashes have a test with workers.
class HarnessTest : public testing::Test {
protected:
  void SetUp() override {
    HarnessOptions options;
    options.isolation = Isolation::InProcess;
    auto created = Harness::create(options);
    ASSERT_TRUE(bool(created)) << llvm::toString(created.takeError());
    harness = std::move(*created);
    quick.iterations = 3;
  }

  ProblemCase matmul(int64_t m, int64_t n, int64_t k,
                     std::vector<std::string> dynamic = {}) {
    return {llvm::cantFail(findProblem("matmul")),
            {{"m", m}, {"n", n}, {"k", k}},
            std::move(dynamic)};
  }

  /// Runs and expects right results.
  void expectRight(const ProblemCase &problemCase, const ExpertValues &expert) {
    auto result = harness->run(problemCase, expert, quick);
    ASSERT_TRUE(bool(result)) << expert.expert.getName() << ": "
                              << llvm::toString(result.takeError());
    EXPECT_TRUE(result->ok())
        << expert.expert.getName() << ": " << toString(result->outcome).str()
        << ": " << result->reason;
    EXPECT_TRUE(result->checked);
  }

  std::unique_ptr<Harness> harness;
  RunOptions quick;
};

TEST_F(HarnessTest, givesNumbersBack) {
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  quick.iterations = 7;
  auto result =
      harness->run(matmul(16, 32, 24), expert({{"m_tile", int64_t(2)}}), quick);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::Ok) << result->reason;
  EXPECT_EQ(result->seconds.size(), 7u);
  EXPECT_EQ(result->flops, 2.0 * 16 * 32 * 24);
  EXPECT_EQ(result->bytes, 4.0 * (16 * 24 + 24 * 32 + 16 * 32));
  EXPECT_GT(result->gflops(), 0);
  EXPECT_GT(result->compileSeconds, 0);
  EXPECT_GE(result->secondsAt(0), result->secondsAt(50));
  EXPECT_GE(result->secondsAt(50), result->secondsAt(100));
  EXPECT_EQ(*result->configuration.find("m_tile"), KnobValue(int64_t(2)));
  EXPECT_EQ(result->maxErrors.size(), 1u);
}

TEST_F(HarnessTest, eachTransformationGivesRightResults) {
  Variable m = Variable::powerOfTwo("m_tile", 4, 1, 8);
  Variable n = Variable::list("n_tile", 16, {8, 16});
  Expert tiled = Expert("tiled").then(tile({"m", "n"}, {m, n}));
  Expert vectors = Expert("vectors").then(tileRest()).then(vectorize());
  std::vector<Expert> experts = {
      Expert("generalized").then(generalize()).then(tiled).then(vectors),
      Expert("reordered").then(interchange("order", 3)).then(vectors),
      tiled.then(tile({"k"}, {5})).then(peel()).then(vectors),
      tiled.then(tile({"k"}, {1})).then(unroll("factor", {1, 4})).then(vectors),
      tiled.then(pad({0, 1, 2}, {4, 8, 4})).then(vectors),
      tiled.then(pad({0, 1, 2}, {4, 8, 4})).then(hoistPadding(1)).then(vectors),
      Expert("packs")
          .then(tileAndFuse({"n", "m"}, {n, m}))
          .then(pack("n", Variable::boolean("pack", true)))
          .then(tile({"k"}, {4}))
          .then(vectors),
      tiled.then(vectors).then(bufferize()).then(lowerToLLVM()),
      tiled.then(vectors)
          .then(bufferize())
          .then(lowerVectors(Variable::list("contraction", 0, {0, 1, 2}),
                             Variable::list("reduction", 0, {0, 1}),
                             Variable::list("transpose", 0, {0, 1}))),
      tiled.then(tile({"k"}, {2}))
          .then(vectors)
          .then(softwarePipeline("latency", {0, 2})),
  };
  for (const Expert &expert : experts)
    expectRight(matmul(18, 33, 20), expert);
  expectRight(matmul(18, 33, 20), experts[1]({{"order", int64_t(5)}}));
  expectRight(matmul(18, 33, 20), experts[3]({{"factor", int64_t(1)}}));
  expectRight(matmul(18, 33, 20), experts[8]({{"contraction", int64_t(1)},
                                              {"reduction", int64_t(1)},
                                              {"transpose", int64_t(1)}}));
  expectRight(matmul(18, 33, 20), experts[9]({{"latency", int64_t(1)}}));
  expectRight(matmul(18, 33, 23, {"k"}), experts[2]);
  Expert rows = Expert("rows").then(tileReduction(2)).then(vectors);
  expectRight(
      {llvm::cantFail(findProblem("row_reduction")), {{"m", 9}, {"n", 100}}},
      rows);
}

TEST_F(HarnessTest, sizesAreStaticOrDynamic) {
  Expert expert = llvm::cantFail(findExpert("double_tiling"));
  expectRight(matmul(18, 33, 20, {"m"}), expert);
  expectRight(matmul(18, 33, 20, {"*"}), expert);
  // Its dispatch cannot run alone: nothing says how high the result is.
  expectRight(
      {llvm::cantFail(findProblem("conv2d_nhwc")),
       {{"n", 1}, {"h", 8}, {"w", 8}, {"c", 4}, {"f", 8}, {"kh", 3}, {"kw", 3}},
       {"h", "w"}},
      expert);
}

TEST_F(HarnessTest, writtenAndReadIsTheSameSpaceAndObject) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  ProblemCase conv{llvm::cantFail(findProblem("conv2d_nhwc")),
                   {{"n", 1},
                    {"h", 8},
                    {"w", 8},
                    {"c", 8},
                    {"f", 16},
                    {"kh", 3},
                    {"kw", 3}}};
  for (const Expert &expert : shippedExperts()) {
    ProblemCase problemCase =
        expert.getName() == "packed" ? matmul(16, 32, 16) : conv;
    llvm::cantFail(expert.write(folder->getPath()));
    auto read = Expert::read(folder->file(expert.getName() + ".mlir"));
    ASSERT_TRUE(bool(read));
    auto space = harness->space(problemCase, expert);
    ASSERT_TRUE(bool(space)) << llvm::toString(space.takeError());
    auto again = harness->space(problemCase, *read);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    EXPECT_EQ(space->space.count(), again->space.count());
    EXPECT_EQ(space->version, again->version);
    EXPECT_EQ(space->defaultConfiguration, again->defaultConfiguration);
    std::mt19937_64 first(1), second(1);
    EXPECT_EQ(space->space.sample(first), again->space.sample(second));
    auto dumps = harness->dump(problemCase, expert);
    ASSERT_TRUE(bool(dumps)) << llvm::toString(dumps.takeError());
    auto dumpsAgain = harness->dump(problemCase, *read);
    ASSERT_TRUE(bool(dumpsAgain));
    EXPECT_EQ(llvm::cantFail(hashFileHex(dumps->object)),
              llvm::cantFail(hashFileHex(dumpsAgain->object)))
        << expert.getName();
  }
}

TEST_F(HarnessTest, dumpsEveryStageAndTheHotLoop) {
  auto dumps = harness->dump(matmul(64, 64, 64),
                             llvm::cantFail(findExpert("single_tiling")));
  ASSERT_TRUE(bool(dumps)) << llvm::toString(dumps.takeError());
  std::vector<std::string> names;
  for (const auto &[name, text] : dumps->stages) {
    names.push_back(name);
    EXPECT_FALSE(text.empty());
  }
  EXPECT_THAT(names,
              testing::ElementsAre("problem", "dispatched", "schedule",
                                   "bufferize", "buffers", "loops", "llvm"));
  EXPECT_THAT(dumps->assembly, HasSubstr("contraction"));
  EXPECT_THAT(dumps->hotLoop, HasSubstr(".Lhot"));
  EXPECT_THAT(dumps->mca, HasSubstr("Total Cycles"));
}

TEST_F(HarnessTest, anExpertThatDoesNotFitIsAnErrorAndInASweepARow) {
  Expert packed = llvm::cantFail(findExpert("packed"));
  ProblemCase rows{llvm::cantFail(findProblem("row_reduction")),
                   {{"m", 9}, {"n", 100}}};
  EXPECT_THAT(messageOf(harness->run(rows, packed, quick)),
              HasSubstr("expert 'packed' does not fit problem 'row_reduction': "
                        "of its dispatch reduction_1 (reduction 9x100"));
  auto results = harness->sweep(
      {rows, matmul(8, 16, 8)},
      {packed, llvm::cantFail(findExpert("single_tiling"))}, quick);
  ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
  ASSERT_EQ(results->size(), 4u);
  EXPECT_EQ((*results)[0].outcome, Outcome::Rejected);
  EXPECT_TRUE((*results)[1].ok());
  EXPECT_TRUE((*results)[2].ok());
}

TEST_F(HarnessTest, valuesThatMakeNoSenseAreErrors) {
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  auto run = [&](std::vector<std::pair<std::string, KnobValue>> values) {
    return messageOf(harness->run(matmul(8, 16, 8), expert(values), quick));
  };
  EXPECT_THAT(run({{"tile", int64_t(3)}}),
              HasSubstr("expert 'single_tiling' has no knob 'tile'; it has"));
  EXPECT_THAT(run({{"n_tile", int64_t(7)}}),
              HasSubstr("knob 'n_tile': 7 is not in"));
  EXPECT_THAT(run({{"n_tile", std::string("x")}}),
              HasSubstr("knob 'n_tile': x is not in"));
  EXPECT_THAT(run({{"n_tile", int64_t(8)}, {"n_tile", int64_t(8)}}),
              HasSubstr("'n_tile' is given twice"));
  quick.inputs = {Tensor::zeros(ElementType::F32, {8, 8})};
  EXPECT_THAT(run({}), HasSubstr("has 2 inputs, not 1"));
  quick.inputs.push_back(Tensor::zeros(ElementType::F64, {8, 16}));
  EXPECT_THAT(run({}), HasSubstr("input 1 is 8x16xf32, not 8x16xf64"));
}

TEST_F(HarnessTest, aBrokenConstraintIsRejectedWithItsReason) {
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  auto result = harness->run(matmul(64, 64, 64),
                             expert({{"m_tile", int64_t(16)},
                                     {"n_tile", int64_t(64)},
                                     {"k_tile", int64_t(8)}}),
                             quick);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::Rejected);
  EXPECT_THAT(result->reason,
              HasSubstr("the unrolled body of a tile gets too"));
}

TEST_F(HarnessTest, aWrongResultIsSeenAndCanBeRepeated) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  HarnessOptions options;
  options.isolation = Isolation::InProcess;
  options.reproducerFolder = folder->getPath();
  auto other = Harness::create(options);
  ASSERT_TRUE(bool(other));
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  quick.references = {Tensor::zeros(ElementType::F32, {8, 16})};
  auto result = (*other)->run(matmul(8, 16, 8), expert, quick);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::WrongResult);
  ASSERT_FALSE(result->reproducer.empty());
  auto readme = readFile(result->reproducer + "/README");
  ASSERT_TRUE(bool(readme));
  EXPECT_THAT(*readme, HasSubstr("attune harness problem.json "
                                 "--sizes='m=8,n=16,k=8' "
                                 "--expert=single_tiling.mlir"));
  EXPECT_TRUE(bool(readProblem(result->reproducer + "/problem.json")));
  EXPECT_TRUE(bool(Expert::read(result->reproducer + "/single_tiling.mlir")));
}

TEST_F(HarnessTest, aModuleThatIsWrongNamesTheProblem) {
  Problem problem;
  problem.name = "mine";
  problem.dimensions = {{"n"}};
  problem.inputs = {{"A", "n"}};
  problem.outputs = {{"B", "n"}};
  problem.body = "%B = unknown.op %A : $A";
  EXPECT_THAT(messageOf(harness->runUntuned({problem, {{"n", 8}}}, quick)),
              HasSubstr("problem 'mine' with n=8: the module it builds is "
                        "wrong:2"));
}

TEST_F(HarnessTest, bothFormsOfAnExpertLandInTheSameDatabase) {
  auto folder = TemporaryFolder::create();
  ASSERT_TRUE(bool(folder));
  auto database = Database::inMemory();
  ASSERT_TRUE(bool(database));
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  llvm::cantFail(expert.write(folder->getPath()));
  auto read = Expert::read(folder->file("single_tiling.mlir"));
  ASSERT_TRUE(bool(read));
  ProblemCase problemCase = matmul(16, 32, 16);
  size_t reused = 0;
  for (const Expert &form : {expert, *read}) {
    auto space = harness->space(problemCase, form);
    ASSERT_TRUE(bool(space));
    auto searcher = createSearcher("random", space->space, 3);
    ASSERT_TRUE(bool(searcher));
    auto tuning =
        harness->tune(problemCase, form, **searcher, 3, quick, &*database);
    ASSERT_TRUE(bool(tuning)) << llvm::toString(tuning.takeError());
    EXPECT_EQ(tuning->results.size(), 3u);
    EXPECT_TRUE(tuning->best.has_value());
    EXPECT_EQ(tuning->reused, reused);
    reused += 3;
  }
  auto summary = database->summarize();
  ASSERT_TRUE(bool(summary));
  EXPECT_EQ(summary->trials, 6);
  EXPECT_EQ(summary->dispatches, 1);
  EXPECT_EQ(summary->configurations, 6);
}

TEST(HarnessWorkers, runInProcessesOfTheirOwn) {
  auto harness = Harness::create({});
  ASSERT_TRUE(bool(harness)) << llvm::toString(harness.takeError());
  RunOptions options;
  options.iterations = 2;
  ProblemCase problemCase{llvm::cantFail(findProblem("matmul")),
                          {{"m", 16}, {"n", 16}, {"k", 16}}};
  Expert expert = llvm::cantFail(findExpert("single_tiling"));
  auto result = (*harness)->run(problemCase, expert, options);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::Ok) << result->reason;
  EXPECT_EQ(result->seconds.size(), 2u);
}

TEST(HarnessWorkers, aCrashIsAnOutcomeAndTheNextRunIsFine) {
  auto harness = Harness::create({});
  ASSERT_TRUE(bool(harness)) << llvm::toString(harness.takeError());
  Problem problem;
  problem.name = "quotient";
  problem.dimensions = {{"n"}};
  problem.inputs = {{"A", "n"}, {"D", "n"}};
  problem.outputs = {{"B", "n"}};
  problem.type = ElementType::I32;
  problem.body = "%B = linalg.div ins(%A, %D : $A, $D) outs(%B.empty : $B) "
                 "-> $B";
  RunOptions options;
  options.iterations = 2;
  options.check = false;
  Tensor zeros = Tensor::zeros(ElementType::I32, {4}), ones = zeros;
  for (int64_t i = 0; i < 4; ++i)
    ones.setInteger(i, 1);
  options.inputs = {ones, zeros};
  auto crashed = (*harness)->runUntuned({problem, {{"n", 4}}}, options);
  ASSERT_TRUE(bool(crashed)) << llvm::toString(crashed.takeError());
  EXPECT_EQ(crashed->outcome, Outcome::Crash) << crashed->reason;
  EXPECT_THAT(crashed->reason, HasSubstr("SIGFPE"));
  options.inputs = {ones, ones};
  auto fine = (*harness)->runUntuned({problem, {{"n", 4}}}, options);
  ASSERT_TRUE(bool(fine)) << llvm::toString(fine.takeError());
  EXPECT_EQ(fine->outcome, Outcome::Ok) << fine->reason;
}

TEST(HarnessWorkers, aProgramThatDoesNotEndInTimeIsEnded) {
  auto harness = Harness::create({});
  ASSERT_TRUE(bool(harness)) << llvm::toString(harness.takeError());
  RunOptions options;
  options.iterations = 2;
  options.check = false;
  options.timeoutSeconds = 0.3;
  Problem problem;
  problem.name = "endless";
  problem.dimensions = {{"n"}};
  problem.inputs = {{"A", "n"}};
  problem.outputs = {{"B", "n"}};
  // Some 10^12 dependent multiplications.
  problem.body = R"(
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %many = arith.constant 1000000000000 : index
    %B = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]} ins(%A : $A) outs(%B.empty : $B) {
    ^bb0(%a: $type, %o: $type):
      %r = scf.for %i = %c0 to %many step %c1 iter_args(%x = %a) -> ($type) {
        %y = arith.mulf %x, %a : $type
        %z = math.sin %y : $type
        scf.yield %z : $type
      }
      linalg.yield %r : $type
    } -> $B)";
  auto result = (*harness)->runUntuned({problem, {{"n", 4}}}, options);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::RunTimeout) << result->reason;
}

TEST(HarnessResults, quantilesGoFromTheSlowestToTheFastest) {
  HarnessResult result;
  result.flops = 2e9;
  result.bytes = 4e9;
  for (int i = 1; i <= 101; ++i)
    result.seconds.push_back(i);
  EXPECT_DOUBLE_EQ(result.secondsAt(0), 101);
  EXPECT_DOUBLE_EQ(result.secondsAt(1), 100);
  EXPECT_DOUBLE_EQ(result.secondsAt(50), 51);
  EXPECT_DOUBLE_EQ(result.secondsAt(99), 2);
  EXPECT_DOUBLE_EQ(result.secondsAt(100), 1);
  EXPECT_DOUBLE_EQ(result.gflops(100), 2);
  EXPECT_DOUBLE_EQ(result.gbytes(100), 4);
  EXPECT_EQ(HarnessResult().gflops(), 0);
}

TEST(HarnessResults, tablesForPrograms) {
  HarnessResult result;
  result.problem = "matmul";
  result.sizes = {{"m", 1}, {"n", 2}};
  result.outcome = Outcome::Crash;
  result.reason = "it said \"no\", and died";
  std::string csv = toCSV({result});
  EXPECT_THAT(csv, HasSubstr("\nmatmul,,,f32,\"m=1,n=2\",,1,,crash,\"it said "
                             "\"\"no\"\", and died\",false,0,0,,,,"));
  auto json = llvm::json::parse(toJSONText({result}));
  ASSERT_TRUE(bool(json));
  EXPECT_EQ(json->getAsObject()->getInteger("version"), 1);
  EXPECT_THAT(toTable({result}), HasSubstr("crash: it said"));
}

} // namespace
