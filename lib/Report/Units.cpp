//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Numbers and words as a person reads them.

#include "attune/Report/Report.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Unicode.h"
#include <cmath>
#include <numeric>

using namespace llvm;
using namespace attune;

int64_t TrialCounts::total() const {
  return std::accumulate(counts.begin(), counts.end(), int64_t(0));
}

/// Three digits, none of them lost to a unit that is too large.
static std::string threeDigits(double value) {
  if (value < 9.995)
    return formatv("{0:f2}", value);
  return value < 99.95 ? formatv("{0:f1}", value) : formatv("{0:f0}", value);
}

std::string attune::formatSeconds(double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0)
    return "-";
  static constexpr std::pair<double, const char *> units[] = {
      {1e9, "ns"}, {1e6, "µs"}, {1e3, "ms"}};
  for (auto [factor, unit] : units)
    if (seconds * factor < 999.5)
      return threeDigits(seconds * factor) + " " + unit;
  return threeDigits(seconds) + " s";
}

std::string attune::formatSpeedup(double speedup) {
  if (!std::isfinite(speedup) || speedup <= 0)
    return "-";
  return threeDigits(speedup) + "x";
}

std::string attune::formatShare(double fraction) {
  return std::isfinite(fraction) ? formatv("{0:f1} %", fraction * 100).str()
                                 : "-";
}

size_t attune::textWidth(StringRef text) {
  int width = sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : width;
}

std::string attune::fitText(StringRef text, size_t columns) {
  // A character has at most four bytes: what is further on cannot show.
  std::string clean = json::fixUTF8(text.take_front(4 * columns + 4));
  for (char &c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  if (text.size() <= 4 * columns + 4 && textWidth(clean) <= columns)
    return clean;
  if (columns == 0)
    return "";
  // Whole characters, as many as leave room for the ellipsis.
  size_t end = 0, width = 0;
  while (end < clean.size()) {
    size_t bytes = getNumBytesForUTF8(static_cast<UTF8>(clean[end]));
    width += textWidth(StringRef(clean).substr(end, bytes));
    if (width > columns - 1)
      break;
    end += bytes;
  }
  return clean.substr(0, end) + "…";
}
