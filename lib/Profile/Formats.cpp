//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Formats.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace attune;
using llvm::StringRef;
namespace json = llvm::json;

std::optional<ProfileFormat> attune::profileFormatFromString(StringRef name) {
  return llvm::StringSwitch<std::optional<ProfileFormat>>(name)
      .Case("pprof", ProfileFormat::Pprof)
      .Case("chrome-trace", ProfileFormat::ChromeTrace)
      .Case("jsonl", ProfileFormat::JsonLines)
      .Case("text", ProfileFormat::Text)
      .Default(std::nullopt);
}

llvm::Expected<std::string> attune::printProfile(const Profile &profile,
                                                 ProfileFormat format) {
  switch (format) {
  case ProfileFormat::Pprof:
    return profile::printPprof(profile);
  case ProfileFormat::JsonLines:
    return profile::printJsonLines(profile);
  case ProfileFormat::Text:
    return profile::printText(profile);
  case ProfileFormat::ChromeTrace:
    break;
  }
  if (profile.events.empty())
    return makeError("a trace needs single events, which this profile has "
                     "not: make it from a program, in one step");
  return profile::printChromeTrace(profile);
}

static llvm::Expected<Profile> parseAny(StringRef bytes) {
  StringRef begin = bytes.ltrim();
  if (begin.starts_with("{"))
    return profile::parseJsonLines(bytes);
  StringRef header = begin.split('\n').first;
  if (header.starts_with("name") && header.contains("src_file"))
    return profile::parseTracy(begin);
  return profile::parsePprof(bytes);
}

/// Thirty years, and as many calls as a double counts exactly: formats of whole
/// nanoseconds hold it.
static bool isPossible(double calls, double seconds) {
  return calls >= 0 && calls <= 1e15 && seconds >= 0 && seconds <= 1e9;
}

llvm::Expected<Profile> attune::parseProfile(StringRef bytes, StringRef name) {
  llvm::Expected<Profile> profile = parseAny(bytes);
  if (!profile)
    return makeError("{0}: {1}", name, llvm::toString(profile.takeError()));
  for (ProfileRow &row : profile->rows) {
    if (row.name.empty()) // JSON lines have no row without one
      row.name = "?";
    auto isCount = [](double count) { return count >= 0 && count <= 1e18; };
    if (!isPossible(row.calls, row.seconds) ||
        !llvm::all_of(row.counters, isCount) ||
        !llvm::all_of(row.sizes,
                      [&](const auto &size) { return isCount(size.second); }))
      return makeError("{0}: '{1}' has times that cannot be", name, row.name);
  }
  for (const ProfileEntry &entry : profile->entries)
    if (!isPossible(entry.runs, entry.seconds))
      return makeError("{0}: '{1}' has times that cannot be", name, entry.name);
  return profile;
}

