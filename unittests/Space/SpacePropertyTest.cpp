//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Spaces against brute force, on many small random spaces.

#include "attune/Space/Space.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <map>
#include <set>

using namespace attune;
using Op = Expression::Op;

namespace {

class RandomSpaces {
public:
  explicit RandomSpaces(uint64_t seed) : random(seed) {}

  uint64_t below(uint64_t bound) { return random() % bound; }
  int64_t between(int64_t lower, int64_t upper) {
    return lower + int64_t(below(upper - lower + 1));
  }

  std::vector<Knob> knobs() {
    std::vector<Knob> result;
    size_t count = between(1, 5);
    for (size_t i = 0; i < count; ++i)
      result.push_back({"k" + std::to_string(i), domain(), std::nullopt});
    // Some knobs exist only for some values of the one before.
    for (size_t i = 1; i < count; ++i)
      if (below(8) == 0)
        result[i].condition =
            Expression::make(Op::Le, {Expression::knob(result[i - 1].name),
                                      Expression::constant(between(0, 3))});
    return result;
  }

  Domain domain() {
    switch (below(6)) {
    case 0:
      return llvm::cantFail(
          Domain::range(between(-3, 3), between(4, 8), between(1, 3)));
    case 1:
      return llvm::cantFail(
          Domain::powersOfTwo(1, int64_t(1) << between(0, 5)));
    case 2:
      return llvm::cantFail(Domain::divisors(between(1, 60)));
    case 3:
      return Domain::boolean(below(2));
    case 4:
      return llvm::cantFail(Domain::choice({"a", "b", "c"}));
    default: {
      std::set<int64_t> values;
      while (values.size() < 4)
        values.insert(between(-10, 20));
      std::vector<int64_t> list(values.begin(), values.end());
      std::shuffle(list.begin(), list.end(), random);
      return llvm::cantFail(Domain::integers(list));
    }
    }
  }

  Expression number(const std::vector<Knob> &knobs, int depth) {
    if (depth == 0 || below(3) == 0)
      return below(3) ? Expression::knob(knobs[below(knobs.size())].name)
                      : Expression::constant(between(-4, 12));
    static constexpr Op ops[] = {Op::Add,       Op::Sub,      Op::Mul,
                                 Op::Mul,       Op::FloorDiv, Op::FloorMod,
                                 Op::Min,       Op::Max,      Op::EuclidDiv,
                                 Op::EuclidMod, Op::Abs,      Op::Neg};
    Op op = ops[below(std::size(ops))];
    if (op == Op::Abs || op == Op::Neg)
      return Expression::make(op, {number(knobs, depth - 1)});
    Expression left = number(knobs, depth - 1),
               right = number(knobs, depth - 1);
    // Mostly divisors that are not 0; some that may be.
    if (op >= Op::FloorDiv && op <= Op::EuclidMod && below(10))
      right = Expression::make(Op::Add, {Expression::make(Op::Abs, {right}),
                                         Expression::constant(1)});
    return Expression::make(op, {left, right});
  }

  Expression truth(const std::vector<Knob> &knobs, int depth) {
    if (depth > 0 && below(4) == 0)
      switch (below(4)) {
      case 0:
        return !truth(knobs, depth - 1);
      case 1:
        return Expression::make(Op::If, {truth(knobs, depth - 1),
                                         truth(knobs, depth - 1),
                                         truth(knobs, depth - 1)});
      default:
        return Expression::make(
            below(2) ? Op::And : Op::Or,
            {truth(knobs, depth - 1), truth(knobs, depth - 1)});
      }
    if (below(4) == 0)
      return Expression::make(
          Op::Eq, {Expression::make(
                       Op::FloorMod,
                       {number(knobs, 1),
                        Expression::knob(knobs[below(knobs.size())].name)}),
                   Expression::constant(0)});
    static constexpr Op ops[] = {Op::Eq, Op::Ne, Op::Lt,
                                 Op::Le, Op::Gt, Op::Ge};
    return Expression::make(ops[below(6)],
                            {number(knobs, depth), number(knobs, depth)});
  }

  std::mt19937_64 random;
};

/// What brute force finds: the valid configurations as texts, or an error.
struct Truth {
  std::set<std::string> valid;
  bool fails = false;
};

} // namespace

