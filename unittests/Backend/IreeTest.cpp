//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The backend with tools that are shell scripts: every way in which IREE's may
// fail.

#include "attune/Backend/Iree.h"
#include "attune/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;

namespace {

class IreeTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create();
    ASSERT_TRUE(bool(created));
    folder.emplace(std::move(*created));
    ASSERT_FALSE(bool(createFolder(folder->file("bin"))));
    ASSERT_FALSE(bool(createFolder(folder->file("work"))));
    ASSERT_FALSE(bool(writeFile(folder->file("mm.mlir"),
                                "func.func @mm(%a: tensor<2xf32>) -> "
                                "tensor<2xf32> {\n")));
    ASSERT_FALSE(bool(writeNpy(folder->file("right.npy"),
                               Tensor::zeros(ElementType::F32, {2}))));
    write("iree-opt", "exit 0");
    write("iree-profile", "exit 0");
    write("iree-run-module", runScript("right.npy"));
    write("iree-benchmark-module",
          "echo '{\n\"benchmarks\": [{\"real_time\": 2.0, \"time_unit\": "
          "\"ms\"}]\n}'");
    compiler("");
  }

  void write(llvm::StringRef name, llvm::StringRef script) {
    std::string path = folder->file("bin/" + name.str());
    ASSERT_FALSE(bool(writeFile(path, ("#!/bin/sh\n" + script + "\n").str())));
    ASSERT_FALSE(
        bool(llvm::sys::fs::setPermissions(path, llvm::sys::fs::all_all)));
  }

  std::string runScript(llvm::StringRef result) {
    return "for a; do case $a in --output=@*) cp " +
           folder->file(result.str()) + " ${a#--output=@};; esac; done";
  }

  /// `withSpec` is what it does when there is a spec; $config is the one asked
  /// for, which arrives unless it is changed.
  void compiler(llvm::StringRef withSpec,
                llvm::StringRef version = "3.13.0 @ 1234") {
    write("iree-compile",
          ("if [ \"$1\" = --version ]; then echo 'IREE compiler version " +
           version +
           R"x('; exit 0; fi
config='#iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 8, 0], vector_reduction = [0, 0, 8]>'
own=$config
while [ $# -gt 0 ]; do
  case $1 in
    -o) out=$2; shift;;
    --iree-hal-dump-executable-configurations-to=*) dump=${1#*=};;
    --iree-codegen-tuning-spec-path=*) spec=${1#*=};;
  esac
  shift
done
if [ -n "$spec" ]; then
  config=$(grep -o '#iree_cpu.lowering_config<[^>]*>' $spec)
  )x" + withSpec +
           R"x(
  :
fi
echo library > $out
[ -n "$dump" ] || exit 0
cat > $dump/a.mlir <<END
func.func @mm_dispatch_0() attributes {translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
%7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%3, %4 : tensor<256x256xf32>, tensor<256x256xf32>) outs(%6 : tensor<256x256xf32>) attrs =  {lowering_config = $config} {
END
[ -e ${0%bin/*}twice ] && cp $dump/a.mlir $dump/b.mlir
exit 0)x")
              .str());
  }

  llvm::Expected<std::unique_ptr<IreeBackend>> load(double limit = 20) {
    auto tools = IreeTools::find(folder->file("bin"));
    if (!tools)
      return tools.takeError();
    IreeOptions options;
    options.model = folder->file("mm.mlir");
    options.workFolder = folder->file("work");
    options.tools = std::move(*tools);
    options.compileSeconds = limit;
    options.flags = flags;
    options.runFlags = runFlags;
    auto backend = IreeBackend::create(std::move(options));
    if (!backend)
      return backend.takeError();
    Tensor input = Tensor::zeros(ElementType::F32, {2});
    if (llvm::Error error = (*backend)->prepare({input}))
      return std::move(error);
    return backend;
  }

  std::string errorOfLoading() {
    auto backend = load();
    return backend ? "" : llvm::toString(backend.takeError());
  }

  /// What becomes of the default configuration.
  CompiledCandidate candidate(double limit = 20) {
    auto backend = load(limit);
    if (!backend) {
      ADD_FAILURE() << llvm::toString(backend.takeError());
      return {};
    }
    const BackendDispatch &dispatch = (*backend)->dispatches().front();
    auto spaces = (*backend)->spaces(dispatch);
    if (!spaces) {
      ADD_FAILURE() << llvm::toString(spaces.takeError());
      return {};
    }
    auto compiled = (*backend)->compileCandidates(
        dispatch, {spaces->front().defaultConfiguration});
    EXPECT_TRUE(bool(compiled));
    return compiled->front();
  }

  std::optional<TemporaryFolder> folder;
  std::vector<std::string> flags, runFlags; ///< The user's.
};

TEST_F(IreeTest, AConfigurationThatArrivesIsOk) {
  CompiledCandidate result = candidate();
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
}

TEST_F(IreeTest, AMissingToolIsNamedWithWhatToInstall) {
  llvm::sys::fs::remove(folder->file("bin/iree-run-module"));
  std::string error = errorOfLoading();
  EXPECT_THAT(error, HasSubstr("iree-run-module was not found"));
  EXPECT_THAT(error, HasSubstr("pip install iree-base-compiler"));
}

TEST_F(IreeTest, AnOldVersionIsRefused) {
  compiler("", "3.2.1 @ 1234");
  EXPECT_THAT(errorOfLoading(), HasSubstr("3.2.1, which is too old"));
}

TEST_F(IreeTest, ACompilerWithoutVersionIsRefused) {
  write("iree-compile", "exit 0");
  EXPECT_THAT(errorOfLoading(), HasSubstr("no version in what it prints"));
}

TEST_F(IreeTest, NoMatchIsRejected) {
  compiler("config=$(echo $own | sed s/64/32/)");
  CompiledCandidate result = candidate();
  EXPECT_EQ(result.outcome, Outcome::Rejected);
  EXPECT_THAT(result.reason, HasSubstr("arrived in 0 of 1"));
}

TEST_F(IreeTest, ACrashOfTheCompilerIsThatCandidates) {
  compiler("kill -SEGV $$");
  CompiledCandidate result = candidate();
  EXPECT_EQ(result.outcome, Outcome::CompileError);
  EXPECT_THAT(result.reason, HasSubstr("SIGSEGV"));
}

TEST_F(IreeTest, AnErrorOfTheCompilerIsOneLine) {
  compiler("echo 'm.mlir:1:2: error: no' >&2; echo IR >&2; exit 1");
  CompiledCandidate result = candidate();
  EXPECT_EQ(result.outcome, Outcome::CompileError);
  EXPECT_THAT(result.reason, HasSubstr("m.mlir:1:2: error: no"));
}

TEST_F(IreeTest, AnEndlessCompilationIsStopped) {
  compiler("sleep 1000");
  EXPECT_EQ(candidate(/*limit=*/6).outcome, Outcome::CompileTimeout);
}

TEST_F(IreeTest, ABenchmarkWithoutATimeIsAnError) {
  write("iree-benchmark-module", "echo nothing");
  EXPECT_THAT(errorOfLoading(), HasSubstr("iree-benchmark-module"));
}

TEST_F(IreeTest, ACrashOfTheProgramIsAnError) {
  write("iree-run-module", "kill -SEGV $$");
  EXPECT_THAT(errorOfLoading(), HasSubstr("iree-run-module: SIGSEGV"));
}

TEST_F(IreeTest, WrongResultsAreFound) {
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  Tensor wrong = Tensor::zeros(ElementType::F32, {2});
  wrong.set(1, 3);
  ASSERT_FALSE(bool(writeNpy(folder->file("wrong.npy"), wrong)));
  write("iree-run-module", runScript("wrong.npy"));
  MeasureJob job;
  job.candidate = "candidate.vmfb";
  auto result = (*backend)->createExecutor()->measure(job, Limits());
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->outcome, Outcome::WrongResult);
}

TEST_F(IreeTest, ASpecIsWrittenOnlyWhenItWon) {
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  std::string path = folder->file("flags.txt"),
              specPath = folder->file("spec.mlir");
  const BackendDispatch &dispatch = (*backend)->dispatches().front();
  auto spaces = (*backend)->spaces(dispatch);
  ASSERT_TRUE(bool(spaces));
  Spec spec;
  SpecEntry entry;
  entry.configuration = spaces->front().defaultConfiguration;
  entry.fingerprint = dispatch.fingerprint;
  spec.entries.push_back(entry);
  ASSERT_FALSE(bool((*backend)->writeSpec(spec, path)));
  EXPECT_TRUE(llvm::sys::fs::exists(specPath));
  EXPECT_THAT(*readFile(path), HasSubstr("--iree-codegen-tuning-spec-path="));
  ASSERT_FALSE(bool((*backend)->writeSpec(Spec(), path)));
  EXPECT_FALSE(llvm::sys::fs::exists(specPath));
  EXPECT_THAT(*readFile(path), HasSubstr("--iree-opt-level="));
}

TEST_F(IreeTest, FlagsOfRunsReachEveryRun) {
  std::string wanted = "case \"$*\" in *--parameters=model=w.irpa*) ;; *) echo "
                       "'error: no parameters' >&2; exit 1;; esac; ";
  write("iree-run-module", wanted + runScript("right.npy"));
  EXPECT_THAT(errorOfLoading(), HasSubstr("no parameters"));
  runFlags = {"--parameters=model=w.irpa"};
  EXPECT_EQ(errorOfLoading(), "");
}

TEST_F(IreeTest, ASpecOfTheUsersThatIreeRefusesIsAnError) {
  write("iree-opt", "echo \"$1:3:1: error: expected operation name\" >&2; "
                    "exit 1");
  flags = {"--iree-codegen-tuning-spec-path=" + folder->file("mine.mlir")};
  EXPECT_THAT(errorOfLoading(),
              HasSubstr("mine.mlir:3:1: error: expected operation name"));
}

TEST_F(IreeTest, ASpecOfTheUsersComesBeforeOurs) {
  // As the linker does, roughly: what is nested stays.
  write("iree-opt", "in=$1; while [ $# -gt 0 ]; do [ $1 = -o ] && out=$2; "
                    "shift; done; cat $in > $out");
  ASSERT_FALSE(bool(writeFile(folder->file("mine.mlir"), "module @mine {}\n")));
  flags = {"--iree-codegen-tuning-spec-path=" + folder->file("mine.mlir")};
  compiler(
      "grep -q 'module @mine' $spec || exit 1; config=$(tail -n +3 $spec | "
      "grep -o '#iree_cpu.lowering_config<[^>]*>')\n[ -z \"$config\" ] && "
      "config=$own");
  CompiledCandidate result = candidate();
  EXPECT_EQ(result.outcome, Outcome::Ok) << result.reason;
}

TEST_F(IreeTest, WhatTheUsersSpecConfiguresIsLeftAlone) {
  write("iree-opt", "in=$1; while [ $# -gt 0 ]; do [ $1 = -o ] && out=$2; "
                    "shift; done; cat $in > $out");
  ASSERT_FALSE(bool(writeFile(
      folder->file("mine.mlir"),
      "#iree_cpu.lowering_config<distribution = [64, 64, 0], "
      "vector_common_parallel = [8, 8, 0], vector_reduction = [0, 0, 8]>\n")));
  flags = {"--iree-codegen-tuning-spec-path=" + folder->file("mine.mlir")};
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  EXPECT_TRUE((*backend)->dispatches().empty());
  EXPECT_THAT((*backend)->notes(),
              testing::Contains(HasSubstr("1 of what your spec configures")));
}

TEST_F(IreeTest, FlagsOfTheUsersAreNotSetAgain) {
  flags = {"--iree-opt-level=O2"};
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  ASSERT_FALSE(bool((*backend)->writeSpec(Spec(), folder->file("flags.txt"))));
  auto text = readFile(folder->file("flags.txt"));
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(llvm::StringRef(*text).count("--iree-opt-level="), 1u) << *text;
}

TEST_F(IreeTest, TwoDispatchesOfOneNameCountOnce) {
  ASSERT_FALSE(bool(writeFile(folder->file("twice"), "")));
  write("iree-profile",
        "echo '{\"type\":\"host_dispatch_group\",\"key\":\"mm_dispatch_0\","
        "\"count\":2,\"min_ns\":1000000}'");
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  ASSERT_EQ((*backend)->dispatches().size(), 1u);
  EXPECT_EQ((*backend)->dispatches().front().calls, 2);
  RunJob job;
  job.hooks = true;
  auto result = (*backend)->createExecutor()->run(job, Limits());
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_DOUBLE_EQ(result->dispatchSeconds.front(), 0.002);
  EXPECT_DOUBLE_EQ(result->dispatchCalls.front(), 2);
}

TEST_F(IreeTest, TheLeastOfSeveralTimesCounts) {
  write("iree-benchmark-module",
        "echo '{\n\"benchmarks\": [{\"run_type\": \"iteration\", "
        "\"real_time\": 5.0, \"time_unit\": \"ms\"}, {\"run_type\": "
        "\"iteration\", \"real_time\": 3.0, \"time_unit\": \"ms\"}, "
        "{\"run_type\": \"aggregate\", \"real_time\": 1.0, \"time_unit\": "
        "\"ms\"}]\n}'");
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  EXPECT_THAT((*backend)->notes(), testing::Contains(HasSubstr("3.000 ms")));
}

TEST_F(IreeTest, WeightsThatWereLeftOutAreMade) {
  ASSERT_FALSE(bool(writeFile(
      folder->file("mm.mlir"),
      "func.func @mm(%a: tensor<2xf32>) -> tensor<2xf32> {\n  %0 = "
      "arith.constant dense_resource<w> : tensor<3x2xf32>\n{-#\n#-}\n")));
  // The bytecode is the text here.
  write("iree-opt", "in=$1; while [ $# -gt 0 ]; do [ $1 = -o ] && out=$2; "
                    "shift; done; cp $in $out; cp $in " +
                        folder->file("seen.mlir"));
  auto backend = load();
  ASSERT_TRUE(bool(backend)) << llvm::toString(backend.takeError());
  auto seen = readFile(folder->file("seen.mlir"));
  ASSERT_TRUE(bool(seen));
  size_t at = seen->find("w: \"0x40000000");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(seen->find('"', at + 4) - at, 4 + 2 + 8 + 2 * 4 * 6u);
}

} // namespace
