//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Profile/Profile.h"

#include "Formats.h"
#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"

using namespace attune;
using llvm::Error;
using llvm::StringRef;
namespace json = llvm::json;

double Profile::dispatchSeconds() const {
  double sum = 0;
  for (const ProfileRow &row : rows)
    sum += row.seconds;
  return sum;
}

double Profile::totalSeconds() const {
  double sum = dispatchSeconds();
  for (const ProfileEntry &entry : entries)
    sum += otherSeconds(entry);
  return sum;
}

std::optional<double> Profile::scheduledShare() const {
  double known = 0, scheduled = 0;
  for (const ProfileRow &row : rows) {
    known += row.how.empty() ? 0 : row.seconds;
    scheduled += row.how.empty() || row.how == "loops" ? 0 : row.seconds;
  }
  if (known <= 0)
    return std::nullopt;
  return scheduled / known;
}

double Profile::otherSeconds(const ProfileEntry &entry) const {
  double inside = 0;
  for (const ProfileRow &row : rows)
    if (row.entry == entry.name)
      inside += row.seconds;
  // Hooks and noise may make the parts a little more than the whole.
  return std::max(0.0, entry.seconds - inside);
}

ProfileRow &profile::rowOf(Profile &profile, const ProfileRow &like) {
  for (ProfileRow &row : profile.rows) {
    bool same = like.fingerprint.empty() || row.fingerprint.empty()
                    ? row.name == like.name
                    : row.fingerprint == like.fingerprint;
    if (same && row.entry == like.entry)
      return row;
  }
  ProfileRow &row = profile.rows.emplace_back(like);
  row.calls = row.seconds = 0;
  row.counters = {};
  row.sizes.clear();
  return row;
}

static ProfileEntry &entryOf(Profile &profile, StringRef name) {
  for (ProfileEntry &entry : profile.entries)
    if (entry.name == name)
      return entry;
  return profile.entries.emplace_back(ProfileEntry{name.str()});
}

static Error readEvents(Profile &profile, StringRef entry,
                        llvm::ArrayRef<DispatchFacts> facts, StringRef path) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  for (StringRef line : llvm::split(StringRef(*text).trim(), '\n')) {
    llvm::Expected<json::Value> value = parseJson(line);
    if (!value)
      return makeError("{0}: {1}", path, llvm::toString(value.takeError()));
    const json::Object *object = value->getAsObject();
    if (!object)
      return makeError("{0}: not an event: {1}", path, line);
    int64_t number = object->getInteger("dispatch").value_or(-1);
    if (number >= static_cast<int64_t>(facts.size()))
      continue;
    profile.events.push_back({number < 0 ? entry.str() : facts[number].name,
                              object->getInteger("thread").value_or(0),
                              object->getNumber("beginSeconds").value_or(0),
                              object->getNumber("endSeconds").value_or(0)});
  }
  return Error::success();
}

Error attune::addRun(Profile &profile, StringRef entry,
                     llvm::ArrayRef<DispatchFacts> facts,
                     const RunResult &result, StringRef eventsFile) {
  // The first of several repetitions warms up and was not recorded.
  llvm::ArrayRef<double> seconds(result.seconds);
  if (seconds.size() > 1)
    seconds = seconds.drop_front();
  ProfileEntry &whole = entryOf(profile, entry);
  whole.runs += seconds.size();
  // As the dispatches': what one run that was interrupted takes says nothing.
  if (!seconds.empty())
    whole.seconds += median(seconds) * seconds.size();
  size_t count = std::min({facts.size(), result.dispatchSeconds.size(),
                           result.dispatchCalls.size()});
  for (size_t i = 0; i < count; ++i) {
    if (result.dispatchCalls[i] <= 0)
      continue;
    const DispatchFacts &fact = facts[i];
    ProfileRow &row =
        profile::rowOf(profile, {fact.name, fact.fingerprint, fact.rootOp,
                                 fact.shapes, fact.location, entry.str()});
    row.how = fact.how;
    row.calls += result.dispatchCalls[i] * seconds.size();
    row.seconds += result.dispatchSeconds[i] * seconds.size();
    if (result.dispatchCounters.size() < (i + 1) * counterCount)
      continue;
    for (size_t c = 0; c < counterCount; ++c)
      row.counters[c] +=
          result.dispatchCounters[i * counterCount + c] * seconds.size();
  }
  if (eventsFile.empty())
    return Error::success();
  return readEvents(profile, entry, facts, eventsFile);
}

