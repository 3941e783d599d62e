//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `auto`: some random ones, then those from which a forest of random trees
// expects the most; see docs/rooms/Search.md for what was tried and why this.

#include "Features.h"
#include "Forest.h"
#include "Searchers.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <map>
#include <numbers>

using namespace attune;

namespace {

using Numbers = std::vector<uint64_t>; ///< As Space::encode writes them.

class AutoSearcher : public Searcher {
public:
  AutoSearcher(const Space &space, uint64_t seed,
               std::vector<Configuration> first)
      : space(space), order(space, seed), random(seed ^ 0x5DEECE66Du),
        features(space), first(std::move(first)) {}

  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override;
  std::string stopReason() const override;

private:
  /// Before so many are asked, too little is known to go anywhere.
  static constexpr size_t randomStart = 12;
  /// One in so many stays random, so that no wrong belief lasts for ever.
  static constexpr size_t randomShare = 20;
  /// What the model looks at: so many drawn from everywhere, the neighbours of
  /// so many of the best, and from so many promising places uphill.
  static constexpr size_t drawn = 300, parents = 5, climbs = 5, steps = 6;
  /// Neighbours of one configuration that are looked at.
  static constexpr size_t mostNeighbours = 150;
  /// The model is made again when there is so much more to learn from.
  static size_t refitAfter(size_t known) { return 1 + known / 40; }
  /// It learns from the latest so many and the best.
  static constexpr size_t mostLearnt = 2000;

  /// Nothing better is expected: the most promising candidate promises less
  /// than this share, several times in a row, and long after the last gain.
  static constexpr double leastPromise = 1e-3;
  static constexpr size_t poorModels = 3, patience = 60, leastTrials = 100;

  struct Known {
    Numbers numbers;
    double logTime; ///< NaN: it failed.
    bool failed() const { return std::isnan(logTime); }
  };
  struct Candidate {
    double promise; ///< Expected gain in the logarithm of the time.
    Numbers numbers;
  };
  class Model;

  std::optional<Numbers> next();
  std::optional<Numbers> nextFirst();
  std::optional<Numbers> nextPromising();
  void think();
  std::vector<Numbers> openNeighbours(const Numbers &numbers);

  const Space &space;
  RandomOrder order;
  std::mt19937_64 random;
  Features features;
  std::vector<Configuration> first;
  size_t nextOfFirst = 0, asked = 0;
  std::vector<Known> known;
  std::map<std::string, Numbers> pending; ///< Asked, not told yet.
  size_t succeeded = 0, bestAt = 0;
  double best = INFINITY;       ///< Logarithm of the least time.
  std::vector<Candidate> queue; ///< The most promising last.
  size_t changes = 0;           ///< Asked and told since the last model.
  size_t poor = 0;              ///< Models in a row that promised nothing.
};

/// What the trials so far say of a configuration.
class AutoSearcher::Model {
public:
  Model(const Features &features, llvm::ArrayRef<const Known *> known,
        double best, std::mt19937_64 &random);
  double promise(const Numbers &numbers) const;

private:
  const Features &features;
  double best;
  std::optional<Forest> times, failures;
  mutable std::vector<float> point;
};

} // namespace

AutoSearcher::Model::Model(const Features &features,
                           llvm::ArrayRef<const Known *> known, double best,
                           std::mt19937_64 &random)
    : features(features), best(best), point(features.size()) {
  std::vector<float> rows(known.size() * features.size()), good;
  std::vector<double> logTimes, failed;
  for (auto [i, trial] : llvm::enumerate(known)) {
    float *row = &rows[i * features.size()];
    features.write(trial->numbers, row);
    failed.push_back(trial->failed());
    if (trial->failed())
      continue;
    good.insert(good.end(), row, row + features.size());
    logTimes.push_back(trial->logTime);
  }
  times.emplace(good, features.size(), logTimes, ForestOptions{}, random);
  if (logTimes.size() < known.size())
    failures.emplace(rows, features.size(), failed, ForestOptions{20, 0.3, 1},
                     random);
}

/// Expected improvement (Jones et al. 1998) times the probability that it runs
/// at all.
double AutoSearcher::Model::promise(const Numbers &numbers) const {
  features.write(numbers, point.data());
  Prediction time = times->predict(point.data());
  double deviation = std::max(time.deviation, 1e-4);
  double z = (best - time.mean) / deviation;
  double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  double below = std::erfc(-z / std::numbers::sqrt2) / 2;
  double gain = deviation * (z * below + density);
  double works = failures ? 1 - failures->predict(point.data()).mean : 1;
  return std::max(gain, 1e-300) * std::max(works, 1e-3);
}

void AutoSearcher::tell(const Trial &trial) {
  auto numbers = space.encode(trial.configuration);
  if (!numbers || !space.contains(*numbers))
    return;
  order.exclude(*numbers);
  pending.erase(RandomOrder::toKey(*numbers));
  // The ratio to the baseline beside it does not drift with the machine.
  double time = trial.baselineSeconds.empty() ? trial.medianSeconds()
                                              : trial.medianRatio();
  bool isGood = trial.outcome == Outcome::Ok && time > 0 && std::isfinite(time);
  known.push_back({std::move(*numbers), isGood ? std::log(time) : NAN});
  ++changes;
  succeeded += isGood;
  if (!isGood || !(known.back().logTime < best))
    return;
  if (known.back().logTime < best - 0.01)
    bestAt = known.size();
  best = known.back().logTime;
}

