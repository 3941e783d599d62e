//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What tracy-csvexport writes: a line a zone (name, src_file, src_line,
// total_ns, ..., counts, ...), or with -u a line an event (..., ns_since_start,
// exec_time_ns, thread, value). The separator is the user's choice, and names
// are not quoted.

#include "Formats.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace attune;
using llvm::StringRef;

namespace {
struct Columns {
  size_t count = 0;
  int line = -1, total = -1, calls = -1, begin = -1, time = -1, thread = -1;

  static Columns of(llvm::ArrayRef<StringRef> names) {
    Columns columns;
    columns.count = names.size();
    for (auto [index, name] : llvm::enumerate(names)) {
      int at = static_cast<int>(index);
      if (name == "src_line")
        columns.line = at;
      else if (name == "total_ns")
        columns.total = at;
      else if (name == "counts")
        columns.calls = at;
      else if (name == "ns_since_start")
        columns.begin = at;
      else if (name == "exec_time_ns")
        columns.time = at;
      else if (name == "thread")
        columns.thread = at;
    }
    return columns;
  }
  bool isAggregated() const { return total >= 0 && calls >= 0; }
  bool isUnwrapped() const { return time >= 0; }
};
} // namespace

/// A name may hold the separator (`f<a, b>`): what is too much belongs to it.
static llvm::SmallVector<std::string>
splitLine(StringRef line, StringRef separator, size_t columns) {
  llvm::SmallVector<StringRef> parts;
  line.split(parts, separator);
  size_t extra = parts.size() > columns ? parts.size() - columns : 0;
  llvm::SmallVector<std::string> fields = {parts.front().str()};
  for (size_t i = 1; i <= extra; ++i)
    fields.front() += (separator + parts[i]).str();
  for (StringRef part : llvm::ArrayRef(parts).drop_front(extra + 1))
    fields.push_back(part.trim().str());
  return fields;
}

static llvm::Error addLine(Profile &profile, const Columns &columns,
                           llvm::ArrayRef<std::string> fields) {
  auto number = [&](int column, double &out) {
    out = 0;
    return column < 0 || (static_cast<size_t>(column) < fields.size() &&
                          !StringRef(fields[column]).getAsDouble(out) &&
                          out >= 0 && out < 0x1p62);
  };
  double nanoseconds = 0, calls = 1, line = 0, begin = 0, thread = 0;
  int timeColumn = columns.isAggregated() ? columns.total : columns.time;
  if (fields.size() < columns.count || !number(timeColumn, nanoseconds) ||
      !number(columns.line, line) || !number(columns.begin, begin) ||
      !number(columns.thread, thread) ||
      (columns.isAggregated() && !number(columns.calls, calls)))
    return makeError("'{0}' is not a line of the columns in its header",
                     llvm::join(fields, ","));
  ProfileRow like;
  like.name = fields[0];
  if (!fields[1].empty() && line > 0)
    like.location = fields[1] + ":" + std::to_string(int64_t(line));
  ProfileRow &row = profile::rowOf(profile, like);
  row.calls += calls;
  row.seconds += 1e-9 * nanoseconds;
  if (columns.isUnwrapped())
    profile.events.push_back({like.name, static_cast<int64_t>(thread),
                              1e-9 * begin, 1e-9 * (begin + nanoseconds)});
  return llvm::Error::success();
}

llvm::Expected<Profile> profile::parseTracy(StringRef text) {
  auto [header, rest] = text.split('\n');
  StringRef separator = header.substr(4).take_until(
      [](char c) { return c == 's'; }); // between `name` and `src_file`
  if (separator.empty())
    separator = ",";
  llvm::SmallVector<StringRef> names;
  header.trim().split(names, separator);
  Columns columns = Columns::of(names);
  if (!columns.isAggregated() && !columns.isUnwrapped())
    return makeError("this export of Tracy has no times of zones; use "
                     "tracy-csvexport without options, or with -u");
  Profile profile;
  for (StringRef line : llvm::split(rest, '\n')) {
    if (line.trim().empty())
      continue;
    auto fields = splitLine(line.rtrim('\r'), separator, columns.count);
    // Plots follow the zones, without a source.
    if (columns.isUnwrapped() && fields.size() > 1 && fields[1].empty())
      continue;
    if (llvm::Error error = addLine(profile, columns, fields))
      return std::move(error);
  }
  return profile;
}
