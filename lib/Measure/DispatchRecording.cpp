//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DispatchRecording.h"

#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

using namespace attune;
using llvm::Error;
using llvm::Expected;
namespace json = llvm::json;

/// 3.7 GB of events; a program with more of them in one run is none to profile
/// like this.
static constexpr int64_t maximumCapacity = int64_t(1) << 26;
static constexpr size_t maximumKept = 100'000;
static constexpr unsigned repetitionsKept = 4096;

DispatchRecording::DispatchRecording(Library &library, const RunJob &job)
    : library(library), job(job) {
  size_t count = library.getSignature().dispatches.size();
  seconds.resize(count);
  calls.resize(count);
  counters.resize(job.counters ? count * ATTUNE_MAX_COUNTERS : 0);
}

DispatchRecording::~DispatchRecording() { library.setHooks(nullptr); }

Error DispatchRecording::start() {
  library.setHooks(nullptr);
  recorder.reset();
  auto created = library.createRecorder(
      capacity,
      job.counters ? Library::Counters::Hardware : Library::Counters::Off);
  if (!created)
    return created.takeError();
  recorder.emplace(std::move(*created));
  library.setHooks(recorder->hooks());
  return Error::success();
}

void DispatchRecording::keep(const AttuneEvent &event) {
  if (!job.events.empty() && kept.size() < maximumKept)
    kept.push_back(event);
}

void DispatchRecording::add(const AttuneEvent &event) {
  if (event.dispatch < 0 ||
      static_cast<size_t>(event.dispatch) >= seconds.size())
    return;
  current[event.dispatch] += 1e-9 * (event.end - event.begin);
  calls[event.dispatch] += 1;
  for (int i = 0; job.counters && i < ATTUNE_MAX_COUNTERS; ++i)
    counters[event.dispatch * ATTUNE_MAX_COUNTERS + i] += event.counters[i];
  keep(event);
}

Expected<bool> DispatchRecording::endRepetition(double begin, double end) {
  int64_t lost = 0;
  std::vector<AttuneEvent> events = recorder->take(lost);
  if (lost) {
    if (capacity == maximumCapacity)
      return makeError("more than {0} calls of dispatches in one run",
                       capacity);
    capacity = std::min(maximumCapacity, 2 * (capacity + lost));
    if (Error error = start())
      return std::move(error);
    return false;
  }
  ++repetitions;
  keep({-1,
        0,
        static_cast<int64_t>(1e9 * begin),
        static_cast<int64_t>(1e9 * end),
        {}});
  current.assign(seconds.size(), 0);
  for (const AttuneEvent &event : events)
    add(event);
  for (size_t i = 0; repetitions <= repetitionsKept && i < seconds.size(); ++i)
    seconds[i].push_back(static_cast<float>(current[i]));
  return true;
}

static std::string printEvents(llvm::ArrayRef<AttuneEvent> events,
                               bool withCounters) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const AttuneEvent &event : events) {
    json::Object line{{"dispatch", event.dispatch},
                      {"thread", event.thread},
                      {"beginSeconds", 1e-9 * event.begin},
                      {"endSeconds", 1e-9 * event.end}};
    if (withCounters)
      line["counters"] = json::Array(event.counters);
    out << json::Value(std::move(line)) << '\n';
  }
  return text;
}

Error DispatchRecording::finish(RunResult &result) {
  library.setHooks(nullptr);
  for (std::vector<double> *values : {&calls, &counters})
    for (double &value : *values)
      value /= std::max(1u, repetitions);
  for (const std::vector<float> &each : seconds)
    result.dispatchSeconds.push_back(
        each.empty() ? 0
                     : median(std::vector<double>(each.begin(), each.end())));
  result.dispatchCalls = std::move(calls);
  result.dispatchCounters = std::move(counters);
  if (job.events.empty())
    return Error::success();
  return writeFile(job.events, printEvents(kept, job.counters));
}
