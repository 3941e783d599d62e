//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// log.txt: what a person reads to find out why.

#include "Shared.h"
#include "attune/Report/Report.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attune;

static constexpr size_t maximumBytes = 900 << 10;
/// A line is for reading; the full text of a failure is in its file.
static constexpr size_t maximumColumns = 300;

static void addLine(std::string &text, const Twine &line) {
  text += fitText(line.str(), maximumColumns);
  text += '\n';
}

static void addHeader(const SessionReport &report, std::string &text) {
  addLine(text, "Attune session of " + formatMoment(report.startedAt));
  addLine(text, "command:  " + report.command);
  addLine(text, "model:    " + report.model);
  addLine(text, formatv("budget:   {0}, seed {1}, threads {2}", report.budget,
                        report.seed, report.threads));
  addLine(text,
          formatv("target:   {0}, {1} cores, vectors of {2} bytes, caches "
                  "of {3} KiB, {4} KiB, {5} KiB",
                  report.target.cpu, report.target.cores,
                  report.target.vectorBytes, report.target.l1Bytes >> 10,
                  report.target.l2Bytes >> 10, report.target.l3Bytes >> 10));
  std::string versions;
  for (const auto &[name, version] : report.versions)
    versions += (versions.empty() ? "" : ", ") + name + " " + version;
  addLine(text, "versions: " + versions);
  for (const std::string &note : report.notes)
    addLine(text, "note:  " + note);
  for (const std::string &warning : report.warnings)
    addLine(text, "warning:  " + warning);
}

/// Speed-up of the best after 1, 2, 5, 10, 20, ... trials.
static std::string describeCurve(const std::vector<double> &best) {
  std::string text;
  auto add = [&](size_t trials) {
    text += formatv("{0}{1} after {2}", text.empty() ? "" : ", ",
                    formatSpeedup(best[trials - 1]), trials)
                .str();
  };
  size_t last = 0;
  for (size_t power = 1; power <= best.size(); power *= 10)
    for (size_t step : {1, 2, 5})
      if (power * step <= best.size())
        add(last = power * step);
  if (last < best.size())
    add(best.size());
  return text;
}

static std::string describeDispatch(const DispatchReport &dispatch) {
  std::string text = "\n";
  addLine(text,
          formatv("{0}: {1} {2}, fingerprint {3}, {4} of the time, {5} call{6}",
                  dispatch.name, dispatch.rootOp, dispatch.shapes,
                  dispatch.fingerprint, formatShare(dispatch.share),
                  dispatch.count, dispatch.count == 1 ? "" : "s"));
  if (!dispatch.selection.empty())
    addLine(text, "  worth: " + dispatch.selection);
  std::string tried = describeCounts(dispatch.trials);
  if (dispatch.trials.total() > 0)
    tried =
        formatv("{0}{1}: {2}", dispatch.trials.total(),
                dispatch.reusedTrials ? formatv(" ({0} from earlier sessions)",
                                                dispatch.reusedTrials)
                                            .str()
                                      : std::string(),
                tried);
  addLine(text, "  tried: " + tried);
  if (dispatch.configuration)
    addLine(text, formatv("  best:  {0} ({1} to {2}), {3} became {4}, with {5}",
                          formatSpeedup(dispatch.speedup.value),
                          formatSpeedup(dispatch.speedup.low),
                          formatSpeedup(dispatch.speedup.high),
                          formatSeconds(dispatch.baselineSeconds),
                          formatSeconds(dispatch.tunedSeconds),
                          toString(*dispatch.configuration)));
  else
    addLine(text, formatv("  best:  the baseline, {0}",
                          formatSeconds(dispatch.baselineSeconds)));
  if (!dispatch.reason.empty())
    addLine(text, "  why:   " + dispatch.reason);
  if (!dispatch.bestSpeedupAfterTrial.empty())
    addLine(text, "  way:   " + describeCurve(dispatch.bestSpeedupAfterTrial));
  for (const FailureExample &failure : dispatch.failures) {
    addLine(text,
            formatv("  {0}: {1}", toString(failure.outcome), failure.reason));
    addLine(text, "    with " + toString(failure.configuration));
    if (!failure.detailPath.empty())
      addLine(text, "    all of it: " + failure.detailPath);
  }
  return text;
}

void attune::printLog(const SessionReport &report, raw_ostream &out) {
  std::string text;
  addHeader(report, text);
  std::string closing = "\n";
  raw_string_ostream closingStream(closing);
  printTable(report, closingStream);
  closingStream << "\n";
  if (report.isRunning)
    closingStream << formatv("running: {0} trials in {1} so far\n",
                             totalTrials(report),
                             formatSeconds(report.elapsedSeconds));
  else
    printClosing(report, closingStream);
  auto dispatches = byShare(report);
  for (size_t i = 0; i < dispatches.size(); ++i) {
    std::string block = describeDispatch(*dispatches[i]);
    if (text.size() + block.size() + closing.size() > maximumBytes) {
      addLine(text, formatv("\n{0} more dispatches are in summary.json",
                            dispatches.size() - i));
      break;
    }
    text += block;
  }
  out << text << StringRef(closing).take_front(maximumBytes);
}
