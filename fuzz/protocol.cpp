//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A line between processes: messages, jobs, and what a library says of itself.
// A job that is read, written and read again is the same job.

#include "attune/Measure/Protocol.h"
#include "Fuzz.h"
#include "attune/Backend/CompileJob.h"
#include "attune/Measure/Jobs.h"
#include "attune/Measure/Library.h"
#include "attune/Search/Trial.h"

using namespace attune;
using namespace attune::fuzz;
namespace json = llvm::json;

template <typename Job>
static void checkJob(const json::Object &object,
                     llvm::Expected<Job> (*read)(const json::Object &)) {
  std::optional<Job> job = accept(read(object));
  if (!job)
    return;
  json::Object written = toJSON(*job);
  std::string line = formatMessage(json::Object(written));
  require(line.find('\n') == line.size() - 1, "a message of several lines");
  json::Object back = mustWork(parseMessage(line), "own message");
  Job again = mustWork(read(back), "own job");
  require(json::Value(toJSON(again)) == json::Value(std::move(written)),
          "a job changes on its way: " + line);
}

static void checkValue(const json::Value &value) {
  if (std::optional<Trial> trial = accept(trialFromJSON(value))) {
    json::Value written = toJSON(*trial);
    Trial again = mustWork(trialFromJSON(written), "own trial");
    require(toJSON(again) == written, "a trial changes on its way");
  }
  accept(targetFromJSON(value));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef line = textOf(data, size);
  accept(signatureFromJSON(line));
  std::optional<json::Object> message = accept(parseMessage(line));
  if (!message)
    return 0;
  checkJob(*message, measureJobFromJSON);
  checkJob(*message, runJobFromJSON);
  checkJob(*message, compileJobFromJSON);
  checkValue(json::Value(std::move(*message)));
  return 0;
}