std::optional<Numbers> AutoSearcher::nextFirst() {
  while (nextOfFirst < first.size()) {
    auto numbers = space.encode(first[nextOfFirst++]);
    if (numbers && space.contains(*numbers) && !order.isGiven(*numbers))
      return numbers;
  }
  return std::nullopt;
}

/// At most so many of the neighbours, random ones, that were not asked yet.
std::vector<Numbers> AutoSearcher::openNeighbours(const Numbers &numbers) {
  std::vector<Numbers> all = space.neighbours(numbers);
  llvm::erase_if(all, [&](const Numbers &n) { return order.isGiven(n); });
  for (size_t i = 0; i < all.size() && i < mostNeighbours; ++i)
    std::swap(all[i], all[i + drawBelow(all.size() - i, random)]);
  if (all.size() > mostNeighbours)
    all.resize(mostNeighbours);
  return all;
}

/// Makes a model of what is known, and a queue of what it finds promising.
void AutoSearcher::think() {
  changes = 0;
  queue.clear();
  std::vector<const Known *> ranked, learnt;
  for (const Known &trial : known)
    if (!trial.failed())
      ranked.push_back(&trial);
  llvm::stable_sort(ranked, [](const Known *a, const Known *b) {
    return a->logTime < b->logTime;
  });
  size_t recent = known.size() > mostLearnt ? known.size() - mostLearnt : 0;
  for (const Known &trial : llvm::drop_begin(known, recent))
    learnt.push_back(&trial);
  if (recent)
    for (const Known *trial : llvm::ArrayRef(ranked).take_front(mostLearnt / 4))
      if (trial < &known[recent])
        learnt.push_back(trial);
  Model model(features, learnt, best, random);

  std::map<Numbers, double> seen;
  auto look = [&](const Numbers &numbers) {
    auto [place, isNew] = seen.try_emplace(numbers, 0);
    if (isNew)
      place->second = model.promise(numbers);
    return place->second;
  };
  for (size_t i = 0; i < drawn; ++i)
    if (Numbers numbers = space.sampleNumbers(random); !order.isGiven(numbers))
      look(numbers);
  for (const Known *parent : llvm::ArrayRef(ranked).take_front(parents))
    for (const Numbers &neighbour : openNeighbours(parent->numbers))
      look(neighbour);
  std::vector<Candidate> starts;
  for (const auto &[numbers, promise] : seen)
    starts.push_back({promise, numbers});
  auto isMore = [](const Candidate &a, const Candidate &b) {
    return a.promise > b.promise;
  };
  llvm::stable_sort(starts, isMore);
  starts.resize(std::min(starts.size(), climbs));
  for (Candidate &place : starts)
    for (size_t step = 0; step < steps; ++step) {
      Candidate up = place;
      for (const Numbers &neighbour : openNeighbours(place.numbers))
        if (double promise = look(neighbour); promise > up.promise)
          up = {promise, neighbour};
      if (up.promise <= place.promise)
        break;
      place = std::move(up);
    }
  for (const auto &[numbers, promise] : seen)
    queue.push_back({promise, numbers});
  llvm::stable_sort(queue, isMore);
  queue.resize(std::min<size_t>(queue.size(), 256));
  poor = queue.empty() || queue.front().promise < leastPromise ? poor + 1 : 0;
  std::reverse(queue.begin(), queue.end());
}

std::optional<Numbers> AutoSearcher::nextPromising() {
  if (queue.empty() || changes >= 2 * refitAfter(known.size()))
    think();
  while (!queue.empty()) {
    Numbers numbers = std::move(queue.back().numbers);
    queue.pop_back();
    if (!order.isGiven(numbers))
      return numbers;
  }
  return std::nullopt;
}

std::optional<Numbers> AutoSearcher::next() {
  if (auto numbers = nextFirst())
    return numbers;
  bool knowsEnough = known.size() >= randomStart && succeeded >= 2;
  if (knowsEnough && drawBelow(randomShare, random) != 0)
    if (auto numbers = nextPromising())
      return numbers;
  auto configuration = order.next();
  return configuration ? space.encode(*configuration) : std::nullopt;
}

std::vector<Configuration> AutoSearcher::ask(size_t n) {
  std::vector<Configuration> result;
  while (result.size() < n) {
    auto numbers = next();
    if (!numbers)
      break;
    order.exclude(*numbers);
    ++asked;
    ++changes;
    pending.emplace(RandomOrder::toKey(*numbers), *numbers);
    result.push_back(space.decode(*numbers));
  }
  return result;
}

std::string AutoSearcher::stopReason() const {
  if (order.isExhausted())
    return exhaustedReason(space);
  if (poor >= poorModels && known.size() >= leastTrials &&
      known.size() - bestAt >= patience)
    return llvm::formatv("nothing better is to be expected: the most promising "
                         "configuration promises under {0:P1}, and {1} trials "
                         "brought no gain",
                         leastPromise, known.size() - bestAt)
        .str();
  return "";
}

std::unique_ptr<Searcher>
attune::createAutoSearcher(const Space &space, uint64_t seed,
                           std::vector<Configuration> first) {
  return std::make_unique<AutoSearcher>(space, seed, std::move(first));
}
