//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// report.html: one file that asks nothing of the network and runs no script.

#include "Shared.h"
#include "attune/Report/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace attune;

static constexpr StringLiteral style = R"css(
:root { color-scheme: light dark; --before: #8a94a6; --after: #1f6feb;
  --line: #d0d7de; --soft: #6e7781; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; vertical-align: top;
  border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; white-space: nowrap; }
code { font: 13px ui-monospace, monospace; overflow-wrap: anywhere; }
.big { font-size: 2.2rem; font-weight: 600; } .soft { color: var(--soft); }
.bad { color: #cf222e; font-weight: 600; } .wide { overflow-x: auto; }
details { border-top: 1px solid var(--line); padding: .4rem 0; }
summary { cursor: pointer; } svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
)css";

namespace {
/// Text of anybody, as text.
struct Escaped {
  std::string text;
};
raw_ostream &operator<<(raw_ostream &out, const Escaped &escaped) {
  printHTMLEscaped(json::fixUTF8(escaped.text), out);
  return out;
}
} // namespace

static Escaped escape(const Twine &text) { return {text.str()}; }

//===----------------------------------------------------------------------===//
// Charts
//===----------------------------------------------------------------------===//

static constexpr size_t maximumBars = 20;

/// Share of the untuned program's time before and after, a pair of bars for
/// each dispatch.
static void printBars(const SessionReport &report, raw_ostream &out) {
  auto dispatches = byShare(report);
  if (dispatches.size() > maximumBars)
    dispatches.resize(maximumBars);
  if (dispatches.empty() || !(dispatches[0]->share > 0))
    return;
  constexpr int rowHeight = 34, left = 260, width = 620;
  out << "<svg role=\"img\" viewBox=\"0 0 960 "
      << dispatches.size() * rowHeight + 10
      << "\" aria-label=\"Share of time before and after\">\n";
  int y = 4;
  for (const DispatchReport *dispatch : dispatches) {
    double before = std::isfinite(dispatch->share) ? dispatch->share : 0;
    double gain = dispatch->configuration ? dispatch->speedup.value : 1;
    double after = gain > 0 && std::isfinite(gain) ? before / gain : before;
    double scale = width / std::max(dispatches[0]->share, 1e-12);
    out << formatv("<g><title>{0}: {1} before, {2} after</title>",
                   formatv("{0}", escape(dispatch->name)).str(),
                   formatShare(before), formatShare(after))
        << "<text x=\"" << left - 8 << "\" y=\"" << y + 18
        << "\" text-anchor=\"end\">" << escape(fitText(dispatch->name, 36))
        << "</text>"
        << formatv("<rect x=\"{0}\" y=\"{1}\" width=\"{2:f1}\" height=\"11\" "
                   "fill=\"var(--before)\"/><rect x=\"{0}\" y=\"{3}\" "
                   "width=\"{4:f1}\" height=\"11\" fill=\"var(--after)\"/>",
                   left, y, before * scale, y + 12,
                   std::min(after * scale, 700.0))
        << formatv("<text x=\"{0:f1}\" y=\"{1}\">{2}</text></g>\n",
                   left + std::min(std::max(before, after) * scale, 640.0) + 6,
                   y + 16,
                   dispatch->configuration ? formatSpeedup(gain)
                                           : formatShare(before));
    y += rowHeight;
  }
  out << "</svg>\n<p class=\"soft\">Share of the untuned program's time: grey "
         "before, blue after.</p>\n";
}

