//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A stranger's program is read and fused in a compile worker: what brings it
// down, keeps it for ever or takes all memory ends the worker, and the tuner
// says so. The workers here are scripts that do so whatever the program is.

#include "Faults.h"
#include "attune/Backend/Cpu.h"
#include "attune/Backend/PrepareJob.h"
#include "attune/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"

using namespace attune;
using testing::HasSubstr;

static const char *const model = R"(
func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>)
      outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p : tensor<8x4xf32>
}
)";

namespace {
class PrepareFaults : public testing::Test {
protected:
  PrepareFaults() : folder(llvm::cantFail(TemporaryFolder::create())) {
    options.model = folder.file("model.mlir");
    options.target = Target::host();
    options.workFolder = folder.getPath();
    options.prepareSeconds = 20;
    llvm::cantFail(writeFile(options.model, model));
  }

  /// From now on the compile worker takes a job and does this with it.
  void work(const std::string &what) {
    options.worker = folder.file("worker");
    llvm::cantFail(writeFile(options.worker,
                             "#!/bin/bash\n"
                             "echo '{\"version\":1,\"kind\":\"hello\"}' >&4\n"
                             "read -r line <&3 || exit 0\n"
                             "id=${line#*\\\"id\\\":}; id=${id%%[,\\}]*}\n" +
                                 what + "\n"));
    ASSERT_FALSE(llvm::sys::fs::setPermissions(options.worker,
                                               llvm::sys::fs::perms::all_all));
  }

  /// What creating the backend says; "" when it works.
  std::string load() {
    auto backend = CpuBackend::create(options);
    return backend ? "" : toString(backend.takeError());
  }

  /// Without the name of the file.
  std::string loadedModel() {
    std::string error = load();
    llvm::StringRef text = error;
    EXPECT_TRUE(text.consume_front(options.model)) << error;
    EXPECT_FALSE(text.contains('\n')) << error;
    return "model.mlir" + text.str();
  }

  TemporaryFolder folder;
  CpuOptions options;
};
} // namespace

TEST_F(PrepareFaults, AGoodProgramIsRead) {
  auto backend = llvm::cantFail(CpuBackend::create(options));
  ASSERT_EQ(backend->dispatches().size(), 1u);
  const BackendDispatch &dispatch = backend->dispatches()[0];
  EXPECT_EQ(dispatch.rootOp, "contraction");
  // Of the model, not of what is written between processes.
  EXPECT_EQ(dispatch.location, options.model + ":6");
  ASSERT_EQ(backend->signatures().size(), 1u);
  EXPECT_EQ(backend->signatures()[0].inputs.size(), 2u);
}

TEST_F(PrepareFaults, ADumpedDispatchKeepsItsInputsBesideIt) {
  {
    auto backend = llvm::cantFail(CpuBackend::create(options));
    llvm::cantFail(createFolder(folder.file("dumped")));
    llvm::cantFail(backend->dumpDispatch(
        backend->dispatches()[0], folder.file("dumped/d.mlir"), {"a.npy", ""}));
  }
  options.model = folder.file("dumped/d.mlir");
  auto backend = llvm::cantFail(CpuBackend::create(options));
  const auto &inputs = backend->signatures()[0].inputs;
  EXPECT_EQ(inputs[0].file, folder.file("dumped/a.npy"));
  EXPECT_EQ(inputs[1].file, "");
}

TEST_F(PrepareFaults, ErrorsAreThoseOfTheReader) {
  llvm::cantFail(writeFile(options.model, "module {\n  nonsense\n}\n"));
  EXPECT_THAT(load(), testing::StartsWith(options.model + ":2: "));
  options.model = folder.file("none.mlir");
  EXPECT_EQ(load(), options.model + ": no such file");
}

FAULT_TEST_F(PrepareFaults, Crash, "Programs",
             "the compiler crashes while it reads a program",
             "a worker that dies of SIGSEGV", "error",
             "model.mlir: reading it and forming its dispatches: SIGSEGV ...") {
  work("kill -SEGV $$");
  expectFault("error", loadedModel());
}

FAULT_TEST_F(PrepareFaults, EndlessRewrite, "Programs",
             "reading a program and fusing it never ends",
             "a worker that does not answer", "error",
             "model.mlir: reading it and forming its dispatches: no end within "
             "0.5 s") {
  work("while :; do :; done");
  options.prepareSeconds = 0.5;
  expectFault("error", loadedModel());
}

FAULT_TEST_F(
    PrepareFaults, EndlessMemory, "Programs",
    "reading a program takes all memory", "a worker that keeps an endless line",
    "error",
    "model.mlir: reading it and forming its dispatches: used more than "
    "200 MB of memory") {
  work("tail /dev/zero");
  options.prepareBytes = 200'000'000;
  expectFault("error", loadedModel());
}

FAULT_TEST_F(PrepareFaults, HalfAnAnswer, "Programs",
             "the worker that reads a program lies about it",
             "a worker that answers ok and wrote nothing", "error",
             "...dispatched.mlir...No such file or directory...") {
  work("echo \"{\\\"version\\\":1,\\\"id\\\":$id,\\\"outcome\\\":\\\"ok\\\","
       "\\\"notes\\\":[],\\\"places\\\":{}}\" >&4; read -r line <&3");
  expectFault("error", load());
}

TEST_F(PrepareFaults, AnAnswerWithoutItsFieldsIsAnError) {
  work("echo \"{\\\"version\\\":1,\\\"id\\\":$id,\\\"outcome\\\":\\\"ok\\\"}\" "
       ">&4; read -r line <&3");
  EXPECT_THAT(load(), HasSubstr("needs notes and places"));
}

TEST(PrepareJob, IsTheSameAfterItsJourney) {
  PrepareJob job;
  job.model = "a b.mlir";
  job.folder = "/x";
  job.entry = "main";
  job.imported = "/w/i.mlir";
  job.dispatched = "/w/d.mlir";
  PrepareJob again = llvm::cantFail(prepareJobFromJSON(toJSON(job)));
  EXPECT_EQ(llvm::json::Value(toJSON(again)), llvm::json::Value(toJSON(job)));
  EXPECT_THAT(
      toString(
          prepareJobFromJSON(llvm::json::Object{{"model", "x"}}).takeError()),
      HasSubstr("needs model, imported and dispatched"));
}
