//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Final.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>
#include <random>

using namespace attune;
using llvm::Error;
using llvm::Expected;

TimingOptions attune::searchTiming(double bestRatio, uint64_t seed) {
  TimingOptions timing;
  timing.seed = seed;
  timing.minSeconds = 0.03;
  timing.maxSeconds = 1;
  timing.minRepetitions = 5;
  // Three pairs are noisy: a third slower than the best is far from it.
  timing.loserRatio = std::clamp(1.35 * bestRatio, 0.1, 1.5);
  return timing;
}

namespace {

struct Contender {
  size_t index;
  /// log(baseline / candidate): of each pair, and of each process.
  std::vector<double> pairs, processes;
  double error = 0; ///< Standard error inside the last process.

  double score() const { return median(processes); }
};

class Final {
public:
  Final(FinalTimer &timer, const FinalOptions &options, Clock &clock)
      : timer(timer), options(options), clock(clock), random(options.seed) {}

  Expected<FinalResult> hold(llvm::ArrayRef<double> ratios) {
    std::vector<Contender> contenders = choose(ratios);
    if (contenders.empty())
      return none("nothing was faster than the baseline");
    double begin = clock.now();
    for (unsigned round = 1; contenders.size() > 1; ++round) {
      if (Error error = playRound(contenders, begin))
        return std::move(error);
      bool isOver = dropSlower(contenders);
      if (isOver || round == options.rounds || isHalfOver(begin))
        break;
    }
    if (contenders.empty())
      return none("the best candidates failed in the final");
    // On a noisy machine the wrong one may have been chosen; it is known then.
    begin = clock.now();
    Expected<FinalResult> result = confirm(contenders.front(), begin);
    for (size_t i = 1; i < std::min<size_t>(3, contenders.size()); ++i) {
      if (!result || result->winner || isHalfOver(begin))
        break;
      result = confirm(contenders[i], begin);
    }
    return result;
  }

private:
  double seconds() const {
    return isDisturbed ? options.noisySeconds : options.maxSeconds;
  }
  /// Half of the time is for choosing, half for confirming.
  bool isHalfOver(double begin) const {
    return clock.now() >= begin + seconds() / 2;
  }

  /// When half of them are not known to half of what counts as a gain.
  void lookForNoise(llvm::ArrayRef<Contender> contenders) {
    std::vector<double> errors;
    for (const Contender &contender : contenders)
      errors.push_back(contender.error);
    if (!errors.empty() && median(errors) > options.minimumGain / 2)
      isDisturbed = true;
  }

  FinalResult none(std::string reason) {
    FinalResult result;
    result.reason = std::move(reason);
    return result;
  }

  /// The best-looking that look as if they could be a gain.
  std::vector<Contender> choose(llvm::ArrayRef<double> ratios) {
    std::vector<size_t> order;
    for (size_t i = 0; i < ratios.size(); ++i)
      if (ratios[i] < 1 - options.minimumGain / 2)
        order.push_back(i);
    llvm::stable_sort(
        order, [&](size_t a, size_t b) { return ratios[a] < ratios[b]; });
    if (order.size() > options.contenders)
      order.resize(options.contenders);
    if (order.empty())
      return {};
    // A fifth slower is not made up by luck; but the very best may be luck.
    double third = ratios[order[std::min<size_t>(2, order.size() - 1)]];
    std::vector<Contender> contenders;
    for (size_t index : order)
      if (ratios[index] < 1.2 * third)
        contenders.push_back({index, {}, {}, 0});
    return contenders;
  }

  TimingOptions timing() {
    TimingOptions timing;
    timing.seed = random();
    timing.minSeconds = 0.1;
    timing.maxSeconds = std::max(0.5, seconds() / 10);
    timing.minRepetitions = 11;
    timing.maxRepetitions = 101;
    timing.loserPairs = 0;
    return timing;
  }

  /// False when the candidate is out. It worked in the search, so a failure may
  /// be an accident, and it is asked once more.
  Expected<bool> time(Contender &contender, FinalResult *result = nullptr) {
    auto times = timer.time(contender.index, timing());
    if (times && !*times)
      times = timer.time(contender.index, timing());
    if (!times)
      return times.takeError();
    if (!*times)
      return false;
    std::vector<double> logs;
    for (auto [seconds, baseline] :
         llvm::zip_equal((*times)->seconds, (*times)->baselineSeconds))
      logs.push_back(std::log(baseline / seconds));
    if (logs.empty())
      return false;
    llvm::append_range(contender.pairs, logs);
    contender.processes.push_back(logOfRatio(
        (*times)->baselineSeconds, (*times)->seconds, &contender.error));
    if (result) {
      llvm::append_range(result->seconds, (*times)->seconds);
      llvm::append_range(result->baselineSeconds, (*times)->baselineSeconds);
    }
    return true;
  }

  /// All in one fresh process: it may be a lucky process, but then for all. The
  /// first time the best-looking begin, and when time is up it is about them.
  Error playRound(std::vector<Contender> &contenders, double begin) {
    if (Error error = timer.startRound())
      return error;
    bool isFirst = contenders.front().processes.empty();
    if (!isFirst)
      std::shuffle(contenders.begin(), contenders.end(), random);
    std::vector<Contender> left;
    for (Contender &contender : contenders) {
      if (isFirst && left.size() >= 2 && isHalfOver(begin))
        break;
      Expected<bool> stays = time(contender);
      if (!stays)
        return stays.takeError();
      if (*stays)
        left.push_back(std::move(contender));
    }
    contenders = std::move(left);
    lookForNoise(contenders);
    return Error::success();
  }

