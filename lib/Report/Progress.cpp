//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Report/Progress.h"

#include "attune/Report/Report.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attune;

static constexpr double terminalSeconds = 0.1;
static constexpr double lineSeconds = 30;

/// `1:05`, `1:02:05`.
static std::string formatClock(double seconds) {
  int64_t whole = seconds > 0 ? static_cast<int64_t>(seconds) : 0;
  std::string text = formatv("{0}:{1,0+2}", whole / 60, whole % 60);
  if (whole >= 3600)
    text = formatv("{0}:{1,0+2}:{2,0+2}", whole / 3600, whole / 60 % 60,
                   whole % 60);
  return text;
}

std::string attune::formatProgress(const ProgressState &state,
                                   unsigned columns) {
  std::string start = state.stage;
  if (state.dispatchCount > 0)
    start += formatv(" {0}/{1}", state.dispatchNumber, state.dispatchCount);
  std::string rest;
  if (!state.dispatch.empty()) {
    rest =
        formatv("  {0} trial{1}", state.trials, state.trials == 1 ? "" : "s");
    if (state.failures > 0)
      rest += formatv(" ({0} failed)", state.failures);
    if (state.bestSpeedup > 0)
      rest += "  best " + formatSpeedup(state.bestSpeedup);
  }
  rest += "  " + formatClock(state.elapsedSeconds);
  if (state.budgetSeconds > 0)
    rest += " of " + formatClock(state.budgetSeconds);
  // The name gives way: the numbers are what changes.
  size_t taken = textWidth(start) + textWidth(rest) + 1;
  std::string name =
      columns > taken ? fitText(state.dispatch, columns - taken) : "";
  if (!name.empty())
    start += " " + name;
  return fitText(start + rest, columns);
}

Progress::Progress(raw_ostream &out, Style style, Clock &clock,
                   unsigned columns)
    : out(out), style(style), clock(clock), columns(columns) {}

Progress::~Progress() { finish(); }

Progress::Style Progress::styleFor(raw_ostream &out) {
  return out.is_displayed() ? Style::Terminal : Style::Lines;
}

void Progress::erase() {
  if (shown.empty())
    return;
  out << "\r" << std::string(textWidth(shown), ' ') << "\r";
  shown.clear();
}

void Progress::update(const ProgressState &state) {
  if (style == Style::Quiet)
    return;
  std::string topic = state.stage + "\n" + state.dispatch;
  double interval = style == Style::Terminal ? terminalSeconds : lineSeconds;
  double now = clock.now();
  if (topic == lastTopic && now - lastAt < interval)
    return;
  lastTopic = std::move(topic);
  lastAt = now;
  std::string line = formatProgress(state, columns);
  if (style == Style::Lines) {
    out << line << "\n";
    out.flush();
    return;
  }
  erase();
  out << line;
  out.flush();
  shown = std::move(line);
}

void Progress::note(StringRef message) {
  std::string line = std::move(shown);
  shown = line;
  erase();
  out << message << "\n";
  if (style == Style::Terminal && !line.empty()) {
    out << line;
    shown = std::move(line);
  }
  out.flush();
}

void Progress::finish() {
  erase();
  out.flush();
}
