//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "Schema.h"
#include "attune/Support/Error.h"

using namespace llvm;
using namespace attune;
using namespace attune::db;
using namespace attune::sqlite;

//===----------------------------------------------------------------------===//
// Reuse
//===----------------------------------------------------------------------===//

std::vector<Trial> StoredTrials::trials() const {
  std::vector<Trial> result;
  for (const TrialRecord &record : records)
    result.push_back(record.trial);
  return result;
}

std::string StoredTrials::describeSkipped() const {
  std::string parts;
  int64_t total = 0;
  auto add = [&](int64_t count, StringRef why) {
    if (!count)
      return;
    total += count;
    parts += formatv("{0}{1} {2}", parts.empty() ? "" : ", ", count, why).str();
  };
  add(otherTarget, "of another machine");
  add(otherThreads, "with another number of threads");
  add(otherVersions, "of another version of the tuner or compiler");
  add(otherSchedule, "of a schedule that changed or is gone");
  if (!total)
    return "";
  return formatv("{0} trial{1} not reused: {2}", total, total == 1 ? "" : "s",
                 parts);
}

/// Counts a trial that may not be reused; false if it may.
static bool skip(const Conditions &conditions, StringRef versions,
                 StringRef target, const Statement &row, int firstColumn,
                 StoredTrials &result) {
  if (row.text(firstColumn) != target)
    ++result.otherTarget;
  else if (row.integer(firstColumn + 1) != conditions.threads)
    ++result.otherThreads;
  else if (row.text(firstColumn + 2) != versions)
    ++result.otherVersions;
  else
    return false;
  return true;
}

Expected<StoredTrials>
db::readTrials(const Connection &connection, const DispatchKey &dispatch,
               const Conditions &conditions,
               const std::optional<StringMap<std::string>> &scheduleVersions,
               Others others) {
  std::string select =
      std::string("SELECT ") + trialColumns +
      ", g.target, s.threads, s.versions, t.id FROM " + trialTables +
      " JOIN targets g ON g.id = s.target_id WHERE d.fingerprint = ? AND "
      "d.sizes = ? AND t.session_id <> ? AND t.id <= ? ORDER BY t.id";
  std::string target = toText(toJSON(conditions.target));
  std::string versions = toText(conditions.versions);
  StoredTrials result;
  auto take = [&](Statement &row) -> Error {
    if (skip(conditions, versions, target, row, trialColumnCount, result))
      return Error::success();
    Expected<TrialRecord> record = readTrial(row, 0);
    if (!record)
      return makeError("{0}: trial {1} is damaged: {2}", connection.getPath(),
                       row.integer(trialColumnCount + 3),
                       toString(record.takeError()));
    if (scheduleVersions) {
      auto known = scheduleVersions->find(record->trial.configuration.schedule);
      if (known == scheduleVersions->end() ||
          known->second != record->scheduleVersion) {
        ++result.otherSchedule;
        return Error::success();
      }
    }
    result.records.push_back(std::move(*record));
    return Error::success();
  };
  if (Error error =
          connection.each(select, take, dispatch.fingerprint, dispatch.sizes,
                          others.exceptSession, others.upToTrial))
    return error;
  return result;
}

Expected<StoredTrials> Database::trials(
    const DispatchKey &dispatch, const Conditions &conditions,
    const std::optional<StringMap<std::string>> &scheduleVersions) const {
  return db::readTrials(*impl->connection, dispatch, conditions,
                        scheduleVersions, {});
}

//===----------------------------------------------------------------------===//
// Summaries
//===----------------------------------------------------------------------===//

