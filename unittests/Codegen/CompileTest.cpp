//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From a program to a library that runs here: compiled in this process, loaded
// into it (which the tuner never does).

#include "attune/Codegen/Compile.h"
#include "attune/Dialect/Attune.h"
#include "attune/Dispatch/Dispatches.h"
#include "attune/Measure/Library.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include <cmath>

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const char *const chain = R"(
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<5xf32>) -> (tensor<5xf32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<5xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.mulf %p, %two : f32
    linalg.yield %v : f32
  } -> tensor<5xf32>
  %se = tensor.empty() : tensor<f32>
  %sf = linalg.fill ins(%zero : f32) outs(%se : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%r : tensor<5xf32>) outs(%sf : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %v = arith.addf %p, %o : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  return %r, %s : tensor<5xf32>, tensor<f32>
}
)";

class CompileTest : public testing::Test {
protected:
  CompileTest()
      : context(registry(), mlir::MLIRContext::Threading::DISABLED),
        folder(cantFail(TemporaryFolder::create())) {
    context.loadAllAvailableDialects();
    options.target = Target::host();
    library = cantFail(
        ScheduleLibrary::load(&context, ATTUNE_SOURCE_DIR "/schedules/cpu"));
    options.library = &*library;
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  Program load(llvm::StringRef text) {
    Program program =
        cantFail(importProgramFromString(context, text, "p.mlir"));
    cantFail(formDispatches(program));
    return program;
  }

  /// The sum that `chain` gives for 1, 2, 3, 4, 5.
  float runChain(const std::string &path) {
    auto opened = cantFail(Library::open(path));
    float values[5] = {1, 2, 3, 4, 5};
    AttuneTensor input = describeTensor(ElementType::F32, {5}, values);
    AttuneTensor outputs[2] = {};
    cantFail(opened->run("main", input, outputs));
    float sum = *static_cast<float *>(outputs[1].data);
    EXPECT_EQ(static_cast<float *>(outputs[0].data)[4], 10);
    for (AttuneTensor &output : outputs)
      opened->release(output);
    return sum;
  }

  std::vector<std::string> filesIn(const std::string &path) {
    std::vector<std::string> names;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(path, code), end;
         it != end && !code; it.increment(code))
      names.push_back(it->path());
    return names;
  }

  mlir::MLIRContext context;
  std::optional<ScheduleLibrary> library;
  CodegenOptions options;
  TemporaryFolder folder;
};

TEST_F(CompileTest, WithAndWithoutSchedulesTheResultIsTheSame) {
  Program program = load(chain);
  std::string path = folder.file("tuned.so");
  ASSERT_FALSE(bool(compileProgram(program, options, path)));
  EXPECT_EQ(runChain(path), 30);
  Program again = load(chain);
  options.library = nullptr;
  path = folder.file("loops.so");
  ASSERT_FALSE(bool(compileProgram(again, options, path)));
  EXPECT_EQ(runChain(path), 30);
  Program reference = load(chain);
  options.reference = true;
  path = folder.file("reference.so");
  ASSERT_FALSE(bool(compileProgram(reference, options, path)));
  EXPECT_EQ(runChain(path), 30);
}

TEST_F(CompileTest, ObjectsAreKeptByContent) {
  options.cacheFolder = folder.file("cache");
  cantFail(createFolder(options.cacheFolder));
  Program program = load(chain);
  size_t count = listDispatches(*program.module).size();
  cantFail(compileProgram(program, options, folder.file("a.so")));
  auto first = filesIn(options.cacheFolder);
  // An object each, and beside it how it was lowered.
  EXPECT_EQ(first.size(), 2 * count);
  Program same = load(chain);
  cantFail(compileProgram(same, options, folder.file("b.so")));
  EXPECT_EQ(filesIn(options.cacheFolder), first);
  Program other = load(chain);
  options.reference = true;
  cantFail(compileProgram(other, options, folder.file("c.so")));
  EXPECT_EQ(filesIn(options.cacheFolder).size(), 4 * count);
  EXPECT_EQ(runChain(folder.file("b.so")), 30);
}

TEST_F(CompileTest, AConfigurationThatCannotBeUsedIsARejection) {
  Program program = load(chain);
  mlir::Builder builder(&context);
  DispatchInfo info = listDispatches(*program.module).front();
  info.function->setAttr(attr::config,
                         ConfigAttr::get(&context, "contraction_packed",
                                         builder.getDictionaryAttr({})));
  llvm::Error error = compileProgram(program, options, folder.file("x.so"));
  ASSERT_TRUE(bool(error));
  EXPECT_TRUE(error.isA<RejectedError>());
  std::string text = llvm::toString(std::move(error));
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_FALSE(llvm::sys::fs::exists(folder.file("x.so")));
}

TEST_F(CompileTest, AScheduleNobodyHasIsNamed) {
  Program program = load(chain);
  mlir::Builder builder(&context);
  listDispatches(*program.module)
      .front()
      .function->setAttr(attr::config,
                         ConfigAttr::get(&context, "no_such_schedule",
                                         builder.getDictionaryAttr({})));
  EXPECT_THAT(
      llvm::toString(compileProgram(program, options, folder.file("x.so"))),
      HasSubstr("there is no schedule 'no_such_schedule'"));
}

TEST_F(CompileTest, AnOutputThatCannotBeWrittenLeavesNothing) {
  Program program = load(chain);
  std::string path = folder.file("nowhere/x.so");
  std::string text = llvm::toString(compileProgram(program, options, path));
  EXPECT_THAT(text, HasSubstr("nowhere/x.so"));
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  EXPECT_TRUE(filesIn(folder.getPath()).empty());
}

TEST_F(CompileTest, HooksNameTheDispatchesOfTheSignature) {
  Program program = load(chain);
  std::vector<std::string> names;
  for (const DispatchInfo &info : listDispatches(*program.module))
    names.push_back(info.name);
  std::string path = folder.file("hooks.so");
  cantFail(compileProgram(program, options, path));
  auto opened = cantFail(Library::open(path));
  EXPECT_EQ(opened->getSignature().dispatches, names);
  std::vector<int> seen;
  AttuneHooks hooks = {
      &seen,
      [](void *user, int32_t i) {
        static_cast<std::vector<int> *>(user)->push_back(i + 1);
      },
      [](void *user, int32_t i) {
        static_cast<std::vector<int> *>(user)->push_back(-(i + 1));
      }};
  opened->setHooks(&hooks);
  float values[5] = {};
  AttuneTensor input = describeTensor(ElementType::F32, {5}, values);
  AttuneTensor outputs[2] = {};
  cantFail(opened->run("main", input, outputs));
  ASSERT_EQ(seen.size(), 2 * names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(seen[2 * i], static_cast<int>(i) + 1);
    EXPECT_EQ(seen[2 * i + 1], -seen[2 * i]);
  }
  for (AttuneTensor &output : outputs)
    opened->release(output);
}

TEST_F(CompileTest, StagesAreShownInOrder) {
  Program program = load(chain);
  std::vector<std::string> stages;
  options.afterStage = [&](llvm::StringRef stage, mlir::Operation *) {
    stages.push_back(stage.str());
  };
  cantFail(compileProgram(program, options, folder.file("s.so")));
  ASSERT_GE(stages.size(), 5u); // of the first dispatch
  stages.resize(5);
  EXPECT_THAT(stages,
              ElementsAre("schedule", "bufferize", "buffers", "loops", "llvm"));
}

} // namespace
