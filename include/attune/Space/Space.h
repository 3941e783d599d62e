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
};

/// The valid configurations of a set of knobs, numbered 0 .. count()-1 in an
/// order that depends on the declaration alone.
class Space {
public:
  /// Errors: a duplicate knob, an empty domain, an unknown knob in a
  /// constraint, a type error. An unsatisfiable space is a space of count 0.
  static llvm::Expected<Space> create(std::string schedule,
                                      std::vector<Knob> knobs,
                                      std::vector<Expression> constraints);

  /// The number of valid configurations, exact; saturates at 2^64-1.
  uint64_t count() const;

  /// The configuration with number `index` < count().
  Configuration at(uint64_t index) const;

  /// The number of `configuration`, or nothing if it is not in the space.
  std::optional<uint64_t> indexOf(const Configuration &configuration) const;
  bool contains(const Configuration &configuration) const {
    return indexOf(configuration).has_value();
  }

  /// Uniform over the valid configurations; count() must not be 0.
  Configuration sample(std::mt19937_64 &random) const;

  /// Valid configurations that differ from `configuration` in one knob.
  std::vector<Configuration>
  neighbours(const Configuration &configuration) const;

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
