//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Jobs.h"

#include "attune/Support/Error.h"
#include <cmath>

using namespace attune;
using llvm::Expected;
namespace json = llvm::json;

static json::Array toArray(const std::vector<Tolerance> &tolerances) {
  json::Array array;
  for (const Tolerance &tolerance : tolerances)
    array.push_back(json::Array{tolerance.relative, tolerance.absolute});
  return array;
}

json::Object attune::toJSON(const MeasureJob &job) {
  return json::Object{{"kind", "measure"},
                      {"candidate", job.candidate},
                      {"baseline", job.baseline},
                      {"entry", job.entry},
                      {"inputs", job.inputs},
                      {"references", job.references},
                      {"tolerances", toArray(job.tolerances)},
                      {"threads", int64_t(job.threads)},
                      {"minSeconds", job.timing.minSeconds},
                      {"maxSeconds", job.timing.maxSeconds},
                      {"minRepetitions", int64_t(job.timing.minRepetitions)},
                      {"maxRepetitions", int64_t(job.timing.maxRepetitions)},
                      {"loserRatio", job.timing.loserRatio},
                      {"loserPairs", int64_t(job.timing.loserPairs)},
                      {"sampleSeconds", job.timing.sampleSeconds},
                      {"intervalWidth", job.timing.intervalWidth},
                      {"seed", job.timing.seed}};
}

json::Object attune::toJSON(const RunJob &job) {
  return json::Object{{"kind", "run"},
                      {"library", job.library},
                      {"entry", job.entry},
                      {"inputs", job.inputs},
                      {"outputs", job.outputs},
                      {"repetitions", int64_t(job.repetitions)},
                      {"checked", job.checked},
                      {"hooks", job.hooks},
                      {"counters", job.counters},
                      {"events", job.events},
                      {"threads", int64_t(job.threads)}};
}

/// Reads fields; the first that is wrong is the error. Fields that are not
/// there keep their defaults.
namespace {
class Fields {
public:
  Fields(const json::Object &object) : object(object), root("job") {}

  template <typename T> Fields &read(llvm::StringLiteral name, T &out) {
    const json::Value *value = object.get(name);
    if (value && ok)
      ok = fromJSON(*value, out, json::Path(root).field(name));
    return *this;
  }
  Fields &read(llvm::StringLiteral name, unsigned &out) {
    int64_t number = out;
    read(name, number);
    if (ok && (number < 0 || number > 1'000'000'000)) {
      json::Path(root).field(name).report("out of range");
      ok = false;
    }
    out = static_cast<unsigned>(number);
    return *this;
  }
  Fields &read(llvm::StringLiteral name, std::vector<Tolerance> &out) {
    std::vector<std::vector<double>> pairs;
    read(name, pairs);
    for (const std::vector<double> &pair : pairs) {
      if (ok && pair.size() != 2) {
        json::Path(root).field(name).report("expected [relative, absolute]");
        ok = false;
      }
      if (ok)
        out.push_back({pair[0], pair[1]});
    }
    return *this;
  }
  llvm::Error finish() { return ok ? llvm::Error::success() : root.getError(); }

private:
  const json::Object &object;
  json::Path::Root root;
  bool ok = true;
};
} // namespace

Expected<MeasureJob> attune::measureJobFromJSON(const json::Object &object) {
  MeasureJob job;
  llvm::Error error = Fields(object)
                          .read("candidate", job.candidate)
                          .read("baseline", job.baseline)
                          .read("entry", job.entry)
                          .read("inputs", job.inputs)
                          .read("references", job.references)
                          .read("tolerances", job.tolerances)
                          .read("threads", job.threads)
                          .read("minSeconds", job.timing.minSeconds)
                          .read("maxSeconds", job.timing.maxSeconds)
                          .read("minRepetitions", job.timing.minRepetitions)
                          .read("maxRepetitions", job.timing.maxRepetitions)
                          .read("loserRatio", job.timing.loserRatio)
                          .read("loserPairs", job.timing.loserPairs)
                          .read("sampleSeconds", job.timing.sampleSeconds)
                          .read("intervalWidth", job.timing.intervalWidth)
                          .read("seed", job.timing.seed)
                          .finish();
  if (error)
    return std::move(error);
  if (job.candidate.empty())
    return makeError("a measure job without a candidate");
  return job;
}

Expected<RunJob> attune::runJobFromJSON(const json::Object &object) {
  RunJob job;
  llvm::Error error = Fields(object)
                          .read("library", job.library)
                          .read("entry", job.entry)
                          .read("inputs", job.inputs)
                          .read("outputs", job.outputs)
                          .read("repetitions", job.repetitions)
                          .read("checked", job.checked)
                          .read("hooks", job.hooks)
                          .read("counters", job.counters)
                          .read("events", job.events)
                          .read("threads", job.threads)
                          .finish();
  if (error)
    return std::move(error);
  if (job.library.empty())
    return makeError("a run job without a library");
  return job;
}

static json::Object outcomeFields(Outcome outcome, llvm::StringRef reason) {
  json::Object object{{"outcome", toString(outcome)}};
  if (outcome != Outcome::Ok)
    object["reason"] = json::fixUTF8(reason);
  return object;
}

json::Object attune::toJSON(const Measurement &measurement) {
  json::Object object = outcomeFields(measurement.outcome, measurement.reason);
  object["seconds"] = measurement.seconds;
  object["baselineSeconds"] = measurement.baselineSeconds;
  // JSON has no infinity.
  json::Array errors;
  for (double error : measurement.maxErrors)
    errors.push_back(std::isfinite(error) ? error : 1e308);
  object["maxErrors"] = std::move(errors);
  object["stoppedEarly"] = measurement.stoppedEarly;
  return object;
}

json::Object attune::toJSON(const RunResult &result) {
  json::Object object = outcomeFields(result.outcome, result.reason);
  object["seconds"] = result.seconds;
  object["dispatchSeconds"] = result.dispatchSeconds;
  object["dispatchCalls"] = result.dispatchCalls;
  object["dispatchCounters"] = result.dispatchCounters;
  return object;
}
