//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What `attune tune` prints last.

#include "Shared.h"
#include "attune/Report/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace attune;

static constexpr size_t maximumWidth = 100;
static constexpr size_t maximumRows = 30;
static constexpr StringLiteral columnGap = "  ";

namespace {
enum Column {
  Name,
  RootOp,
  Shape,
  Share,
  Roofline,
  Baseline,
  Tuned,
  Gain,
  ColumnCount
};
using Row = std::array<std::string, ColumnCount>;
} // namespace

static bool isText(size_t column) { return column <= Shape || column == Gain; }

/// `1x200x2x96x32x1x1xf32` as `200x2x96x32xf32`: loops of one turn say little.
static std::string withoutUnitDims(StringRef shape) {
  SmallVector<StringRef> parts;
  shape.split(parts, 'x');
  std::string text;
  for (StringRef part : parts)
    if (part != "1")
      text += (text.empty() ? "" : "x") + part.str();
  return text;
}

static Row makeRow(const DispatchReport &dispatch) {
  std::string gain = formatSpeedup(dispatch.speedup.value);
  if (!dispatch.configuration && dispatch.trials.total() > 0)
    gain = formatv("no gain in {0} trials", dispatch.trials.total());
  else if (!dispatch.configuration)
    gain = dispatch.reason.empty() ? "no gain"
           : dispatch.reason == dispatch.selection
               ? "left out: " + dispatch.reason
               : "no gain: " + dispatch.reason;
  std::string name = dispatch.name;
  if (dispatch.count > 1)
    name = formatv("{0}x {1}", dispatch.count, name);
  return {name,
          dispatch.rootOp,
          withoutUnitDims(dispatch.shapes),
          formatShare(dispatch.share),
          dispatch.overRoofline > 0
              ? formatv("{0:f1}x", std::max(1.0, dispatch.overRoofline)).str()
              : "-",
          formatSeconds(dispatch.baselineSeconds),
          formatSeconds(dispatch.tunedSeconds),
          gain};
}

/// Widths that show all if there is room; else the widest text gives way.
static std::array<size_t, ColumnCount> chooseWidths(ArrayRef<Row> rows) {
  std::array<size_t, ColumnCount> widths = {};
  for (const Row &row : rows)
    for (size_t i = 0; i < ColumnCount; ++i)
      widths[i] = std::max(widths[i], textWidth(row[i]));
  auto total = [&] {
    size_t sum = 0;
    for (size_t width : widths)
      sum += width ? width + columnGap.size() : 0;
    return sum - columnGap.size();
  };
  // The name says which dispatch it is, and gives way last.
  constexpr size_t least = 12;
  while (total() > maximumWidth) {
    size_t widest = Name;
    for (size_t i = 0; i < ColumnCount; ++i)
      if (isText(i) && i != Name && widths[i] > least &&
          (widest == Name || widths[i] > widths[widest]))
        widest = i;
    --widths[widest];
  }
  return widths;
}

static void printRow(const Row &row, ArrayRef<size_t> widths,
                     raw_ostream &out) {
  std::string line;
  for (size_t i = 0; i < ColumnCount; ++i) {
    if (!widths[i])
      continue;
    std::string cell = fitText(row[i], widths[i]);
    std::string padding(widths[i] - textWidth(cell), ' ');
    line += i ? columnGap.str() : "";
    line += isText(i) ? cell + padding : padding + cell;
  }
  out << StringRef(line).rtrim() << "\n";
}

void attune::printTable(const SessionReport &report, raw_ostream &out) {
  std::vector<Row> rows = {{"dispatch", "root op", "shape", "share", "roofline",
                            "baseline", "tuned", "speed-up"}};
  auto dispatches = byShare(report);
  double leftOut = 0;
  for (const DispatchReport *dispatch : dispatches)
    if (rows.size() <= maximumRows)
      rows.push_back(makeRow(*dispatch));
    else
      leftOut += dispatch->share;
  if (none_of(report.dispatches, [](const DispatchReport &dispatch) {
        return dispatch.overRoofline > 0;
      }))
    for (Row &row : rows)
      row[Roofline].clear();
  auto widths = chooseWidths(rows);
  for (const Row &row : rows)
    printRow(row, widths, out);
  if (dispatches.size() > maximumRows)
    out << formatv("and {0} more with {1} of the time (report.html has all)\n",
                   dispatches.size() - maximumRows, formatShare(leftOut));
}

static void printEntry(const EntryReport &entry, raw_ostream &out) {
  out << formatv(
      "{0}: {1} before, {2} after: {3} ({4} to {5})", entry.name,
      formatSeconds(entry.baselineSeconds), formatSeconds(entry.tunedSeconds),
      formatSpeedup(entry.speedup.value), formatSpeedup(entry.speedup.low),
      formatSpeedup(entry.speedup.high));
  if (entry.speedup.low <= 1 && entry.speedup.high >= 1)
    out << ", no difference that can be measured";
  out << "\n";
}

void attune::printClosing(const SessionReport &report, raw_ostream &out) {
  if (report.entries.size() > 1)
    for (const EntryReport &entry : report.entries)
      printEntry(entry, out);
  EntryReport program = report.program;
  program.name = "whole program";
  printEntry(program, out);
  if (report.overDefault)
    out << formatv("next to the default flags: {0} ({1} to {2})\n",
                   formatSpeedup(report.overDefault->value),
                   formatSpeedup(report.overDefault->low),
                   formatSpeedup(report.overDefault->high));
  if (program.outputsAgree)
    out << "outputs agree with the reference\n";
  else
    out << "OUTPUTS DIFFER from the reference"
        << (program.disagreement.empty() ? "" : ": ") << program.disagreement
        << "\n";
  if (!report.stopReason.empty())
    out << formatv("{0} trials in {1}: {2}\n", totalTrials(report),
                   formatSeconds(report.elapsedSeconds), report.stopReason);
  for (const std::string &warning : report.warnings)
    out << "warning: " << warning << "\n";
  out << "results in " << report.resultFolder << " (" << report.specName
      << ", report.html, summary.json)\n";
}
