//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Libraries of the C interface from a few lines of C, and an executor for them.

#ifndef ATTUNE_UNITTESTS_MEASURE_PROGRAMS_H
#define ATTUNE_UNITTESTS_MEASURE_PROGRAMS_H

#include "attune/Measure/Executor.h"
#include "gtest/gtest.h"

namespace attune {

/// What every library of the C interface has; BODY computes out[0..15] from
/// in[0..15] and may do anything.
inline const char *const prelude = R"(
#include "attune/Runtime/program.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static AttuneHooks hooks;
static int checked, calls;
int attune_create(int32_t v, AttuneProgram **p) { *p = (void *)&hooks; return CREATE; }
void attune_destroy(AttuneProgram *p) {}
void attune_release(AttuneProgram *p, AttuneTensor *o) { free(o->data); o->data = 0; }
const char *attune_error(const AttuneProgram *p) { return "it did not want to"; }
void attune_set_hooks(AttuneProgram *p, const AttuneHooks *h) {
  if (h) hooks = *h; else memset(&hooks, 0, sizeof hooks);
}
void attune_set_checked(AttuneProgram *p, int on) { checked = on; }
int attune_prepack(AttuneProgram *p, const char *e, const AttuneTensor *i, int64_t n) { return 0; }
int attune_fail_create(const char *format, ...) { return 1; }
const char *attune_signature(void) {
  return "{\"version\":1,\"entries\":[{\"name\":\"main\",\"inputs\":[{\"type\":\"16xf32\"}],"
         "\"outputs\":[{\"type\":\"" OUTPUT "\"}]}],\"dispatches\":[\"first\",\"second\"]}";
}
int attune_run(AttuneProgram *p, const char *e, const AttuneTensor *i, int64_t ni,
               AttuneTensor *o, int64_t no) {
  float *in = i[0].data, *out = o[0].data;
  calls++;
  BODY
  return 0;
}
)";

inline const char *const good =
    "for (int k = 0; k < 16; ++k) out[k] = in[k] + 1;";

class MeasureTest : public testing::Test {
protected:
  MeasureTest()
      : folder(llvm::cantFail(TemporaryFolder::create())),
        executor(ATTUNE_RUNNER) {
    ::setenv("TMPDIR", folder.getPath().c_str(), 1);
    Tensor input = Tensor::zeros(ElementType::F32, {16});
    Tensor output = input;
    for (int i = 0; i < 16; ++i) {
      input.set(i, i);
      output.set(i, i + 1);
    }
    llvm::cantFail(writeNpy(folder.file("in.npy"), input));
    llvm::cantFail(writeNpy(folder.file("ref.npy"), output));
    job.inputs = {folder.file("in.npy")};
    job.references = {folder.file("ref.npy")};
    job.tolerances = {{1e-6, 1e-6}};
    job.timing.minSeconds = 0.002;
    job.timing.minRepetitions = 5;
    limits.wallSeconds = 20;
  }

  ~MeasureTest() override { ::unsetenv("TMPDIR"); }

  std::string library(const std::string &body,
                      const std::string &output = "16xf32", int create = 0) {
    std::string name = "lib" + std::to_string(count++);
    llvm::cantFail(writeFile(folder.file(name + ".c"),
                             "#define CREATE " + std::to_string(create) +
                                 "\n#define OUTPUT \"" + output +
                                 "\"\n#define BODY " + body + "\n" + prelude));
    ProcessOptions cc;
    cc.arguments = {ATTUNE_TEST_CC,
                    "-O1",
                    "-w",
                    "-fPIC",
                    "-shared",
                    "-I" ATTUNE_SOURCE_DIR "/include",
                    folder.file(name + ".c"),
                    ATTUNE_SOURCE_DIR "/lib/Runtime/recorder.c",
                    ATTUNE_SOURCE_DIR "/lib/Runtime/perf.c",
                    "-o",
                    folder.file(name + ".so")};
    ProcessResult result = llvm::cantFail(runProcess(cc, 60));
    EXPECT_TRUE(result.end.succeeded()) << result.output;
    return folder.file(name + ".so");
  }

  Measurement measure(const std::string &candidate) {
    job.candidate = candidate;
    llvm::Expected<Measurement> result = executor.measure(job, limits);
    if (result)
      return std::move(*result);
    Measurement failed;
    failed.reason = "error: " + llvm::toString(result.takeError());
    return failed;
  }

  /// A candidate that fails must not keep the next from being measured.
  void expectNextIsFine() { EXPECT_EQ(measure(library(good)).reason, ""); }

  TemporaryFolder folder;
  LocalExecutor executor;
  MeasureJob job;
  Limits limits;
  int count = 0;
};

} // namespace attune

#endif // ATTUNE_UNITTESTS_MEASURE_PROGRAMS_H
