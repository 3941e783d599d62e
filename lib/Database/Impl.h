//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the parts of this room share.

#ifndef ATTUNE_LIB_DATABASE_IMPL_H
#define ATTUNE_LIB_DATABASE_IMPL_H

#include "Sqlite.h"
#include "attune/Database/Database.h"

namespace attune {

struct Database::Impl {
  std::unique_ptr<sqlite::Connection> connection;
  DatabaseOptions options;
  std::string path; ///< For messages.

  double now() const { return options.now(); }
};

namespace db {

/// Bytes of captured output that are kept of a trial.
inline constexpr size_t detailLimit = 64 << 10;

std::string toText(const llvm::json::Value &value);
llvm::Expected<llvm::json::Value> fromText(llvm::StringRef text);

llvm::json::Value toJSON(const Versions &versions);
std::string toText(const Versions &versions);
llvm::Expected<Versions> versionsFromText(llvm::StringRef text);
std::string toText(const std::vector<double> &seconds);
llvm::Expected<std::vector<double>> secondsFromText(llvm::StringRef text);

llvm::StringRef toString(Phase phase);
std::optional<Phase> phaseFromString(llvm::StringRef text);

/// What makes a trial unfit to be kept: an ok one without times, a time that is
/// not finite and positive, pairs that do not pair.
llvm::Error validate(const Trial &trial);

/// Row numbers, made where missing. Inside a transaction.
llvm::Expected<int64_t> internProgram(const sqlite::Connection &connection,
                                      llvm::StringRef hash,
                                      llvm::StringRef name);
llvm::Expected<int64_t> internTarget(const sqlite::Connection &connection,
                                     llvm::StringRef target);
llvm::Expected<int64_t> internDispatch(const sqlite::Connection &connection,
                                       const DispatchKey &dispatch);
llvm::Expected<int64_t>
internConfiguration(const sqlite::Connection &connection,
                    llvm::StringRef configuration, llvm::StringRef version);

/// That a session's program has a dispatch (a row number).
llvm::Error insertProgramDispatch(const sqlite::Connection &connection,
                                  int64_t session, int64_t dispatch,
                                  llvm::StringRef name, int64_t count);

/// A row of `trials` to be written; false if (session, number) is there.
struct TrialRow {
  int64_t session = 0;
  int64_t number = 0;
  double finishedAt = 0;
};
llvm::Expected<bool> insertTrial(const sqlite::Connection &connection,
                                 const TrialRow &row,
                                 const TrialRecord &record);

/// Columns of a trial, in the order in which readTrial wants them; for
/// statements that join trials t, configurations c, dispatches d.
inline constexpr char trialColumns[] =
    "d.fingerprint, d.sizes, d.root_op, d.shapes, c.configuration, "
    "c.schedule_version, t.phase, t.outcome, t.reason, t.detail, t.seconds, "
    "t.baseline_seconds, t.compile_seconds, t.wall_seconds";
inline constexpr int trialColumnCount = 14;
inline constexpr char trialTables[] =
    "trials t JOIN configurations c ON c.id = t.configuration_id "
    "JOIN dispatches d ON d.id = t.dispatch_id "
    "JOIN sessions s ON s.id = t.session_id";
llvm::Expected<TrialRecord> readTrial(const sqlite::Statement &row,
                                      int firstColumn);

/// Which trials of a dispatch count as those of others.
struct Others {
  int64_t exceptSession = 0; ///< No session has the number 0.
  int64_t upToTrial = INT64_MAX;
};
llvm::Expected<StoredTrials>
readTrials(const sqlite::Connection &connection, const DispatchKey &dispatch,
           const Conditions &conditions,
           const std::optional<llvm::StringMap<std::string>> &scheduleVersions,
           Others others);

/// This process, so that another can tell whether it lives: boot, process
/// number, and when it started.
std::string describeOwner();
bool isOwnerAlive(llvm::StringRef owner);

} // namespace db
} // namespace attune

#endif // ATTUNE_LIB_DATABASE_IMPL_H
