//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `auto`: a random start, then mostly neighbours of the best known, and some
// random ones so that no valley holds it for ever.

#include "Searchers.h"

#include "llvm/ADT/STLExtras.h"

using namespace attune;

namespace {

class AutoSearcher : public Searcher {
public:
  AutoSearcher(const Space &space, uint64_t seed,
               std::vector<Configuration> first)
      : space(space), order(space, seed), random(seed ^ 0x5DEECE66Du),
        first(std::move(first)) {}

  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override;
  std::string stopReason() const override {
    return order.isExhausted() ? exhaustedReason(space) : "";
  }

private:
  /// Before so many are asked, too little is known to go anywhere.
  static constexpr size_t randomStart = 12;
  /// One in so many stays random.
  static constexpr size_t randomShare = 6;
  /// Neighbours are taken of so many of the best.
  static constexpr size_t parents = 4;

  struct Known {
    double time;
    Configuration configuration;
  };

  std::optional<Configuration> next();
  std::optional<Configuration> nextFirst();
  std::optional<Configuration> nextNeighbour();

  const Space &space;
  RandomOrder order;
  std::mt19937_64 random;
  std::vector<Configuration> first;
  size_t nextOfFirst = 0;
  size_t asked = 0;
  std::vector<Known> best; ///< Sorted by time, bounded.
};

} // namespace

void AutoSearcher::tell(const Trial &trial) {
  order.exclude(trial.configuration);
  if (trial.outcome != Outcome::Ok || !space.contains(trial.configuration))
    return;
  // The ratio to the baseline beside it does not drift with the machine.
  double time = trial.baselineSeconds.empty() ? trial.medianSeconds()
                                              : trial.medianRatio();
  if (!(time > 0))
    return;
  auto place = llvm::partition_point(
      best, [&](const Known &known) { return known.time <= time; });
  best.insert(place, {time, trial.configuration});
  if (best.size() > 64)
    best.pop_back();
}

std::optional<Configuration> AutoSearcher::nextFirst() {
  while (nextOfFirst < first.size()) {
    const Configuration &candidate = first[nextOfFirst++];
    if (!space.contains(candidate) || order.isGiven(candidate))
      continue;
    order.exclude(candidate);
    return candidate;
  }
  return std::nullopt;
}

/// A neighbour, not given yet, of one of the best; the better, the likelier.
std::optional<Configuration> AutoSearcher::nextNeighbour() {
  size_t usable = std::min(best.size(), parents);
  size_t start = 0;
  while (start + 1 < usable && drawBelow(2, random))
    ++start;
  for (size_t i = 0; i < best.size(); ++i) {
    const Known &parent = best[(start + i) % best.size()];
    std::vector<Configuration> open;
    for (Configuration &neighbour : space.neighbours(parent.configuration))
      if (!order.isGiven(neighbour))
        open.push_back(std::move(neighbour));
    if (open.empty())
      continue;
    Configuration &chosen = open[drawBelow(open.size(), random)];
    order.exclude(chosen);
    return std::move(chosen);
  }
  return std::nullopt;
}

std::optional<Configuration> AutoSearcher::next() {
  if (auto configuration = nextFirst())
    return configuration;
  bool isLocal = asked >= randomStart && drawBelow(randomShare, random) != 0;
  if (isLocal)
    if (auto configuration = nextNeighbour())
      return configuration;
  return order.next();
}

std::vector<Configuration> AutoSearcher::ask(size_t n) {
  std::vector<Configuration> result;
  while (result.size() < n) {
    auto configuration = next();
    if (!configuration)
      break;
    ++asked;
    result.push_back(std::move(*configuration));
  }
  return result;
}

std::unique_ptr<Searcher>
attune::createAutoSearcher(const Space &space, uint64_t seed,
                           std::vector<Configuration> first) {
  return std::make_unique<AutoSearcher>(space, seed, std::move(first));
}
