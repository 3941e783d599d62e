//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Jobs.h"

#include "attune/Measure/Final.h"
#include "attune/Support/Error.h"
#include <cmath>
#include <limits>

using namespace attune;
using llvm::Expected;
namespace json = llvm::json;

static json::Array toArray(const std::vector<Tolerance> &tolerances) {
  json::Array array;
  for (const Tolerance &tolerance : tolerances)
    array.push_back(json::Array{tolerance.relative, tolerance.absolute});
  return array;
}

MeasureJob attune::makeMeasureJob(llvm::StringRef candidate,
                                  llvm::StringRef baseline,
                                  const CheckedInputs &inputs, unsigned threads,
                                  uint64_t seed) {
  MeasureJob job;
  static_cast<CheckedInputs &>(job) = inputs;
  job.candidate = candidate.str();
  job.baseline = baseline.str();
  job.threads = threads;
  job.timing = searchTiming(std::numeric_limits<double>::infinity(), seed);
  return job;
}

/// The fields of CheckedInputs, added to those of an object.
static json::Object withInputs(json::Object object,
                               const CheckedInputs &inputs) {
  object["inputs"] = inputs.inputs;
  object["references"] = inputs.references;
  object["tolerances"] = toArray(inputs.tolerances);
  return object;
}

json::Object attune::toJSON(const MeasureJob &job) {
  json::Array more;
  for (const CheckedInputs &inputs : job.moreInputs)
    more.push_back(withInputs({}, inputs));
  json::Object object{
      {"kind", "measure"},
      {"candidate", job.candidate},
      {"baseline", job.baseline},
      {"entry", job.entry},
      {"moreInputs", std::move(more)},
      {"threads", int64_t(job.threads)},
      {"minSeconds", job.timing.minSeconds},
      {"maxSeconds", job.timing.maxSeconds},
      {"minRepetitions", int64_t(job.timing.minRepetitions)},
      {"maxRepetitions", int64_t(job.timing.maxRepetitions)},
      {"loserRatio", job.timing.loserRatio},
      {"loserPairs", int64_t(job.timing.loserPairs)},
      {"sampleSeconds", job.timing.sampleSeconds},
      {"intervalWidth", job.timing.intervalWidth},
      {"caches", job.timing.caches == Caches::Hot ? "hot" : "cold"},
      {"seed", job.timing.seed}};
  return withInputs(std::move(object), job);
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
  Fields &read(llvm::StringLiteral name, Caches &out) {
    std::string text = out == Caches::Hot ? "hot" : "cold";
    read(name, text);
    if (ok && text != "hot" && text != "cold") {
      json::Path(root).field(name).report("expected hot or cold");
      ok = false;
    }
    out = text == "cold" ? Caches::Cold : Caches::Hot;
    return *this;
  }
  Fields &read(CheckedInputs &out) {
    return read("inputs", out.inputs)
        .read("references", out.references)
        .read("tolerances", out.tolerances);
  }
  Fields &read(llvm::StringLiteral name, std::vector<CheckedInputs> &out) {
    const json::Array *array = object.getArray(name);
    if (!array)
      return *this;
    for (const json::Value &value : *array) {
      const json::Object *inputs = value.getAsObject();
      if (!inputs) {
        json::Path(root).field(name).report("expected objects");
        ok = false;
        break;
      }
      if (llvm::Error error =
              Fields(*inputs).read(out.emplace_back()).finish()) {
        llvm::consumeError(std::move(error));
        json::Path(root).field(name).report("damaged inputs");
        ok = false;
        break;
      }
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
                          .read(static_cast<CheckedInputs &>(job))
                          .read("moreInputs", job.moreInputs)
                          .read("threads", job.threads)
                          .read("minSeconds", job.timing.minSeconds)
                          .read("maxSeconds", job.timing.maxSeconds)
                          .read("minRepetitions", job.timing.minRepetitions)
                          .read("maxRepetitions", job.timing.maxRepetitions)
                          .read("loserRatio", job.timing.loserRatio)
                          .read("loserPairs", job.timing.loserPairs)
                          .read("sampleSeconds", job.timing.sampleSeconds)
                          .read("intervalWidth", job.timing.intervalWidth)
                          .read("caches", job.timing.caches)
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
  object["cycles"] = measurement.cycles;
  object["baselineCycles"] = measurement.baselineCycles;
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
