//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The session in its database: begun or taken over, written to, and kept in
// memory when the disk gives up.

#include "State.h"
#include "attune/Support/Error.h"

using namespace llvm;

namespace attune::session {

static SessionStart describeStart(const State &state) {
  const SessionOptions &options = state.options;
  SessionStart start;
  start.programHash = state.parts.backend.programHash();
  start.programName = options.model;
  start.command = options.command;
  start.seed = options.seed;
  start.budget = options.budget.text;
  start.conditions = {options.target, options.threads, options.versions};
  return start;
}

static void tell(const State &state, json::Object event) {
  if (!state.parts.onEvent)
    return;
  event["version"] = 1;
  event["session"] = state.sessionUid;
  state.parts.onEvent(std::move(event));
}

/// The first session for which `is` holds.
template <typename Predicate>
static Expected<SessionInfo> findSession(const Database &database,
                                         Predicate is) {
  auto sessions = database.sessions();
  if (!sessions)
    return sessions.takeError();
  auto found = find_if(*sessions, is);
  if (found == sessions->end())
    return makeError("{0}: a session that was just written is missing",
                     database.getPath());
  return std::move(*found);
}

static Error beginSession(State &state) {
  auto session = state.parts.database.beginSession(describeStart(state));
  if (!session)
    return session.takeError();
  state.sessionId = *session;
  auto info =
      findSession(state.parts.database, [&](const SessionInfo &candidate) {
        return candidate.id == *session;
      });
  if (!info)
    return info.takeError();
  state.sessionUid = info->uid;
  return Error::success();
}

static Error beginOrResume(State &state) {
  auto resumed = state.parts.database.resumeSession(describeStart(state));
  if (!resumed)
    return resumed.takeError();
  if (!*resumed)
    return beginSession(state);
  state.sessionId = (*resumed)->id;
  state.sessionUid = (*resumed)->uid;
  state.parts.progress.note(
      formatv("going on with an interrupted session: {0} trials, {1:f0} s of "
              "the budget are spent",
              (*resumed)->trials, (*resumed)->spentSeconds)
          .str());
  return Error::success();
}

Error openSession(State &state) {
  state.unwritablePath = state.options.unwritableDatabase;
  if (Error error = store(
          state, [&](Database &) -> Error { return beginOrResume(state); }))
    return error;
  tell(state, json::Object{{"event", "session"}});
  return recordEnvironment(state);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// What can be read of the database goes on in memory; of a damaged one that
/// may be nothing.
static Error goOnInMemory(State &state, Error cause) {
  Database &database = state.parts.database;
  std::string path = database.getPath();
  std::string warning = toString(std::move(cause));
  auto copy = database.copyToMemory();
  if (copy)
    if (auto findings = copy->check(); !findings || !findings->empty()) {
      consumeError(findings.takeError());
      copy = makeError("damaged");
    }
  state.startedAfresh = !copy;
  if (!copy) {
    consumeError(copy.takeError());
    copy = Database::inMemory();
    if (!copy)
      return joinErrors(makeError("{0}", warning), copy.takeError());
  }
  state.unwritablePath = path;
  database = std::move(*copy);
  warning += "; going on in memory";
  state.warnings.push_back(warning);
  state.parts.progress.note("warning: " + warning);
  if (state.startedAfresh && state.sessionId)
    return beginSession(state);
  return Error::success();
}

Error store(State &state, function_ref<Error(Database &)> write) {
  Error error = write(state.parts.database);
  bool mayGoOn = state.options.whenUnwritable == WhenUnwritable::GoOnInMemory &&
                 state.unwritablePath.empty();
  if (!error || !mayGoOn)
    return error;
  if (Error worse = goOnInMemory(state, std::move(error)))
    return worse;
  return write(state.parts.database);
}

Error recordTrial(State &state, const TrialRecord &record) {
  int64_t number = 0;
  if (Error error = store(state, [&](Database &database) -> Error {
        return database.record(state.sessionId, record).moveInto(number);
      }))
    return error;
  tell(state, json::Object{
                  {"event", "trial"},
                  {"number", number},
                  {"stored", state.unwritablePath.empty()},
                  {"dispatch", record.dispatch.fingerprint},
                  {"phase", record.phase == Phase::Final ? "final" : "search"},
                  {"configuration", toJSON(record.trial.configuration)},
                  {"outcome", toString(record.trial.outcome)}});
  return Error::success();
}

Error recordEnvironment(State &state) {
  Environment now = Environment::sample();
  if (!state.machineAtFirst) {
    // An error is said where candidates run.
    if (auto bounds = findBounds(ControlGroupPlace::ofThisProcess()))
      now.bounds = describe(*bounds);
    else
      consumeError(bounds.takeError());
    state.machineAtFirst = now;
  }
  now.bounds = state.machineAtFirst->bounds;
  state.machineLately = now;
  return store(state, [&](Database &database) {
    return database.recordEnvironment(state.sessionId, now);
  });
}

void saveMemory(State &state) {
  if (state.unwritablePath.empty())
    return;
  auto save = [&]() -> Error {
    auto file = Database::open(state.unwritablePath, OpenMode::Write);
    if (!file)
      return file.takeError();
    if (auto counts = file->merge(state.parts.database); !counts)
      return counts.takeError();
    auto info = findSession(*file, [&](const SessionInfo &candidate) {
      return candidate.uid == state.sessionUid;
    });
    if (!info)
      return info.takeError();
    state.sessionId = info->id;
    state.parts.database = std::move(*file);
    return Error::success();
  };
  std::string warning;
  if (Error error = save())
    warning = "trials were kept in memory only and are lost: " +
              toString(std::move(error));
  else
    warning = state.unwritablePath +
              " can be written again: the trials in memory were added to it";
  state.warnings.push_back(warning);
  state.parts.progress.note("warning: " + warning);
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

std::vector<std::string> describeReuse(const State &state) {
  std::vector<std::string> lines;
  if (state.replayedTrials)
    lines.push_back(formatv("went on with an interrupted session: {0} of its "
                            "trials ({1:f0} s) were not made again",
                            state.replayedTrials, state.replayedSeconds));
  int64_t reused = 0;
  for (const DispatchState &dispatch : state.dispatches)
    reused += dispatch.reused;
  if (reused)
    lines.push_back(
        formatv("{0} trials of earlier sessions were reused", reused));
  if (std::string skipped = state.leftOut.describeSkipped(); !skipped.empty())
    lines.push_back(skipped);
  return lines;
}

} // namespace attune::session
