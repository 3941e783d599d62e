//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Knobs with exact domains and constraints over them, counted and sampled
// without listing.

#ifndef ATTUNE_SPACE_SPACE_H
#define ATTUNE_SPACE_SPACE_H

#include "attune/Schedule/Configuration.h"
#include "attune/Space/Domain.h"
#include "attune/Space/Expression.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <random>

namespace attune {

/// A tuning variable. Constraints see an integer or boolean by its value and a
/// choice by the index of its option.
struct Knob {
  std::string name;
  Domain domain;
  /// The knob exists only where this holds (an alternative that was chosen); a
  /// configuration has no value for a knob that does not exist.
  std::optional<Expression> condition = std::nullopt;
};

/// The valid configurations of a set of knobs, numbered 0 .. count()-1 in an
/// order that depends on the declaration alone.
///
/// Knobs that share constraints form a group; each group is a decision diagram
/// (see docs/rooms/Space.md), so that everything below takes time in the number
/// of knobs and values, not in the number of configurations. Copies share it;
/// it is never changed, and safe to use from several threads.
class Space {
public:
  /// Errors: a duplicate knob, an unknown knob in a constraint or condition, a
  /// cycle of conditions, a type error; a configuration for which one
  /// constraint divides by zero or overflows and no other is false. An
  /// unsatisfiable space is a space of count 0: see `explainEmptiness`.
  static llvm::Expected<Space> create(std::string schedule,
                                      std::vector<Knob> knobs,
                                      std::vector<Expression> constraints);

  /// The space of exactly these configurations, each as `encode` writes it: for
  /// recorded measurements, whose constraints nobody wrote down. Errors: a
  /// duplicate knob, a row that does not fit the knobs. Equal rows count once.
  static llvm::Expected<Space> table(std::string schedule,
                                     std::vector<Knob> knobs,
                                     std::vector<std::vector<uint64_t>> rows);

  /// The number of valid configurations, exact; saturates at 2^64-1.
  uint64_t count() const;

  /// The configuration with number `index` < count().
  Configuration at(uint64_t index) const;

  /// The number of `configuration`, or nothing if it is not in the space (or
  /// its number does not fit in 64 bits).
  std::optional<uint64_t> indexOf(const Configuration &configuration) const;
  bool contains(const Configuration &configuration) const;

  /// Uniform over the valid configurations, also where there are more than
  /// 2^64; count() must not be 0.
  Configuration sample(std::mt19937_64 &random) const;

  /// Valid configurations that differ from the valid `configuration` in one
  /// knob, by 128 of its values at most. Where it decides which others exist,
  /// those follow: they take the values nearest to their first.
  std::vector<Configuration>
  neighbours(const Configuration &configuration) const;

  /// The valid configuration nearest to `wanted`, which may have any values, of
  /// any knobs: few knobs change, and by few doublings (Domain::distance).
  /// Always the same for the same question; count() must not be 0.
  Configuration nearest(const Configuration &wanted) const;

  /// A configuration as the numbers of its values in their domains, in the
  /// order of the knobs; the size of the domain for a knob that does not exist.
  /// Nothing if a knob or value is not one of the space.
  std::optional<std::vector<uint64_t>>
  encode(const Configuration &configuration) const;
  Configuration decode(llvm::ArrayRef<uint64_t> values) const;

  /// The same questions for configurations as `encode` writes them: for
  /// searchers that look at thousands.
  bool contains(llvm::ArrayRef<uint64_t> values) const;
  std::vector<uint64_t> sampleNumbers(std::mt19937_64 &random) const;
  std::vector<std::vector<uint64_t>>
  neighbours(llvm::ArrayRef<uint64_t> values) const;

  /// For a space of count 0: the constraints that contradict each other, as few
  /// as leave the space empty without the others.
  std::string explainEmptiness() const;

  /// Nodes and edges of all diagrams: what was built, for benchmarks.
  std::pair<size_t, size_t> diagramSize() const;

  const std::vector<Knob> &getKnobs() const;
  const std::vector<Expression> &getConstraints() const;
  const std::string &getSchedule() const;

private:
  struct Impl;
  explicit Space(std::shared_ptr<const Impl> impl) : impl(std::move(impl)) {}
  std::shared_ptr<const Impl> impl;
};

} // namespace attune

#endif // ATTUNE_SPACE_SPACE_H
