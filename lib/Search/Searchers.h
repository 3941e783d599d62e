//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef ATTUNE_LIB_SEARCH_SEARCHERS_H
#define ATTUNE_LIB_SEARCH_SEARCHERS_H

#include "attune/Search/Searcher.h"
#include <unordered_map>
#include <unordered_set>

namespace attune {

/// Uniform below `bound` > 0, the same on every platform.
uint64_t drawBelow(uint64_t bound, std::mt19937_64 &random);

/// `exhausted: all 12 configurations tried`.
std::string exhaustedReason(const Space &space);

/// A random permutation of a space, drawn one by one; takes memory for what was
/// drawn, not for the space.
class RandomOrder {
public:
  RandomOrder(const Space &space, uint64_t seed);

  /// The next configuration, uniform among those not given or excluded yet;
  /// nothing when there is none.
  std::optional<Configuration> next();

  /// Will not come from `next` any more. What is not in the space is ignored.
  void exclude(const Configuration &configuration);
  bool isGiven(const Configuration &configuration) const;

  /// The same for valid configurations as Space::encode writes them.
  void exclude(llvm::ArrayRef<uint64_t> values) { given.insert(toKey(values)); }
  bool isGiven(llvm::ArrayRef<uint64_t> values) const {
    return given.count(toKey(values));
  }
  static std::string toKey(llvm::ArrayRef<uint64_t> values);

  bool isExhausted() const;

private:
  const Space &space;
  std::mt19937_64 random;
  uint64_t drawn = 0;
  std::unordered_map<uint64_t, uint64_t> permuted;
  std::unordered_set<std::string> given;
};

class RandomSearcher : public Searcher {
public:
  RandomSearcher(const Space &space, uint64_t seed)
      : space(space), order(space, seed) {}
  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override { order.exclude(trial.configuration); }
  std::string stopReason() const override;

private:
  const Space &space;
  RandomOrder order;
};

class ExhaustiveSearcher : public Searcher {
public:
  explicit ExhaustiveSearcher(const Space &space) : space(space) {}
  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override;
  std::string stopReason() const override;

private:
  const Space &space;
  uint64_t next = 0;
  std::unordered_set<uint64_t> told; ///< Numbers not reached yet.
};

std::unique_ptr<Searcher> createAutoSearcher(const Space &space, uint64_t seed,
                                             std::vector<Configuration> first);

} // namespace attune

#endif // ATTUNE_LIB_SEARCH_SEARCHERS_H