/// Every knob that exists exactly where its condition holds; a constraint on a
/// knob that does not exist holds.
static Truth bruteForce(const std::vector<Knob> &knobs,
                        const std::vector<Expression> &constraints) {
  Truth truth;
  std::vector<uint64_t> chosen(knobs.size());
  auto numberOf = [&](llvm::StringRef name) {
    size_t i = 0;
    while (knobs[i].name != name)
      ++i;
    return i;
  };
  auto isAbsent = [&](size_t i) { return chosen[i] == knobs[i].domain.size(); };
  auto lookup = [&](llvm::StringRef name) -> std::optional<int64_t> {
    size_t i = numberOf(name);
    return isAbsent(i)
               ? std::nullopt
               : std::optional(knobs[i].domain.constraintValue(chosen[i]));
  };
  // One conjunct after the other, as the solver splits them.
  std::function<void(const Expression &, bool &, bool &)> check =
      [&](const Expression &expression, bool &anyFalse, bool &anyError) {
        if (expression.getOp() == Op::And) {
          for (const Expression &operand : expression.getOperands())
            check(operand, anyFalse, anyError);
          return;
        }
        for (const std::string &name : expression.getKnobs())
          if (isAbsent(numberOf(name)))
            return;
        auto value = expression.evaluate(lookup);
        if (!value) {
          llvm::consumeError(value.takeError());
          anyError = true;
        } else if (!*value) {
          anyFalse = true;
        }
      };
  std::function<void(size_t)> visit = [&](size_t i) {
    if (i < knobs.size()) {
      uint64_t count = knobs[i].domain.size() + knobs[i].condition.has_value();
      for (chosen[i] = 0; chosen[i] < count; ++chosen[i])
        visit(i + 1);
      return;
    }
    bool anyFalse = false, anyError = false;
    for (size_t k = 0; k < knobs.size(); ++k)
      if (knobs[k].condition) {
        bool exists = true;
        for (const std::string &name : knobs[k].condition->getKnobs())
          exists &= !isAbsent(numberOf(name));
        if (exists)
          exists = llvm::cantFail(knobs[k].condition->evaluate(lookup)) != 0;
        anyFalse |= exists == isAbsent(k);
      }
    for (const Expression &constraint : constraints)
      check(constraint, anyFalse, anyError);
    if (anyFalse)
      return;
    truth.fails |= anyError;
    Configuration configuration;
    for (size_t k = 0; k < knobs.size(); ++k)
      if (!isAbsent(k))
        configuration.values.emplace_back(knobs[k].name,
                                          knobs[k].domain.at(chosen[k]));
    truth.valid.insert(toString(configuration));
  };
  visit(0);
  return truth;
}

static std::string describe(const std::vector<Knob> &knobs,
                            const std::vector<Expression> &constraints) {
  std::string text;
  for (const Knob &knob : knobs)
    text += knob.name + ": " + knob.domain.describe() +
            (knob.condition ? " when " + knob.condition->str() : "") + "\n";
  for (const Expression &constraint : constraints)
    text += constraint.str() + "\n";
  return text;
}

static void checkNeighbours(const Space &space, const Configuration &from) {
  // By brute force: all that differ in exactly one knob. With conditions, more
  // may follow; those must still be valid.
  std::multiset<std::string> found, wanted;
  bool conditional = false;
  for (const Knob &knob : space.getKnobs())
    conditional |= knob.condition.has_value();
  auto chosen = *space.encode(from);
  for (uint64_t i = 0; i < space.count(); ++i) {
    auto other = *space.encode(space.at(i));
    int differ = 0;
    for (size_t k = 0; k < chosen.size(); ++k)
      differ += chosen[k] != other[k];
    if (differ == 1)
      wanted.insert(toString(space.at(i)));
  }
  for (const Configuration &neighbour : space.neighbours(from)) {
    ASSERT_TRUE(space.contains(neighbour)) << toString(neighbour);
    found.insert(toString(neighbour));
  }
  if (conditional)
    EXPECT_TRUE(std::includes(found.begin(), found.end(), wanted.begin(),
                              wanted.end()));
  else
    EXPECT_EQ(found, wanted);
}

TEST(SpaceProperty, AgreesWithBruteForceOnRandomSpaces) {
  int failing = 0, empty = 0, conditional = 0;
  uint64_t configurations = 0;
  for (int seed = 0; seed < 1500; ++seed) {
    RandomSpaces source(seed);
    std::vector<Knob> knobs = source.knobs();
    std::vector<Expression> constraints;
    for (int64_t i = source.between(0, 3); i > 0; --i)
      constraints.push_back(source.truth(knobs, 2));
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" +
                 describe(knobs, constraints));
    Truth truth = bruteForce(knobs, constraints);
    auto space = Space::create("", knobs, constraints);
    ASSERT_EQ(!space, truth.fails)
        << (space ? "" : llvm::toString(space.takeError()));
    if (!space) {
      EXPECT_THAT(llvm::toString(space.takeError()),
                  testing::AnyOf(testing::HasSubstr("divides by zero"),
                                 testing::HasSubstr("overflows")));
      ++failing;
      continue;
    }
    ASSERT_EQ(space->count(), truth.valid.size());
    std::set<std::string> listed;
    for (uint64_t i = 0; i < space->count(); ++i) {
      Configuration configuration = space->at(i);
      ASSERT_EQ(space->indexOf(configuration), i);
      listed.insert(toString(configuration));
    }
    ASSERT_EQ(listed, truth.valid);
    configurations += listed.size();
    empty += listed.empty();
    for (const Knob &knob : knobs)
      conditional += knob.condition.has_value();
    if (listed.empty()) {
      EXPECT_THAT(space->explainEmptiness(), testing::HasSubstr("no config"));
      continue;
    }
    // Membership of everything, valid or not, by what brute force says.
    for (int draw = 0; draw < 20; ++draw) {
      Configuration any;
      for (const Knob &knob : knobs)
        if (!knob.condition || source.below(2))
          any.values.emplace_back(
              knob.name, knob.domain.at(source.below(knob.domain.size())));
      ASSERT_EQ(space->contains(any), truth.valid.count(toString(any)) == 1)
          << toString(any);
      Configuration near = space->nearest(any);
      ASSERT_TRUE(space->contains(near)) << toString(near);
      if (space->contains(any))
        EXPECT_EQ(toString(near), toString(any));
    }
    if (space->count() < 400)
      checkNeighbours(*space, space->sample(source.random));
  }
  // The generator must produce what this test is for.
  EXPECT_GT(failing, 20);
  EXPECT_GT(empty, 50);
  EXPECT_GT(conditional, 50);
  EXPECT_GT(configurations, 50'000u);
}
