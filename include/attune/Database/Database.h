//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Every trial, on disk before the next one starts. One SQLite file holds any
// number of sessions, programs and machines; docs/rooms/Database.md has the
// schema. Several processes may have one file open and write to it.
//
// Errors are one line that begins with the file's path. After an error the
// database is as it was before the call: what was recorded stays.

#ifndef ATTUNE_DATABASE_DATABASE_H
#define ATTUNE_DATABASE_DATABASE_H

#include "attune/Database/Environment.h"
#include "attune/Schedule/Target.h"
#include "attune/Search/Trial.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>

namespace attune {

/// Names and versions of what made a trial: {"attune": "0.1.0", "llvm": ...}.
/// Trials are reused only between equal maps.
using Versions = std::map<std::string, std::string>;

enum class OpenMode {
  Read,  ///< The file must exist; nothing is written.
  Write, ///< Made if missing, brought up to the newest schema.
};

struct DatabaseOptions {
  /// How long a call waits for another process that is writing.
  double busyTimeoutSeconds = 10;
  /// Seconds since 1970; tests replace it.
  std::function<double()> now;
};

/// What must be equal for a trial to say something about a new one.
struct Conditions {
  Target target;
  int64_t threads = 1;
  Versions versions; ///< Attune, LLVM, dispatch formation: all but schedules.
};

/// Identity of a dispatch, and what a person wants to read about it.
struct DispatchKey {
  std::string fingerprint;
  std::string sizes;  ///< Values of dynamic dimensions it was run with: `m=8`.
  std::string rootOp; ///< `contraction`; not part of the identity.
  std::string shapes; ///< `4x784x10xf32`; not part of the identity.
};

struct SessionStart {
  std::string programHash; ///< Of the imported program; any stable text.
  std::string programName; ///< For people: the file's name.
  std::string command;     ///< The same command goes on with its session.
  uint64_t seed = 0;
  std::string budget; ///< As given: `10m`, `200`.
  Conditions conditions;
};

struct SessionInfo : SessionStart {
  int64_t id = 0;
  std::string uid; ///< Unique among all files.
  double startedAt = 0;
  std::optional<double> endedAt; ///< Nothing: it runs, or was killed.
  std::string status;            ///< As given to endSession.
  int64_t trials = 0;
  double spentSeconds = 0; ///< Sum of the trials' wallSeconds.
};

/// What a session measured of the untuned program, kept so that it goes on with
/// the same dispatches in the same order.
struct SessionProfile {
  struct Dispatch {
    DispatchKey key;
    std::string name;
    double seconds = 0; ///< Of all its calls in one run of the program.
    int64_t calls = 0;
  };
  double programSeconds = 0; ///< Of one run, all entries.
  std::vector<Dispatch> dispatches;
};

/// Why a trial was made.
enum class Phase {
  Search, ///< To find something better.
  Final,  ///< One of the best, measured again.
};

/// One trial with what is around it.
struct TrialRecord {
  DispatchKey dispatch;
  Trial trial;
  Phase phase = Phase::Search;
  /// Version of the schedule the configuration belongs to (a hash of its text).
  std::string scheduleVersion;
  double wallSeconds = 0; ///< What it cost of the budget.
};

/// Trials of one dispatch that may be reused, and how many may not, and why.
struct StoredTrials {
  std::vector<TrialRecord> records; ///< In the order they were made.
  int64_t otherTarget = 0;
  int64_t otherThreads = 0;
  int64_t otherVersions = 0;
  int64_t otherSchedule = 0;

  std::vector<Trial> trials() const;
  /// `3 trials not reused: 2 of another compiler, 1 of a schedule that
  /// changed`; empty if all were.
  std::string describeSkipped() const;
};

/// What is known of a dispatch when a session turns to it.
struct DispatchHistory {
  /// Of other sessions, as it was when this one first turned to the dispatch.
  StoredTrials earlier;
  /// Of this session, before it was interrupted; in order, both phases.
  std::vector<TrialRecord> own;
  /// Why its search ended, if this session was done with it before it was
  /// interrupted.
  std::optional<std::string> endReason;
  /// A session of another program tuned it to its end under these conditions,
  /// and none of this program did.
  bool settledElsewhere = false;
};

/// What a file holds, for `attune db show`.
struct DatabaseSummary {
  int64_t schemaVersion = 0;
  int64_t programs = 0, dispatches = 0, targets = 0, sessions = 0,
          configurations = 0, trials = 0;
  std::map<std::string, int64_t> outcomes; ///< `ok`: 12, ...; all eight.
  std::optional<double> lastTrialAt;       ///< Seconds since 1970.
};

/// One line of `attune db list`.
struct DispatchSummary {
  DispatchKey dispatch;
  int64_t trials = 0;
  int64_t failures = 0;
  /// Best of the ok trials by median ratio to the baseline next to it.
  std::optional<Configuration> best;
  double bestSpeedup = 0; ///< 1 / median ratio; 0 if nothing was ok.
  double bestSeconds = 0;
};

struct PruneOptions {
  std::optional<double> before;     ///< Trials that ended before this moment.
  std::optional<Versions> keepOnly; ///< Trials of other versions.
};

/// A connection. Belongs to one thread at a time; movable.
class Database {
public:
  static llvm::Expected<Database> open(llvm::StringRef path, OpenMode mode,
                                       DatabaseOptions options = {});
  /// A database that is gone when it is closed.
  static llvm::Expected<Database> inMemory(DatabaseOptions options = {});
  /// Everything readable of this one, in memory: for a session that goes on
  /// after its disk is full.
  llvm::Expected<Database> copyToMemory() const;