  /// What the times of one contender scatter by from process to process; that
  /// of all, since each has been in few.
  static double scatter(const std::vector<Contender> &contenders) {
    double squares = 0, freedom = 0;
    for (const Contender &contender : contenders) {
      double mean = 0, count = double(contender.processes.size());
      for (double value : contender.processes)
        mean += value / count;
      for (double value : contender.processes)
        squares += (value - mean) * (value - mean);
      freedom += count - 1;
    }
    return freedom > 0 ? std::sqrt(squares / freedom) : 0;
  }

  /// Sorts, the best first, and drops those that are certain to be worse, and
  /// half at first; true when those that are left are as good as each other.
  bool dropSlower(std::vector<Contender> &contenders) {
    if (contenders.empty())
      return true;
    llvm::stable_sort(contenders, [](const Contender &a, const Contender &b) {
      return a.score() > b.score();
    });
    double rounds = double(contenders.front().processes.size());
    double deviation = scatter(contenders);
    for (const Contender &contender : contenders)
      deviation = std::max(deviation, contender.error);
    double noise = 2 * deviation / std::sqrt(rounds);
    double margin = std::max(noise, options.minimumGain);
    double best = contenders.front().score();
    size_t count = contenders.size();
    llvm::erase_if(contenders, [&](const Contender &contender) {
      return contender.score() < best - margin;
    });
    // One process says nothing about others: half of them at most.
    if (rounds == 1) {
      contenders.resize(
          std::max<size_t>(1, std::min(contenders.size(), (count + 1) / 2)),
          contenders.front());
      return false;
    }
    return noise <= options.minimumGain;
  }

  enum class Answer { Yes, No, Unknown };

  /// The medians of processes scatter more than the pairs inside one: memory
  /// lies elsewhere, the neighbours are others. So they decide, and pairs only
  /// where programs are so slow that there is time for a process or two.
  Answer isGain(const Contender &contender) const {
    double gain = std::log1p(options.minimumGain);
    llvm::ArrayRef<double> values = contender.processes;
    if (values.size() < options.confirmations)
      return Answer::Unknown;
    // Asked after every process, and by two tests, of up to three contenders: a
    // Yes has to be so rarely wrong that all of them are in one of a hundred.
    // The sign test is not upset by a process that went wild.
    for (auto [low, high] :
         {meanInterval(values, 0.9995), signInterval(values, 0.9995)})
      if (low > 0 && median(values) >= gain)
        return Answer::Yes;
    for (auto [low, high] :
         {meanInterval(values, 0.99), signInterval(values, 0.99)})
      if (high < gain)
        return Answer::No;
    return Answer::Unknown;
  }

  /// When time is up before enough processes were seen.
  Answer isGainByPairs(const Contender &contender) const {
    if (contender.pairs.size() < 2)
      return Answer::Unknown;
    auto [low, high] = contender.pairs.size() < 12
                           ? meanInterval(contender.pairs, 0.99)
                           : signInterval(contender.pairs, 0.99);
    // By how much processes differ is not seen in few of them.
    bool isYes = low > std::log1p(options.minimumGain);
    return isYes ? Answer::Yes : Answer::Unknown;
  }

  Expected<Speedup> speedupOf(const Contender &contender,
                              const FinalResult &result) const {
    llvm::ArrayRef<double> values = contender.processes;
    if (values.size() < options.confirmations)
      return pairedSpeedup(result.seconds, result.baselineSeconds,
                           options.seed);
    auto [low, high] = meanInterval(values, 0.95);
    double centre = median(values);
    return Speedup{std::exp(centre), std::exp(std::min(low, centre)),
                   std::exp(std::max(high, centre))};
  }

  Expected<FinalResult> confirm(const Contender &best, double begin) {
    FinalResult result;
    Contender fresh = {best.index, {}, {}, 0};
    Answer answer = Answer::Unknown;
    unsigned processes = 0;
    while (answer == Answer::Unknown && processes < options.maxConfirmations &&
           (processes == 0 || !isHalfOver(begin))) {
      if (Error error = timer.startRound())
        return std::move(error);
      Expected<bool> stays = time(fresh, &result);
      if (!stays)
        return stays.takeError();
      if (!*stays)
        return none("the best candidate failed in the final");
      ++processes;
      lookForNoise(fresh);
      answer = isGain(fresh);
    }
    if (processes < options.confirmations)
      answer = isGainByPairs(fresh);
    auto speedup = speedupOf(fresh, result);
    if (!speedup)
      return speedup.takeError();
    result.speedup = *speedup;
    if (answer == Answer::Yes)
      result.winner = fresh.index;
    else
      result.reason =
          llvm::formatv("no gain: the best candidate is {0:f3} times as fast, "
                        "and that is not certain",
                        speedup->value);
    return result;
  }

  FinalTimer &timer;
  const FinalOptions &options;
  Clock &clock;
  std::mt19937_64 random;
  bool isDisturbed = false;
};

} // namespace

Expected<FinalResult> attune::holdFinal(llvm::ArrayRef<double> ratios,
                                        FinalTimer &timer,
                                        const FinalOptions &options,
                                        Clock &clock) {
  return Final(timer, options, clock).hold(ratios);
}