Expected<DatabaseSummary> Database::summarize() const {
  const Connection &connection = *impl->connection;
  DatabaseSummary result;
  for (auto [table, count] :
       std::initializer_list<std::pair<const char *, int64_t *>>{
           {"programs", &result.programs},
           {"dispatches", &result.dispatches},
           {"targets", &result.targets},
           {"sessions", &result.sessions},
           {"configurations", &result.configurations},
           {"trials", &result.trials}}) {
    auto rows =
        connection.integer(std::string("SELECT count(*) FROM ") + table);
    if (!rows)
      return rows.takeError();
    *count = rows->value_or(0);
  }
  auto version = schemaVersion(connection, migrations());
  if (!version)
    return version.takeError();
  result.schemaVersion = *version;
  for (StringRef name : outcomeNames)
    result.outcomes[name.str()] = 0;
  if (Error error = connection.each(
          "SELECT outcome, count(*) FROM trials GROUP BY outcome",
          [&](Statement &row) -> Error {
            result.outcomes[row.text(0)] = row.integer(1);
            return Error::success();
          }))
    return error;
  if (Error error = connection.each("SELECT max(finished_at) FROM trials",
                                    [&](Statement &row) -> Error {
                                      if (!row.isNull(0))
                                        result.lastTrialAt = row.real(0);
                                      return Error::success();
                                    }))
    return error;
  return result;
}