/// Speed-up of the best so far over trials, as steps.
static void printCurve(const std::vector<double> &best, raw_ostream &out) {
  constexpr size_t maximumPoints = 300;
  double high = 1.05;
  for (double speedup : best)
    if (std::isfinite(speedup))
      high = std::max(high, speedup);
  if (best.size() < 2)
    return;
  constexpr double left = 50, right = 940, top = 10, bottom = 170;
  auto toX = [&](size_t trial) {
    return left + (right - left) * trial / (best.size() - 1);
  };
  auto toY = [&](double speedup) {
    return bottom - (bottom - top) * std::max(speedup, 0.0) / high;
  };
  out << "<svg role=\"img\" viewBox=\"0 0 960 200\" aria-label=\"Speed-up of "
         "the best over trials\">"
      << formatv("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:f1}\" y2=\"{2:f1}\" "
                 "stroke=\"var(--before)\" stroke-dasharray=\"4 4\"/>",
                 left, right, toY(1))
      << formatv("<text x=\"4\" y=\"{0:f1}\">1.00x</text>", toY(1) + 4)
      << formatv("<text x=\"4\" y=\"{0:f1}\">{1}</text>", top + 4,
                 formatSpeedup(high))
      << formatv("<text x=\"{0}\" y=\"190\" text-anchor=\"end\">{1} trials"
                 "</text>",
                 right, best.size())
      << "<polyline fill=\"none\" stroke=\"var(--after)\" stroke-width=\"2\" "
         "points=\"";
  size_t step = best.size() / maximumPoints + 1;
  double last = 0;
  for (size_t i = 0; i < best.size(); i += step) {
    double value = std::isfinite(best[i]) ? best[i] : last;
    out << formatv("{0:f1},{1:f1} {0:f1},{2:f1} ", toX(i), toY(last),
                   toY(value));
    last = value;
  }
  if (std::isfinite(best.back()))
    last = best.back();
  out << formatv("{0:f1},{1:f1}\"/></svg>\n", right, toY(last));
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

static void printHead(const SessionReport &report, raw_ostream &out) {
  out << "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width\">"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
         "'none'; style-src 'unsafe-inline'\">\n<title>Attune: "
      << escape(report.model) << "</title>\n<style>" << style
      << "</style></head><body>\n<h1>" << escape(report.model) << "</h1>\n";
}

static void printOutcome(const SessionReport &report, raw_ostream &out) {
  const EntryReport &program = report.program;
  out << "<p><span class=\"big\">" << formatSpeedup(program.speedup.value)
      << "</span> as fast: " << formatSeconds(program.baselineSeconds)
      << " before, " << formatSeconds(program.tunedSeconds)
      << " after <span class=\"soft\">(95 % interval "
      << formatSpeedup(program.speedup.low) << " to "
      << formatSpeedup(program.speedup.high) << ")</span></p>\n";
  if (program.outputsAgree)
    out << "<p>Outputs agree with the reference.</p>\n";
  else
    out << "<p class=\"bad\">Outputs differ from the reference. "
        << escape(program.disagreement) << "</p>\n";
  for (const std::string &note : report.notes)
    out << "<p>Note: " << escape(note) << "</p>\n";
  for (const std::string &warning : report.warnings)
    out << "<p><strong>Warning:</strong> " << escape(warning) << "</p>\n";
}

static void printEntries(const SessionReport &report, raw_ostream &out) {
  if (report.entries.size() < 2)
    return;
  out << "<h2>Entries</h2>\n<table><tr><th>entry<th class=\"n\">before<th "
         "class=\"n\">after<th class=\"n\">speed-up<th>outputs</tr>\n";
  for (const EntryReport &entry : report.entries)
    out << "<tr><td>" << escape(entry.name) << "<td class=\"n\">"
        << formatSeconds(entry.baselineSeconds) << "<td class=\"n\">"
        << formatSeconds(entry.tunedSeconds) << "<td class=\"n\">"
        << formatSpeedup(entry.speedup.value) << "<td>"
        << (entry.outputsAgree ? "agree" : "DIFFER") << "</tr>\n";
  out << "</table>\n";
}

static void printDispatchTable(const SessionReport &report, raw_ostream &out) {
  out << "<h2>Dispatches</h2>\n<div class=\"wide\"><table><tr><th>dispatch<th>"
         "root op<th>shape<th class=\"n\">share<th class=\"n\">baseline<th "
         "class=\"n\">tuned<th class=\"n\">speed-up<th>configuration</tr>\n";
  for (const DispatchReport *dispatch : byShare(report)) {
    out << "<tr><td>" << escape(dispatch->name);
    if (dispatch->count > 1)
      out << " <span class=\"soft\">" << dispatch->count << " calls</span>";
    out << "<td>" << escape(dispatch->rootOp) << "<td><code>"
        << escape(dispatch->shapes) << "</code><td class=\"n\">"
        << formatShare(dispatch->share) << "<td class=\"n\">"
        << formatSeconds(dispatch->baselineSeconds) << "<td class=\"n\">"
        << formatSeconds(dispatch->tunedSeconds) << "<td class=\"n\">";
    if (dispatch->configuration)
      out << formatSpeedup(dispatch->speedup.value) << "<td><code>"
          << escape(toString(*dispatch->configuration)) << "</code>";
    else
      out << "no gain<td>" << escape(dispatch->reason);
    out << "</tr>\n";
  }
  out << "</table></div>\n";
}

static void printSearch(const DispatchReport &dispatch, raw_ostream &out) {
  out << "<details><summary>" << escape(dispatch.name) << " <span "
      << "class=\"soft\">" << dispatch.trials.total()
      << " trials: " << escape(describeCounts(dispatch.trials))
      << "</span></summary>\n";
  printCurve(dispatch.bestSpeedupAfterTrial, out);
  out << "<p class=\"soft\">fingerprint <code>" << escape(dispatch.fingerprint)
      << "</code>";
  if (dispatch.reusedTrials)
    out << ", " << dispatch.reusedTrials << " trials from earlier sessions";
  if (!dispatch.reason.empty())
    out << "; " << escape(dispatch.reason);
  out << "</p>\n";
  for (const FailureExample &failure : dispatch.failures) {
    out << "<p>" << toString(failure.outcome)
        << ", for example: " << escape(failure.reason) << "<br><code>"
        << escape(toString(failure.configuration)) << "</code>";
    if (!failure.detailPath.empty())
      out << "<br><span class=\"soft\">" << escape(failure.detailPath)
          << "</span>";
    out << "</p>\n";
  }
  out << "</details>\n";
}

static void printSession(const SessionReport &report, raw_ostream &out) {
  out << "<h2>Session</h2>\n<table>";
  auto row = [&](StringRef name, const Twine &value) {
    out << "<tr><th>" << escape(name) << "<td><code>" << escape(value)
        << "</code></tr>\n";
  };
  row("command", report.command);
  row("began", formatMoment(report.startedAt));
  row("took", formatSeconds(report.elapsedSeconds));
  row("ended", report.stopReason);
  row("budget", report.budget);
  row("seed", Twine(report.seed));
  row("threads", Twine(report.threads));
  row("machine", report.target.cpu + ", " + Twine(report.target.cores) +
                     " cores, " + report.target.features);
  for (const auto &[name, version] : report.versions)
    row(name, version);
  out << "</table>\n</body></html>\n";
}

void attune::printHTML(const SessionReport &report, raw_ostream &out) {
  printHead(report, out);
  printOutcome(report, out);
  printBars(report, out);
  printEntries(report, out);
  printDispatchTable(report, out);
  out << "<h2>Search</h2>\n";
  for (const DispatchReport *dispatch : byShare(report))
    if (dispatch->trials.total())
      printSearch(*dispatch, out);
  printSession(report, out);
}
