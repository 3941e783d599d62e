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
};

/// One dispatch in a profile. Of a profile of others, `name` is all there is.
struct ProfileRow {
  std::string name, fingerprint, rootOp, shapes, location;
  std::string entry; ///< The function that it was run from; may be empty.
  double calls = 0;
  double seconds = 0; ///< Of all calls.

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
  /// Time of an entry that is in none of its dispatches.
  double otherSeconds(const ProfileEntry &entry) const;
};

/// Adds one job's times (hooks on) of an entry. `facts` are in the order of the
/// library's dispatches; those that were not called are left out. With
/// `eventsFile`, the job's `events`, an error if it cannot be read.
llvm::Error addRun(Profile &profile, llvm::StringRef entry,
                   llvm::ArrayRef<DispatchFacts> facts, const RunResult &result,
                   llvm::StringRef eventsFile = "");

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