  Database(Database &&);
  Database &operator=(Database &&);
  ~Database();

  const std::string &getPath() const;

  //===-- Sessions --------------------------------------------------------===//

  llvm::Expected<int64_t> beginSession(const SessionStart &start);

  /// Takes over the newest session of this program, command and seed that
  /// neither ended nor belongs to a living process; one that was interrupted
  /// (its status) has not ended. Nothing: begin one.
  llvm::Expected<std::optional<SessionInfo>>
  resumeSession(const SessionStart &start);

  /// `status` is for people: `finished`, `interrupted`, `disk full`.
  llvm::Error endSession(int64_t session, llvm::StringRef status);
  llvm::Expected<std::vector<SessionInfo>> sessions() const;

  /// That a program has a dispatch, how often, and under which name.
  llvm::Error recordDispatch(int64_t session, const DispatchKey &dispatch,
                             llvm::StringRef name, int64_t count);
  llvm::Error recordEnvironment(int64_t session,
                                const Environment &environment);

  /// Replaces what was there, and records every dispatch of the program.
  llvm::Error recordProfile(int64_t session, const SessionProfile &profile);
  /// Nothing if the session has none yet.
  llvm::Expected<std::optional<SessionProfile>>
  sessionProfile(int64_t session) const;

  /// A session turns to a dispatch: what is known of it. Called again by the
  /// same session, after it was interrupted, it gives the same `earlier`.
  llvm::Expected<DispatchHistory>
  openDispatch(int64_t session, const DispatchKey &dispatch,
               const Conditions &conditions,
               const llvm::StringMap<std::string> &scheduleVersions);
  /// The session is done with it: its search came to an end.
  llvm::Error closeDispatch(int64_t session, const DispatchKey &dispatch,
                            llvm::StringRef reason);

  //===-- Trials ----------------------------------------------------------===//

  /// When this returns success the trial survives a crash of this process and
  /// of the machine. An ok trial has times, all finite and positive; anything
  /// else is an error here. `detail` is cut at 64 KiB. Gives the trial's number
  /// in its session, from 1.
  llvm::Expected<int64_t> record(int64_t session, const TrialRecord &record);

  /// What is known of a dispatch under these conditions, from all sessions and
  /// programs. `scheduleVersions` are today's; a schedule that is not in it, or
  /// has another version, is skipped. Without it all schedules count.
  llvm::Expected<StoredTrials>
  trials(const DispatchKey &dispatch, const Conditions &conditions,
         const std::optional<llvm::StringMap<std::string>> &scheduleVersions =
             std::nullopt) const;

  //===-- Looking after it ------------------------------------------------===//

  llvm::Expected<DatabaseSummary> summarize() const;
  llvm::Expected<std::vector<DispatchSummary>> summarizeDispatches() const;

  /// Everything that is wrong, a line each; empty if it is sound: SQLite's own
  /// check, foreign keys, and that every value is what this room writes.
  llvm::Expected<std::vector<std::string>> check() const;

  /// JSON lines, docs/rooms/Database.md; one line a call, without the newline.
  llvm::Error
  exportLines(llvm::function_ref<llvm::Error(llvm::StringRef)> line) const;

  struct ImportCounts {
    int64_t sessions = 0, trials = 0, known = 0;
  };
  /// All of it or nothing; what is already here is skipped, so that importing
  /// twice is importing once. Errors are `name:12: ...`.
  llvm::Expected<ImportCounts> importLines(llvm::StringRef text,
                                           llvm::StringRef name);
  llvm::Expected<ImportCounts> merge(const Database &other);

  /// Removes trials, then sessions, dispatches and programs that have none
  /// left, then gives the space back. Returns the number of trials removed.
  llvm::Expected<int64_t> prune(const PruneOptions &options);

private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attune

#endif // ATTUNE_DATABASE_DATABASE_H
