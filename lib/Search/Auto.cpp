//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `auto`: some random ones, then those from which a Gaussian process expects
// the most; see docs/rooms/Search.md for what was tried and why this.

#include "GaussianProcess.h"
#include "Searchers.h"

#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <deque>
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
        coordinates(space), first(std::move(first)), kernel(coordinates) {}

  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override;
  std::string stopReason() const override;

private:
  /// Before so many are told, too little is known to go anywhere.
  static constexpr size_t randomStart = 7;
  /// One in so many stays random, so that no wrong belief lasts for ever.
  static constexpr size_t randomShare = 40;
  /// Where the process is looked at: so many drawn from everywhere for a new
  /// process and for each ask, the neighbours of so many of the best, and those
  /// of so many of the most promising for each ask.
  static constexpr size_t drawn = 300, drawnEach = 10, parents = 5,
                          expansions = 3;
  /// Neighbours of one configuration that are looked at, random ones.
  static constexpr size_t mostNeighbours = 60;
  static constexpr size_t mostCandidates = 800, keptCandidates = 400;
  /// The process learns from the best and from random ones of the others, its
  /// scales from fewer; these are fitted when there is so much more to learn
  /// from.
  static constexpr size_t mostLearnt = 160, mostFitted = 120;
  static size_t fitAfter(size_t known) { return 1 + known / 4; }

  /// Nothing better is expected: the most promising candidate promises less
  /// than this share, several times in a row, and long after the last gain.
  static constexpr double leastPromise = 1e-3;
  static constexpr size_t poorAsks = 10, patience = 60, leastTrials = 100;

  struct Known {
    Numbers numbers;
    std::vector<double> point;
    double logTime; ///< NaN: it failed.
    bool failed() const { return std::isnan(logTime); }
  };
  /// A valid configuration that was not asked, and what is expected of it.
  struct Candidate {
    Numbers numbers;
    std::vector<double> point;
    GaussianProcess::Query query;
    double ran = 0, near = 0; ///< Weights of the trials near it.
    size_t trials = 0;        ///< So many have been looked at.
    double gain = 0;          ///< Expected, in the logarithm of the time.
    bool isExpanded = false;
    bool isGone = false; ///< It was asked or told meanwhile.
  };

  std::optional<Numbers> next();
  std::optional<Numbers> nextFirst();
  std::optional<Numbers> nextPromising();
  void learn();
  void remake();
  std::vector<const Known *> chooseLearnt(std::vector<const Known *> ranked);
  void fit(const std::vector<const Known *> &chosen);
  double targetOf(const Known &trial) const;
  void look(Numbers numbers);
  void refresh(Candidate &candidate);
  double promiseOf(const Candidate &candidate) const;
  Candidate *mostPromising();
  void expand(const Numbers &numbers);
  void shrink();

  const Space &space;
  RandomOrder order;
  std::mt19937_64 random;
  Coordinates coordinates;
  std::vector<Configuration> first;
  size_t nextOfFirst = 0;
  std::deque<Known> known; ///< Does not move: the process points into it.
  size_t succeeded = 0, bestAt = 0;
  double best = INFINITY; ///< Logarithm of the least time.
  /// Asked, not told yet: by key, where they are.
  std::map<std::string, std::vector<double>> pending;

  Kernel kernel;
  std::optional<GaussianProcess> process;
  size_t learnt = 0;              ///< Of `known`, those in the process.
  size_t remakeAt = 0, fitAt = 0; ///< Numbers of trials.
  double middle = 0, cap = INFINITY;
  std::deque<Candidate> pool;
  std::map<std::string, Candidate *> places;
  size_t poor = 0; ///< Asks in a row that promised nothing.
};

} // namespace

