//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A world in which compiling and running are arithmetic: a session can be tuned
// through in milliseconds, and what is best is known beforehand.
//
// Libraries are names: `reference`, `baseline`, `capture`, `tuned/N`,
// `dispatch/NAME/reference`, `dispatch/NAME/baseline`,
// `candidate/NAME/CONFIGURATION`.

#ifndef ATTUNE_UNITTESTS_SESSION_FAKES_H
#define ATTUNE_UNITTESTS_SESSION_FAKES_H

#include "attune/Session/Session.h"
#include <map>
#include <random>

namespace attune::fakes {

/// What a candidate does.
struct Behaviour {
  double seconds = 1e-3;
  Outcome compile = Outcome::Ok; ///< Not Ok: it is never run.
  Outcome run = Outcome::Ok;
  bool garbage = false; ///< "ok" with times that are none.
};

struct FakeDispatch {
  std::string name;
  double baselineSeconds = 1e-3;
  std::function<Behaviour(int64_t tile, int64_t unroll)> behave;
  /// Its candidates gain nothing inside the program.
  bool losesInside = false;
  double operations = 0; ///< Of one call, for its roofline.
};

struct World {
  std::vector<FakeDispatch> dispatches;
  double noise = 0.01;
  int64_t tiles = 32; ///< Tile sizes to choose from, from 1 on.
  double compileCost = 0.5, measureCost = 0.1; ///< Seconds on the clock.
  /// Seconds of the whole program with these winners, instead of the sum.
  std::function<std::optional<double>(const Spec &)> programSeconds;
  std::function<Outcome(const Spec &)> programOutcome;
  /// Called before each candidate is measured, with how many were.
  std::function<void(int64_t)> beforeMeasure;
  /// Times are a function of what is measured: a second run of the session sees
  /// what the first one saw.
  bool sameTimesAgain = false;
  /// Called whenever the backend or an executor is asked for anything.
  std::function<void(llvm::StringRef)> onCall;

  /// What happens to any job of the executors or compile of a candidate, by
  /// accident; a RunTimeout takes all of its limit.
  std::function<Outcome()> accident;

  /// An error of the machinery itself at this measurement of a candidate.
  int64_t executorDiesAt = -1;

  FakeClock clock;
  std::mt19937_64 random{7};
  std::vector<Spec> tuned;
  std::vector<std::string> log; ///< Everything that was asked, in order.
  std::map<std::string, int64_t> compiled; ///< Candidates, by name.
  int64_t measured = 0;
  std::mt19937_64 again; ///< The noise of sameTimesAgain.

  const FakeDispatch &find(llvm::StringRef name) const;
  double baselineSeconds() const;
  double tunedSeconds(const Spec &spec) const;
  double insideSeconds(llvm::StringRef library, const FakeDispatch &dispatch);
  double jitter();
  /// Before something is asked.
  void called(llvm::StringRef what);
  int64_t count(llvm::StringRef what) const; ///< Lines of the log.
};

/// A knob of tile sizes and one of unrolling, 1, 2 or 4: 96 configurations.
Space fakeSpace(llvm::StringRef schedule = "fake", int64_t tiles = 32);
Configuration fakeConfiguration(int64_t tile, int64_t unroll);
int64_t knob(const Configuration &configuration, llvm::StringRef name);

class FakeBackend final : public Backend {
public:
  explicit FakeBackend(World &world);

  const std::vector<BackendEntry> &entries() const override {
    return entryList;
  }
  const std::vector<BackendDispatch> &dispatches() const override {
    return dispatchList;
  }
  const std::vector<std::string> &notes() const override { return noteList; }
  int64_t dispatchVersion() const override { return 1; }
  std::string programHash() const override { return hash; }
  llvm::Expected<std::vector<CandidateSpace>>
  spaces(const BackendDispatch &dispatch) override;
  llvm::Expected<std::string> buildProgram(Build build) override;
  llvm::Expected<std::string> buildTuned(const Spec &spec, ApplyResult &applied,
                                         llvm::StringRef output) override;
  llvm::Expected<std::string> buildDispatch(const BackendDispatch &dispatch,
                                            Build build) override;
  llvm::Expected<std::vector<CompiledCandidate>>
  compileCandidates(const BackendDispatch &dispatch,
                    llvm::ArrayRef<Configuration> configurations) override;
  llvm::Error dumpDispatch(const BackendDispatch &, llvm::StringRef,
                           llvm::ArrayRef<std::string>) override {
    return llvm::Error::success();
  }

  std::string scheduleVersion = "1", hash = "fake";

private:
  World &world;
  std::vector<BackendEntry> entryList;
  std::vector<BackendDispatch> dispatchList;
  std::vector<std::string> noteList;
};

class FakeExecutor final : public Executor {
public:
  FakeExecutor(World &world, std::string captureFolder)
      : world(world), captureFolder(std::move(captureFolder)) {}

  llvm::Expected<Measurement> measure(const MeasureJob &job,
                                      const Limits &limits) override;
  llvm::Expected<RunResult> run(const RunJob &job,
                                const Limits &limits) override;
  llvm::Expected<Signature> signature(llvm::StringRef) override {
    return Signature();
  }

private:
  llvm::Expected<Measurement> measureCandidate(llvm::StringRef name,
                                               llvm::StringRef configuration,
                                               const MeasureJob &job);
  Measurement measureProgram(const Spec &spec, const MeasureJob &job);
  void addTimes(Measurement &measurement, double seconds, double baseline,
                unsigned repetitions);
  World &world;
  std::string captureFolder;
};

} // namespace attune::fakes

#endif // ATTUNE_UNITTESTS_SESSION_FAKES_H
