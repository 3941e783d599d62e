//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// log.jsonl: what log.txt says, for programs.

#include "Shared.h"
#include "attune/Report/Report.h"

using namespace llvm;
using namespace attune;

static constexpr size_t maximumBytes = 900 << 10;
static constexpr size_t maximumColumns = 300;

/// The best after 1, 2, 5, 10, 20, ... trials, and after the last: `[[1, 1.0],
/// ...]`.
static json::Array thinCurve(const std::vector<double> &best) {
  json::Array curve;
  auto add = [&](size_t trials) {
    double value = best[trials - 1];
    curve.push_back(json::Array{static_cast<int64_t>(trials),
                                std::isfinite(value) ? json::Value(value)
                                                     : json::Value(nullptr)});
  };
  size_t last = 0;
  for (size_t power = 1; power <= best.size(); power *= 10)
    for (size_t step : {1, 2, 5})
      if (power * step <= best.size())
        add(last = power * step);
  if (last < best.size())
    add(best.size());
  return curve;
}

static std::string line(StringRef kind, json::Object object) {
  object["kind"] = kind;
  return formatv("{0}\n", json::Value(std::move(object))).str();
}

/// A dispatch, and a line for each kind of failure.
static std::string dispatchLines(const DispatchReport &dispatch,
                                 json::Object object) {
  json::Array failures;
  if (json::Array *list = object.getArray("failures"))
    failures = std::move(*list);
  object.erase("failures");
  object.erase("bestSpeedupAfterTrial");
  object["best"] = thinCurve(dispatch.bestSpeedupAfterTrial);
  std::string text = line("dispatch", std::move(object));
  for (json::Value &failure : failures)
    if (json::Object *example = failure.getAsObject()) {
      (*example)["dispatch"] = json::fixUTF8(dispatch.name);
      // The full text is in the example's file.
      if (auto reason = example->getString("reason"))
        (*example)["reason"] = fitText(*reason, maximumColumns);
      text += line("failure", std::move(*example));
    }
  return text;
}

void attune::printLogLines(const SessionReport &report, raw_ostream &out) {
  json::Value value = summaryJSON(report);
  json::Object &all = *value.getAsObject();
  json::Array dispatches = std::move(*all.getArray("dispatches"));
  json::Object closing;
  for (StringRef key : {"entries", "program", "stopReason", "elapsedSeconds"}) {
    closing[key] = std::move(*all.get(key));
    all.erase(key);
  }
  if (report.isRunning)
    closing = json::Object{{"running", true},
                           {"elapsedSeconds", report.elapsedSeconds}};
  all.erase("dispatches");
  std::string text = line("session", std::move(all));
  std::string end = line("summary", std::move(closing));
  size_t written = 0;
  for (const auto &[dispatch, object] :
       zip_equal(report.dispatches, dispatches)) {
    std::string block =
        dispatchLines(dispatch, std::move(*object.getAsObject()));
    if (text.size() + block.size() + end.size() > maximumBytes)
      break;
    text += block;
    ++written;
  }
  if (written < report.dispatches.size())
    text += line(
        "leftOut",
        json::Object{{"dispatches", static_cast<int64_t>(
                                        report.dispatches.size() - written)}});
  out << text << end;
}
