//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A profile: how often each dispatch of a program was called and how long it
// took. Plain data; the formats it comes from and goes to are in Formats.h, the
// choice of what is worth tuning in Hot.h.

#ifndef ATTUNE_PROFILE_PROFILE_H
#define ATTUNE_PROFILE_PROFILE_H

#include "attune/Measure/Jobs.h"
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// What is known of a dispatch without running it.
struct DispatchFacts {
  std::string name;        ///< Of its function.
  std::string fingerprint; ///< 16 hexadecimal digits.
  std::string rootOp, shapes;
  std::string location;  ///< `model.mlir:12`; empty when not known.
  double operations = 0; ///< Scalar operations of one call; 0: not known.
  double bytes = 0;      ///< Of its inputs and results; 0: not known.
  /// What it was compiled with: a configuration, or `loops`, which is what is
  /// left where no schedule fits; empty: not known.
  std::string how;
};

/// What the processor counts, in the order of `attune_perf_counters`.
inline constexpr size_t counterCount = 4;
inline constexpr std::array<const char *, counterCount> counterNames = {
    "cycles", "instructions", "cacheMisses", "branchMisses"};

/// One dispatch in a profile. Of a profile of others, `name` is all there is.
struct ProfileRow {
  std::string name, fingerprint, rootOp, shapes, location;
  std::string entry; ///< The function that it was run from; may be empty.
  double calls = 0;
  double seconds = 0; ///< Of all calls.
  /// Of all calls; all 0: not counted.
  std::array<double, counterCount> counters = {};
  /// Calls by the sizes of the inputs that have open ones: `8x784, 8x10`.
  std::map<std::string, double> sizes;
  std::string how; ///< As of DispatchFacts.

  bool isCounted() const { return counters != decltype(counters){}; }
  double secondsPerCall() const { return calls > 0 ? seconds / calls : 0; }
};

/// An entry function: all of its time, that of its dispatches included.
struct ProfileEntry {
  std::string name;
  double runs = 0;
  double seconds = 0; ///< Of all runs.
};

/// One call, for a picture of the order of things.
struct ProfileEvent {
  std::string name; ///< Of a dispatch or an entry.
  int64_t thread = 0;
  double beginSeconds = 0, endSeconds = 0; ///< CLOCK_MONOTONIC
};

struct Profile {
  std::string model; ///< Path of the program; may be empty.
  std::vector<ProfileEntry> entries;
  std::vector<ProfileRow> rows;
  std::vector<ProfileEvent> events; ///< May be empty; not in every format.

  double dispatchSeconds() const;
  /// Of the entries, where they are known and more than the dispatches.
  double totalSeconds() const;
  /// Of the time in dispatches of which it is known, the part in those with a
  /// schedule: 0 to 1; nothing if it is known of none.
  std::optional<double> scheduledShare() const;
  /// Time of an entry that is in none of its dispatches.
  double otherSeconds(const ProfileEntry &entry) const;
};

/// Adds one job's times (hooks on) of an entry. `facts` are in the order of the
/// library's dispatches; those that were not called are left out. With
/// `eventsFile`, the job's `events`, an error if it cannot be read.
llvm::Error addRun(Profile &profile, llvm::StringRef entry,
                   llvm::ArrayRef<DispatchFacts> facts, const RunResult &result,
                   llvm::StringRef eventsFile = "");

/// Calls of a dispatch with certain sizes, as `RunJob`'s capture has them.
struct SizedCalls {
  int64_t dispatch = 0; ///< Its number.
  std::string sizes;
};

/// Reads `sizes.txt` of a captured run: a line for each argument of each call,
/// `DISPATCH ARGUMENT 8x784`. `isOpen` says which arguments count; calls whose
/// arguments all have given sizes are left out.
llvm::Expected<std::vector<SizedCalls>>
readSizes(llvm::StringRef path,
          llvm::function_ref<bool(int64_t dispatch, int64_t argument)> isOpen);

/// Adds calls of an entry to the rows of their dispatches.
void addSizes(Profile &profile, llvm::StringRef entry,
              llvm::ArrayRef<DispatchFacts> facts,
              llvm::ArrayRef<SizedCalls> calls);

/// A profile and how much it counts in a merge.
struct WeightedProfile {
  Profile profile;
  double weight = 1;
};

/// What a mix of runs takes: each profile counts as `weight` runs of every
/// entry, however often these were run (where that is known). Dispatches are
/// the same when their fingerprints are, or their names where there are none.
/// Events are dropped.
Profile mergeProfiles(llvm::ArrayRef<WeightedProfile> profiles);

/// Seconds and calls of each dispatch of a program in a profile: by
/// fingerprint; else by name; else, for profiles of other tools, where the
/// shapes of exactly one dispatch are part of the name. `unmatched` gets the
/// names that belong to none.
std::vector<ProfileRow> matchProfile(const Profile &profile,
                                     llvm::ArrayRef<DispatchFacts> facts,
                                     std::vector<std::string> &unmatched);

} // namespace attune

#endif // ATTUNE_PROFILE_PROFILE_H
