//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What is right is known from the program as it was imported: a bug in our own
// clean-up or fusion shows, because the reference has not been through them.

#include "Faults.h"
#include "attune/Backend/Cpu.h"
#include "attune/Import/Inputs.h"
#include "attune/Measure/Executor.h"
#include "attune/Support/Files.h"

using namespace attune;

static const char *const model = R"(
#row = affine_map<(i, j) -> (j)>
#id = affine_map<(i, j) -> (i, j)>
module {
  func.func @main(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<4xf32>)
      -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<8x4xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
    %p = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>)
        outs(%z : tensor<8x4xf32>) -> tensor<8x4xf32>
    %y = linalg.generic {indexing_maps = [#id, #row, #id],
                         iterator_types = ["parallel", "parallel"]}
        ins(%p, %c : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%in: f32, %bias: f32, %out: f32):
      %sum = arith.addf %in, %bias : f32
      %max = arith.maximumf %sum, %zero : f32
      linalg.yield %max : f32
    } -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
}
)";

namespace {
class ReferenceTest : public testing::Test {
protected:
  ReferenceTest() : folder(llvm::cantFail(TemporaryFolder::create())) {
    llvm::cantFail(writeFile(folder.file("model.mlir"), model));
    CpuOptions options;
    options.model = folder.file("model.mlir");
    options.target = Target::host();
    options.workFolder = folder.getPath();
    backend = llvm::cantFail(CpuBackend::create(options));
  }

  /// The untuned program, after clean-up and fusion, against the reference.
  Measurement check() {
    LocalExecutor executor(llvm::cantFail(findRunner()));
    RunJob run;
    run.library = llvm::cantFail(backend->buildProgram(Build::Reference));
    MeasureJob job;
    job.candidate = llvm::cantFail(backend->buildProgram(Build::Baseline));
    job.timing.minRepetitions = 0;
    for (const TensorType &type : backend->entries()[0].inputs) {
      std::string path =
          folder.file("in" + std::to_string(job.inputs.size()) + ".npy");
      llvm::cantFail(
          writeNpy(path, makeRandom(type.type, type.shape, job.inputs.size())));
      job.inputs.push_back(path);
    }
    run.inputs = job.inputs;
    run.outputs = job.references = {folder.file("reference.npy")};
    job.tolerances = {{1e-4, 1e-4}};
    EXPECT_EQ(llvm::cantFail(executor.run(run, {})).reason, "");
    return llvm::cantFail(executor.measure(job, {}));
  }

  TemporaryFolder folder;
  std::unique_ptr<CpuBackend> backend;
};
} // namespace

TEST_F(ReferenceTest, TheUntunedProgramAgrees) {
  EXPECT_EQ(check().reason, "");
}

FAULT_TEST_F(ReferenceTest, ABugInFusionIsCaught, "Results",
             "a bug in our own clean-up or fusion",
             "the fused program subtracts where the model adds", "wrongResult",
             "output 0: ... is ..., not ...") {
  // What fusion made, before it is compiled.
  std::string path = folder.file("dispatched.mlir");
  std::string fused = llvm::cantFail(readFile(path));
  size_t sum = fused.rfind("arith.addf");
  ASSERT_NE(sum, std::string::npos) << fused;
  fused.replace(sum, 10, "arith.subf");
  llvm::cantFail(writeFile(path, fused));
  Measurement result = check();
  expectFault(toString(result.outcome), result.reason);
}