void AutoSearcher::tell(const Trial &trial) {
  auto numbers = space.encode(trial.configuration);
  if (!numbers || !space.contains(*numbers))
    return;
  order.exclude(*numbers);
  std::string key = RandomOrder::toKey(*numbers);
  pending.erase(key);
  if (auto place = places.find(key); place != places.end())
    place->second->isGone = true;
  // The ratio to the baseline beside it does not drift with the machine.
  double time = trial.baselineSeconds.empty() ? trial.medianSeconds()
                                              : trial.medianRatio();
  bool isGood = trial.outcome == Outcome::Ok && time > 0 && std::isfinite(time);
  std::vector<double> point = coordinates.of(*numbers);
  known.push_back(
      {std::move(*numbers), std::move(point), isGood ? std::log(time) : NAN});
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

//===----------------------------------------------------------------------===//
// Learning
//===----------------------------------------------------------------------===//

/// What is slower than most need not be told apart.
double AutoSearcher::targetOf(const Known &trial) const {
  return std::min(trial.logTime, cap) - middle;
}

/// The best half of what is learnt, and random ones of the rest.
std::vector<const AutoSearcher::Known *>
AutoSearcher::chooseLearnt(std::vector<const Known *> ranked) {
  if (ranked.size() <= mostLearnt)
    return ranked;
  for (size_t i = mostLearnt / 2; i < mostLearnt; ++i)
    std::swap(ranked[i], ranked[i + drawBelow(ranked.size() - i, random)]);
  ranked.resize(mostLearnt);
  return ranked;
}

void AutoSearcher::fit(const std::vector<const Known *> &chosen) {
  std::vector<const double *> points;
  std::vector<double> targets;
  size_t n = std::min(chosen.size(), mostFitted);
  for (size_t i = 0; i < n; ++i) {
    const Known *trial = chosen[i * chosen.size() / n];
    points.push_back(trial->point.data());
    targets.push_back(targetOf(*trial));
  }
  fitKernel(kernel, coordinates, points, targets, fitAt ? 12 : 24);
  fitAt = known.size() + fitAfter(known.size());
}

/// A new process, of what is worth learning from, and new candidates.
void AutoSearcher::remake() {
  std::vector<const Known *> ranked;
  for (const Known &trial : known)
    if (!trial.failed())
      ranked.push_back(&trial);
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const Known *a, const Known *b) { return a->logTime < b->logTime; });
  cap = ranked[(ranked.size() - 1) * 3 / 4]->logTime;
  std::vector<const Known *> chosen = chooseLearnt(ranked);
  double sum = 0;
  for (const Known *trial : chosen)
    sum += std::min(trial->logTime, cap);
  middle = sum / double(chosen.size());
  if (known.size() >= fitAt)
    fit(chosen);
  process.emplace(kernel);
  for (const Known *trial : chosen)
    process->add(trial->point.data(), targetOf(*trial));
  learnt = known.size();
  remakeAt = succeeded > mostLearnt ? learnt + mostLearnt / 2 : fitAt;

  pool.clear();
  places.clear();
  for (size_t i = 0; i < drawn; ++i)
    look(space.sampleNumbers(random));
  ranked.resize(std::min(ranked.size(), parents));
  for (const Known *trial : ranked)
    expand(trial->numbers);
}