Expected<std::vector<DispatchSummary>> Database::summarizeDispatches() const {
  std::vector<DispatchSummary> result;
  auto take = [&](Statement &row) -> Error {
    DispatchSummary summary;
    summary.dispatch = {row.text(0), row.text(1), row.text(2), row.text(3)};
    result.push_back(std::move(summary));
    return Error::success();
  };
  if (Error error = impl->connection->each(
          "SELECT fingerprint, sizes, root_op, shapes FROM dispatches ORDER BY "
          "root_op, shapes, fingerprint, sizes",
          take))
    return error;
  for (DispatchSummary &summary : result) {
    auto addTrial = [&](Statement &row) -> Error {
      Expected<TrialRecord> record = readTrial(row, 0);
      if (!record)
        return makeError("{0}: a trial of {1} is damaged: {2}", impl->path,
                         summary.dispatch.fingerprint,
                         toString(record.takeError()));
      const Trial &trial = record->trial;
      ++summary.trials;
      if (trial.outcome != Outcome::Ok) {
        ++summary.failures;
        return Error::success();
      }
      double speedup =
          trial.baselineSeconds.empty() ? 0 : 1 / trial.medianRatio();
      if (summary.best && speedup <= summary.bestSpeedup)
        return Error::success();
      summary.best = trial.configuration;
      summary.bestSpeedup = speedup;
      summary.bestSeconds = trial.medianSeconds();
      return Error::success();
    };
    if (Error error = impl->connection->each(
            std::string("SELECT ") + trialColumns + " FROM " + trialTables +
                " WHERE d.fingerprint = ? AND d.sizes = ? ORDER BY t.id",
            addTrial, summary.dispatch.fingerprint, summary.dispatch.sizes))
      return error;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Soundness
//===----------------------------------------------------------------------===//

/// A damaged file has no end of things wrong with it.
static constexpr size_t findingLimit = 100;

/// A failure to read is a finding here, not an error: that is what is asked.
/// Each once: what cannot be read is met by several questions. Without the
/// path, which all have.
static void addFailure(Error error, StringRef path,
                       std::vector<std::string> &findings) {
  std::string text = toString(std::move(error));
  StringRef finding = text;
  finding.consume_front((path + ": ").str());
  if (!finding.empty() && !is_contained(findings, finding))
    findings.push_back(finding.str());
}

/// SQLite's own findings: several lines in one row, after a headline.
static void addLines(StringRef text, std::vector<std::string> &findings) {
  SmallVector<StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines)
    if (line != "ok" && !line.starts_with("***"))
      findings.push_back(line.str());
}

static void checkTrials(const Connection &connection, StringRef path,
                        std::vector<std::string> &findings) {
  auto examine = [&](Statement &row) -> Error {
    Expected<TrialRecord> record = readTrial(row, 0);
    Error error = record ? db::validate(record->trial) : record.takeError();
    if (error && findings.size() >= findingLimit)
      return error;
    if (error)
      findings.push_back(formatv("trial {0}: {1}",
                                 row.integer(trialColumnCount),
                                 toString(std::move(error))));
    return Error::success();
  };
  addFailure(connection.each(std::string("SELECT ") + trialColumns +
                                 ", t.id FROM " + trialTables,
                             examine),
             path, findings);
}

Expected<std::vector<std::string>> Database::check() const {
  const Connection &connection = *impl->connection;
  std::vector<std::string> findings;
  addFailure(connection.each("PRAGMA integrity_check(100)",
                             [&](Statement &row) -> Error {
                               addLines(row.text(0), findings);
                               return Error::success();
                             }),
             getPath(), findings);
  addFailure(connection.each(
                 "PRAGMA foreign_key_check",
                 [&](Statement &row) -> Error {
                   if (findings.size() < findingLimit)
                     findings.push_back(formatv(
                         "row {0} of {1} names a row of {2} that is missing",
                         row.integer(1), row.text(0), row.text(2)));
                   return Error::success();
                 }),
             getPath(), findings);
  checkTrials(connection, getPath(), findings);
  if (auto list = sessions(); !list)
    addFailure(list.takeError(), getPath(), findings);
  return findings;
}

//===----------------------------------------------------------------------===//
// Pruning
//===----------------------------------------------------------------------===//

/// Rows that nothing refers to any more. A session without trials stays while
/// the process that began it lives.
static Error removeUnused(const Connection &connection) {
  std::vector<int64_t> ended;
  auto examine = [&](Statement &row) -> Error {
    if (!row.isNull(1) || !isOwnerAlive(row.text(2)))
      ended.push_back(row.integer(0));
    return Error::success();
  };
  if (Error error = connection.each(
          "SELECT id, ended_at, owner FROM sessions WHERE id NOT IN (SELECT "
          "session_id FROM trials)",
          examine))
    return error;
  for (int64_t session : ended) {
    if (Error error = connection.run(
            "DELETE FROM environments WHERE session_id = ?", session))
      return error;
    if (Error error = connection.run(
            "DELETE FROM session_dispatches WHERE session_id = ?", session))
      return error;
    if (Error error =
            connection.run("DELETE FROM sessions WHERE id = ?", session))
      return error;
  }
  return connection.run(
      "DELETE FROM program_dispatches WHERE program_id NOT IN (SELECT "
      "program_id FROM sessions);"
      "DELETE FROM programs WHERE id NOT IN (SELECT program_id FROM sessions);"
      "DELETE FROM targets WHERE id NOT IN (SELECT target_id FROM sessions);"
      "DELETE FROM configurations WHERE id NOT IN (SELECT configuration_id "
      "FROM trials);"
      "DELETE FROM dispatches WHERE id NOT IN (SELECT dispatch_id FROM trials) "
      "AND id NOT IN (SELECT dispatch_id FROM program_dispatches) "
      "AND id NOT IN (SELECT dispatch_id FROM session_dispatches);");
}

Expected<int64_t> Database::prune(const PruneOptions &options) {
  const Connection &connection = *impl->connection;
  int64_t removed = 0;
  {
    Transaction transaction(connection);
    if (Error error = transaction.begin())
      return error;
    if (options.before) {
      if (Error error = connection.run(
              "DELETE FROM trials WHERE finished_at < ?", *options.before))
        return error;
      removed += sqlite3_changes(connection.getHandle());
    }
    if (options.keepOnly) {
      if (Error error = connection.run(
              "DELETE FROM trials WHERE session_id IN (SELECT id FROM sessions "
              "WHERE versions <> ?)",
              toText(*options.keepOnly)))
        return error;
      removed += sqlite3_changes(connection.getHandle());
    }
    if (Error error = removeUnused(connection))
      return error;
    if (Error error = transaction.commit())
      return error;
  }
  Error error = connection.run("VACUUM");
  if (!error)
    error = connection.run("PRAGMA wal_checkpoint(TRUNCATE)");
  if (error)
    return makeError("{0} trials removed, but their space was not given back: "
                     "{1}",
                     removed, toString(std::move(error)));
  return removed;
}