void profile::addCounts(ProfileRow &row, const ProfileRow &more,
                        double factor) {
  row.calls += more.calls * factor;
  row.seconds += more.seconds * factor;
  for (size_t c = 0; c < counterCount; ++c)
    row.counters[c] += more.counters[c] * factor;
  for (const auto &[sizes, calls] : more.sizes)
    row.sizes[sizes] += calls * factor;
}

/// Of an entry; 1 where that is not known.
static double runsOf(const Profile &profile, StringRef name) {
  for (const ProfileEntry &entry : profile.entries)
    if (entry.name == name && entry.runs > 0)
      return entry.runs;
  return 1;
}

Profile attune::mergeProfiles(llvm::ArrayRef<WeightedProfile> profiles) {
  Profile merged;
  for (const auto &[profile, weight] : profiles) {
    if (merged.model.empty())
      merged.model = profile.model;
    for (const ProfileEntry &entry : profile.entries) {
      ProfileEntry &sum = entryOf(merged, entry.name);
      double factor = weight / runsOf(profile, entry.name);
      sum.runs += entry.runs * factor;
      sum.seconds += entry.seconds * factor;
    }
    for (const ProfileRow &row : profile.rows) {
      ProfileRow &sum = profile::rowOf(merged, row);
      attune::profile::addCounts(sum, row, weight / runsOf(profile, row.entry));
    }
  }
  return merged;
}

/// Whether a name of another tool speaks of these shapes: `matmul_64x48x96_f32`
/// does of `64x48x96xf32`, and not of `4x48x96xf32`.
static bool namesShapes(StringRef name, StringRef shapes) {
  auto [sizes, type] = shapes.rsplit('x');
  if (sizes.empty() || type.empty())
    return false;
  for (size_t at = name.find(sizes); at != StringRef::npos;
       at = name.find(sizes, at + 1)) {
    StringRef before = name.take_front(at),
              after = name.substr(at + sizes.size());
    bool starts = before.empty() || before.back() == '_';
    bool ends = after.empty() || after.front() == '_' ||
                (after.consume_front("x") && after.starts_with(type));
    if (starts && ends)
      return true;
  }
  return false;
}

/// The number of the dispatch that a row is of, or -1.
static int64_t findDispatch(const ProfileRow &row,
                            llvm::ArrayRef<DispatchFacts> facts) {
  int64_t byShape = -1;
  for (auto [number, fact] : llvm::enumerate(facts)) {
    if (!row.fingerprint.empty() && row.fingerprint == fact.fingerprint)
      return number;
    if (row.fingerprint.empty() && row.name == fact.name)
      return number;
  }
  if (!row.fingerprint.empty())
    return -1;
  for (auto [number, fact] : llvm::enumerate(facts)) {
    if (!namesShapes(row.name, fact.shapes))
      continue;
    if (byShape >= 0)
      return -1;
    byShape = number;
  }
  return byShape;
}

std::vector<ProfileRow>
attune::matchProfile(const Profile &profile,
                     llvm::ArrayRef<DispatchFacts> facts,
                     std::vector<std::string> &unmatched) {
  std::vector<ProfileRow> rows;
  for (const DispatchFacts &fact : facts)
    rows.push_back({fact.name, fact.fingerprint, fact.rootOp, fact.shapes,
                    fact.location, ""});
  for (const ProfileRow &row : profile.rows) {
    int64_t number = findDispatch(row, facts);
    if (number < 0) {
      unmatched.push_back(row.name);
      continue;
    }
    profile::addCounts(rows[number], row, 1);
  }
  return rows;
}