/// Brings the process up to date.
void AutoSearcher::learn() {
  if (!process || known.size() >= remakeAt)
    remake();
  for (; learnt < known.size(); ++learnt) {
    const Known &trial = known[learnt];
    if (trial.failed())
      continue;
    process->add(trial.point.data(), targetOf(trial));
    if (trial.logTime <= best + 0.01)
      expand(trial.numbers);
  }
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

void AutoSearcher::look(Numbers numbers) {
  std::string key = RandomOrder::toKey(numbers);
  if (order.isGiven(numbers))
    return;
  auto [place, isNew] = places.try_emplace(std::move(key), nullptr);
  if (!isNew)
    return;
  Candidate &candidate = pool.emplace_back();
  place->second = &candidate;
  candidate.point = coordinates.of(numbers);
  candidate.numbers = std::move(numbers);
}

/// Its neighbours become candidates: at most so many, random ones.
void AutoSearcher::expand(const Numbers &numbers) {
  std::vector<Numbers> all = space.neighbours(numbers);
  for (size_t i = 0; i < all.size() && i < mostNeighbours; ++i) {
    std::swap(all[i], all[i + drawBelow(all.size() - i, random)]);
    look(std::move(all[i]));
  }
}

/// Expected improvement (Jones et al. 1998) times the probability that it runs
/// at all, which trials near it tell.
void AutoSearcher::refresh(Candidate &candidate) {
  if (candidate.trials == known.size())
    return;
  process->update(candidate.query, candidate.point.data());
  if (succeeded < known.size())
    for (size_t i = candidate.trials; i < known.size(); ++i) {
      double alike = kernel(candidate.point.data(), known[i].point.data());
      candidate.near += alike * alike;
      candidate.ran += known[i].failed() ? 0 : alike * alike;
    }
  candidate.trials = known.size();
  double deviation =
      std::sqrt(std::max(candidate.query.variance, 1e-8) * process->signal());
  double z = (best - middle - candidate.query.mean) / deviation;
  double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  double below = std::erfc(-z / std::numbers::sqrt2) / 2;
  double gain = std::max(deviation * (z * below + density), 1e-300);
  // Before anything near it was tried, it is like all others.
  constexpr double weight = 0.3;
  double usual = double(succeeded + 1) / double(known.size() + 1);
  candidate.gain =
      gain * (candidate.ran + weight * usual) / (candidate.near + weight);
}

/// What is asked already will tell about what is near it.
double AutoSearcher::promiseOf(const Candidate &candidate) const {
  double promise = candidate.gain;
  for (const auto &[key, point] : pending) {
    double alike = kernel(candidate.point.data(), point.data());
    promise *= 1 - alike * alike;
  }
  return promise;
}

AutoSearcher::Candidate *AutoSearcher::mostPromising() {
  Candidate *top = nullptr;
  double most = -1;
  for (Candidate &candidate : pool) {
    if (candidate.isGone)
      continue;
    refresh(candidate);
    if (double promise = promiseOf(candidate); promise > most) {
      most = promise;
      top = &candidate;
    }
  }
  return top;
}

/// Forgets the less promising half where there are too many.
void AutoSearcher::shrink() {
  if (pool.size() <= mostCandidates)
    return;
  std::vector<double> gains;
  for (const Candidate &candidate : pool)
    gains.push_back(candidate.isGone ? -1 : candidate.gain);
  std::nth_element(gains.begin(), gains.begin() + keptCandidates, gains.end(),
                   std::greater<>());
  double least = gains[keptCandidates];
  std::deque<Candidate> kept;
  places.clear();
  for (Candidate &candidate : pool) {
    if (candidate.isGone || candidate.gain <= least)
      continue;
    kept.push_back(std::move(candidate));
    places[RandomOrder::toKey(kept.back().numbers)] = &kept.back();
  }
  pool = std::move(kept);
}

//===----------------------------------------------------------------------===//
// Asking
//===----------------------------------------------------------------------===//

std::optional<Numbers> AutoSearcher::nextPromising() {
  learn();
  shrink();
  for (size_t i = 0; i < drawnEach; ++i)
    look(space.sampleNumbers(random));
  Candidate *top = mostPromising();
  for (size_t i = 0; i < expansions && top && !top->isExpanded; ++i) {
    top->isExpanded = true;
    expand(top->numbers);
    top = mostPromising();
  }
  if (!top)
    return std::nullopt;
  poor = top->gain < leastPromise ? poor + 1 : 0;
  top->isGone = true;
  return top->numbers;
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
    std::string key = RandomOrder::toKey(*numbers);
    if (auto place = places.find(key); place != places.end())
      place->second->isGone = true;
    pending.emplace(std::move(key), coordinates.of(*numbers));
    result.push_back(space.decode(*numbers));
  }
  return result;
}

std::string AutoSearcher::stopReason() const {
  if (order.isExhausted())
    return exhaustedReason(space);
  if (poor >= poorAsks && known.size() >= leastTrials &&
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
