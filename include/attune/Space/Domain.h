//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The values that a knob can take: exact, finite, numbered.

#ifndef ATTUNE_SPACE_DOMAIN_H
#define ATTUNE_SPACE_DOMAIN_H

#include "attune/Schedule/Configuration.h"
#include <optional>

namespace attune {

/// An ordered set of values. Values are numbered 0 .. size()-1 in the order of
/// the declaration (ascending where it names no order). Never empty: the
/// creators report that.
class Domain {
public:
  enum class Kind {
    Range,       ///< Integers from lower to upper by step; never stored.
    Integers,    ///< Listed: also powers of two and divisors.
    Boolean,     ///< true and false, in the order given.
    Choice,      ///< Texts.
    Floats,      ///< Listed; a linear or logarithmic grid.
    Permutation, ///< Of 0 .. n-1, in lexicographic order.
  };

  /// lower, lower+step, ... up to and with `upper`. Errors: step under 1,
  /// lower over upper.
  static llvm::Expected<Domain> range(int64_t lower, int64_t upper,
                                      int64_t step = 1);
  /// Powers of two from lower to upper, both included (and rounded inwards).
  static llvm::Expected<Domain> powersOfTwo(int64_t lower, int64_t upper);
  /// All positive divisors of |number|. Of a dynamic dimension (under 1) that
  /// is 1 alone, since nothing else divides every size.
  static llvm::Expected<Domain> divisors(int64_t number);
  static llvm::Expected<Domain> integers(std::vector<int64_t> values);
  static llvm::Expected<Domain> choice(std::vector<std::string> texts);
  static llvm::Expected<Domain> floats(std::vector<double> values);
  /// `steps` values from lower to upper, both included, evenly spaced.
  static llvm::Expected<Domain> linear(double lower, double upper,
                                       int64_t steps);
  /// The same, with equal ratios; lower must be positive.
  static llvm::Expected<Domain> logarithmic(double lower, double upper,
                                            int64_t steps);
  /// n from 1 to 10.
  static llvm::Expected<Domain> permutation(int64_t n);
  static Domain boolean(bool first = false);

  Kind getKind() const { return kind; }
  uint64_t size() const { return count; }

  /// The value with number `index` < size().
  KnobValue at(uint64_t index) const;

  /// The number of `value`. An integer names a float of the same value, since
  /// JSON does not tell them apart.
  std::optional<uint64_t> indexOf(const KnobValue &value) const;

  /// What a constraint sees of the value with number `index`: an integer
  /// itself, 0 or 1 for a boolean, and the number of a choice or permutation.
  int64_t constraintValue(uint64_t index) const;

  /// Floats cannot be used in constraints.
  bool isConstrainable() const { return kind != Kind::Floats; }

  /// Whether the order of the values means something to a search (numbers).
  bool isOrdered() const {
    return kind == Kind::Range || kind == Kind::Integers ||
           kind == Kind::Floats;
  }

  /// How far apart two values are, 0 if equal: for positive numbers, how many
  /// times one doubles to reach the other; 1 for any two choices or booleans;
  /// for permutations the share of places that differ. Also for values outside
  /// the domain; nothing if they are not of its type.
  std::optional<double> distance(const KnobValue &left,
                                 const KnobValue &right) const;

  /// `1..64 by 4`, `[8, 16]`, `permutations of 3`: for people.
  std::string describe() const;

private:
  Kind kind = Kind::Boolean;
  uint64_t count = 0;
  int64_t lower = 0, step = 1;  // Range; Permutation: lower is n.
  std::vector<int64_t> numbers; // Integers; Boolean as 0 and 1.
  std::vector<std::string> texts;
  std::vector<double> reals;
};

} // namespace attune

#endif // ATTUNE_SPACE_DOMAIN_H
