//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Constraints as the solver sees them: variables by number, names resolved,
// split at their conjunctions, and lowered to a graph of two-operand nodes that
// suits an order of the variables.

#ifndef ATTUNE_LIB_SPACE_COMPILEDEXPRESSION_H
#define ATTUNE_LIB_SPACE_COMPILEDEXPRESSION_H

#include "Interval.h"
#include "attune/Space/Space.h"
#include <climits>

namespace attune {

/// A knob with the values that are still possible for it. `indices` are numbers
/// in its domain, ascending; `values` what constraints see. A knob with a
/// condition has one more value, numbered like the size of its domain: absent.
struct KnobVariable {
  std::vector<uint32_t> indices;
  std::vector<int64_t> values;
  uint32_t absentIndex = UINT32_MAX;

  Interval bounds() const;
  Interval presence() const;
  Interval presenceAt(size_t i) const {
    return Interval::point(indices[i] != absentIndex);
  }
  bool isAscending() const;
};

/// An expression with variables by number. Add and Mul are flat: their operands
/// may be taken in any order (subtraction is the addition of a negation).
struct Term {
  Expression::Op op = Expression::Op::Constant;
  int64_t value = 0;
  int variable = -1; ///< For Knob and Present.
  std::vector<Term> operands;

  void collectVariables(std::vector<int> &into) const;
};

/// One conjunct of a declared constraint.
struct Constraint {
  Term term;
  Expression source;          ///< The conjunct, to evaluate exactly.
  Expression declared;        ///< The constraint it is part of, to show.
  std::vector<int> variables; ///< Ascending.
};

/// Resolves names and splits conjunctions. What is said of a knob that does not
/// exist holds, unless the conjunct asks for its presence itself; a knob exists
/// exactly when its condition holds. Errors: unknown knobs, floats, texts that
/// are not options.
llvm::Expected<std::vector<Constraint>>
resolveConstraints(llvm::ArrayRef<Knob> knobs,
                   llvm::ArrayRef<Expression> constraints);

/// `message` with the place of a declared constraint before, and its text
/// after.
llvm::Error constraintError(const Expression &declared,
                            const llvm::Twine &message);

/// The graph of some constraints for an order of their variables. Operands come
/// before the nodes that use them; equal nodes are one.
struct CompiledExpression {
  struct Node {
    Expression::Op op;
    int operands[3] = {-1, -1, -1};
    int64_t value = 0;
    int variable = -1;
    /// The first and the last place in the order of a variable below the node:
    /// a node is known once `last` is assigned. Constants: INT_MAX and -1.
    int first = INT_MAX, last = -1;

    explicit Node(Expression::Op op) : op(op) {}
  };
  std::vector<Node> nodes;
  std::vector<int> roots;                ///< For each constraint.
  std::vector<std::vector<int>> members; ///< Nodes of each, operands first.
  std::vector<int> variableNodes;        ///< By variable; -1 if unused.
  std::vector<int> presentNodes;         ///< Likewise, of Present.

  /// `level[v]` is the place of variable v in the order.
  static CompiledExpression
  compile(llvm::ArrayRef<const Constraint *> constraints,
          llvm::ArrayRef<int> level);

  /// What constraint `which` can be when the nodes of variables, set by the
  /// caller in `state` (one interval for each node), have these bounds.
  Interval evaluate(size_t which, std::vector<Interval> &state) const;

  /// Writes to the nodes of variable number `which`.
  void assign(std::vector<Interval> &state, int which, Interval value,
              Interval present) const {
    if (variableNodes[which] >= 0)
      state[variableNodes[which]] = value;
    if (presentNodes[which] >= 0)
      state[presentNodes[which]] = present;
  }
};

} // namespace attune

#endif // ATTUNE_LIB_SPACE_COMPILEDEXPRESSION_H