llvm::Expected<Profile> attune::readProfile(StringRef path) {
  llvm::Expected<std::string> bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  return parseProfile(*bytes, path);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {
struct TextRow {
  std::string name, what;
  double calls = 0, seconds = 0;
  std::array<double, counterCount> counters = {};
};
} // namespace

/// Instructions a cycle, and misses of a thousand instructions.
static std::string describeCounters(const TextRow &row) {
  auto [cycles, instructions, cacheMisses, branchMisses] = row.counters;
  auto ratio = [](double part, double whole) {
    return whole > 0 ? llvm::formatv("{0:f2}", part / whole).str()
                     : std::string("-");
  };
  return llvm::formatv("{0,6} {1,8} {2,8}  ", ratio(instructions, cycles),
                       ratio(1000 * cacheMisses, instructions),
                       ratio(1000 * branchMisses, instructions));
}

/// What pprof's -top shows: entries are there with what is outside of their
/// dispatches.
static std::vector<TextRow> textRows(const Profile &profile) {
  std::vector<TextRow> rows;
  for (const ProfileRow &row : profile.rows) {
    std::string what = row.rootOp;
    for (StringRef part : {StringRef(row.shapes), StringRef(row.location)})
      if (!part.empty())
        what += (what.empty() ? "" : " ") + part.str();
    if (row.how == "loops")
      what += ", plain loops";
    if (!row.sizes.empty())
      what += ", seen " + profile::describeSizes(row);
    rows.push_back({row.name, what, row.calls, row.seconds, row.counters});
  }
  for (const ProfileEntry &entry : profile.entries)
    rows.push_back({entry.name,
                    "outside of dispatches",
                    entry.runs,
                    profile.otherSeconds(entry),
                    {}});
  llvm::stable_sort(rows, [](const TextRow &a, const TextRow &b) {
    return a.seconds > b.seconds;
  });
  return rows;
}

std::string profile::printText(const Profile &profile) {
  std::string text;
  llvm::raw_string_ostream out(text);
  double total = profile.totalSeconds();
  size_t width = 8;
  std::vector<TextRow> rows = textRows(profile);
  for (const TextRow &row : rows)
    width = std::max(width, std::min<size_t>(row.name.size(), 40));
  bool isCounted = llvm::any_of(
      profile.rows, [](const ProfileRow &row) { return row.isCounted(); });
  out << llvm::formatv("{0,7} {1,11} {2,9} {3,11}  ", "share", "total", "calls",
                       "a call");
  if (isCounted)
    out << llvm::formatv("{0,6} {1,8} {2,8}  ", "IPC", "cache/ki", "branch/ki");
  out << "dispatch" << std::string(width - 8, ' ') << "  root op, shapes\n";
  for (const TextRow &row : rows) {
    out << llvm::formatv("{0,6:f2}% {1,8:f3} ms {2,9} {3,8:f2} us  ",
                         total > 0 ? 100 * row.seconds / total : 0,
                         1e3 * row.seconds,
                         llvm::formatv("{0:f0}", row.calls).str(),
                         row.calls > 0 ? 1e6 * row.seconds / row.calls : 0);
    if (isCounted)
      out << describeCounters(row);
    out << row.name
        << std::string(width - std::min(width, row.name.size()), ' ') << "  "
        << row.what << '\n';
  }
  if (std::optional<double> share = profile.scheduledShare())
    out << llvm::formatv("with a schedule of their own: {0:f1} % of the "
                         "dispatches' time; the rest are plain loops\n",
                         100 * *share);
  return text;
}

//===----------------------------------------------------------------------===//
// Chrome's trace events
//===----------------------------------------------------------------------===//

std::string profile::printChromeTrace(const Profile &profile) {
  llvm::StringMap<const ProfileRow *> rows;
  for (const ProfileRow &row : profile.rows)
    rows[row.name] = &row;
  double begin = profile.events.front().beginSeconds;
  for (const ProfileEvent &event : profile.events)
    begin = std::min(begin, event.beginSeconds);
  json::Array events;
  for (const ProfileEvent &event : profile.events) {
    json::Object object{{"name", json::fixUTF8(event.name)},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", event.thread},
                        {"ts", 1e6 * (event.beginSeconds - begin)},
                        {"dur", 1e6 * (event.endSeconds - event.beginSeconds)}};
    if (const ProfileRow *row = rows.lookup(event.name)) {
      object["cat"] = row->rootOp.empty() ? "dispatch" : row->rootOp;
      object["args"] = json::Object{{"fingerprint", row->fingerprint},
                                    {"shapes", row->shapes},
                                    {"location", json::fixUTF8(row->location)}};
    } else {
      object["cat"] = "entry";
    }
    events.push_back(std::move(object));
  }
  std::string text;
  llvm::raw_string_ostream(text)
      << json::Value(json::Object{{"displayTimeUnit", "ns"},
                                  {"traceEvents", std::move(events)}})
      << '\n';
  return text;
}
