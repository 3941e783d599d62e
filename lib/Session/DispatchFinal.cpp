//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DispatchFinal.h"

#include "attune/Support/Interrupt.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace llvm;

namespace attune::session {

/// What the final asks is answered by trials, each on disk.
class DispatchFinal::Timer final : public FinalTimer {
public:
  Timer(DispatchFinal &final, ArrayRef<Configuration> configurations)
      : final(final), configurations(configurations) {}

  Error startRound() override {
    final.isFreshWanted = true;
    return Error::success();
  }

  Expected<std::optional<PairedTimes>>
  time(size_t candidate, const TimingOptions &timing) override {
    if (interruptRequested() == Interrupt::Now)
      return std::nullopt;
    auto trial = final.confirm(configurations[candidate], timing);
    if (!trial)
      return trial.takeError();
    if (!*trial)
      return std::nullopt;
    if ((*trial)->outcome != Outcome::Ok) {
      keepFailure(final.state, final.dispatch, **trial);
      return std::nullopt;
    }
    return PairedTimes{(*trial)->seconds, (*trial)->baselineSeconds, false};
  }

private:
  DispatchFinal &final;
  ArrayRef<Configuration> configurations;
};

/// Stands still for what failed and while inputs are made: a hang must not take
/// the time in which the others are compared.
class DispatchFinal::FairClock final : public Clock {
public:
  explicit FairClock(const DispatchFinal &final) : final(final) {}
  double now() override {
    return final.state.parts.clock.now() - final.lostSeconds;
  }

private:
  const DispatchFinal &final;
};

double finalSeconds(const State &state) {
  size_t chosen = count_if(state.dispatches, [](const DispatchState &other) {
    return other.chosen;
  });
  return std::clamp(0.1 * state.options.budget.seconds /
                        std::max<size_t>(1, chosen),
                    0.5, 6.0);
}

FinalOptions DispatchFinal::options() const {
  FinalOptions options;
  options.minimumGain = state.options.minimumGain;
  options.seed = state.options.seed;
  options.maxSeconds = finalSeconds(state);
  options.noisySeconds = 2 * options.maxSeconds;
  // Whoever wants us to stop waits for this.
  if (interruptRequested() != Interrupt::None) {
    options.maxSeconds = options.noisySeconds = 0.5;
    options.contenders = 3;
    options.maxConfirmations = 1;
  }
  return options;
}

Error DispatchFinal::hold(ArrayRef<Configuration> configurations,
                          ArrayRef<double> ratios) {
  Timer timer(*this, configurations);
  FairClock clock(*this);
  auto result = holdFinal(ratios, timer, options(), clock);
  for (const auto &library : libraries)
    state.parts.backend.removeLibrary(library.second.library);
  libraries.clear();
  if (!result)
    return result.takeError();
  if (!result->winner)
    return Error::success();
  dispatch.winner = configurations[*result->winner];
  dispatch.speedup = result->speedup;
  dispatch.baselineSeconds = median(result->baselineSeconds);
  dispatch.tunedSeconds = dispatch.baselineSeconds / result->speedup.value;
  return Error::success();
}

/// Compiled once for all rounds.
Expected<CompiledCandidate>
DispatchFinal::compileFinalist(const Configuration &configuration) {
  auto known = libraries.find(toString(configuration));
  if (known != libraries.end())
    return known->second;
  auto compiled = state.parts.backend.compileCandidates(*dispatch.dispatch,
                                                        {configuration});
  if (!compiled)
    return compiled.takeError();
  if (compiled->front().outcome == Outcome::Ok)
    libraries[toString(configuration)] = compiled->front();
  return std::move(compiled->front());
}

/// The first time a finalist is measured, with all inputs that there are.
bool DispatchFinal::isCheckedAlready(const Configuration &configuration) {
  if (!areMoreInputsMade && interruptRequested() == Interrupt::None) {
    areMoreInputsMade = true;
    if (Error error = prepareMoreInputs(state, dispatch))
      state.parts.progress.note(
          formatv("{0}: checked with one set of inputs only: {1}",
                  dispatch.dispatch->name, llvm::toString(std::move(error)))
              .str());
  }
  return checked.contains(toString(configuration));
}

/// Nothing: the dispatch cannot be run.
Expected<std::optional<Trial>>
DispatchFinal::makeTrial(const Configuration &configuration,
                         const TimingOptions &timing) {
  if (auto record = parts.replay.take(Phase::Final, configuration)) {
    ++state.replayedTrials;
    state.replayedSeconds += record->wallSeconds;
    // It takes of the final's time what it took then, and is not checked with
    // more inputs again, so that what comes next is the same.
    if (record->trial.outcome == Outcome::Ok) {
      lostSeconds -= record->wallSeconds;
      checked.insert(toString(configuration));
    }
    return std::move(record->trial);
  }
  // What a session that goes on has to do again takes no time of the final.
  double begin = state.parts.clock.now();
  if (!parts.prepare())
    return std::nullopt;
  auto compiled = compileFinalist(configuration);
  if (!compiled)
    return compiled.takeError();
  bool isChecked = isCheckedAlready(configuration);
  double start = state.parts.clock.now();
  lostSeconds += start - begin;
  if (std::exchange(isFreshWanted, false))
    state.executor = state.parts.createExecutor({});
  auto trial = measureCandidate(
      state, dispatch, configuration, *compiled, timing,
      isChecked ? ArrayRef<CheckedInputs>() : ArrayRef(dispatch.moreInputs));
  if (!trial)
    return trial.takeError();
  double seconds = state.parts.clock.now() - start;
  if (trial->outcome == Outcome::Ok)
    checked.insert(toString(configuration));
  else if (interruptRequested() == Interrupt::None) // Nobody waits for the end.
    lostSeconds += seconds;
  if (Error error = parts.record(*trial, seconds))
    return std::move(error);
  return std::move(*trial);
}

/// What a failure takes of the trust in a candidate. Crashes are the commonest
/// accident and cost little to try again; wrong results are rarely one, and a
/// hang takes all of its limit.
static int trustLost(Outcome outcome) {
  switch (outcome) {
  case Outcome::WrongResult:
  case Outcome::RunTimeout:
  case Outcome::CompileTimeout:
    return 2;
  default:
    return 1;
  }
}

/// Those that come here worked before, or should have: a failure may be an
/// accident, and is believed when the trust in the candidate is used up. With
/// 10 % of jobs failing by accident that happens to one good candidate in ten
/// thousand. After a wrong result, two right ones are wanted.
Expected<std::optional<Trial>>
DispatchFinal::confirm(const Configuration &configuration,
                       const TimingOptions &timing) {
  std::string name = toString(configuration);
  int trust = 6;
  if (any_of(parts.outcomes,
             [&](const auto &entry) {
               return entry.first == configuration &&
                      entry.second != Outcome::Ok;
             }) &&
      !worked.contains(name))
    trust = 4;
  int wanted = 1;
  while (true) {
    auto trial = makeTrial(configuration, timing);
    if (!trial || !*trial)
      return trial;
    Outcome outcome = (*trial)->outcome;
    if (outcome != Outcome::Ok && (trust -= trustLost(outcome)) <= 0)
      return trial;
    if (outcome == Outcome::WrongResult)
      wanted = 2;
    else if (outcome == Outcome::Ok && --wanted == 0) {
      worked.insert(name);
      return trial;
    }
  }
}

} // namespace attune::session
