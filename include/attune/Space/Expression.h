//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Constraints: expressions over the values of knobs, in exact 64-bit integers.
//
// JSON spaces and SMT regions of schedules both become this. A truth value is 0
// or 1, and any number but 0 is true. `and`, `or` and the conditional look at
// their operands from left to right and at no more than they need, so that
// `b != 0 and a % b == 0` is never an error. Division by zero and a result that
// does not fit in 64 bits are errors, never a value.

#ifndef ATTUNE_SPACE_EXPRESSION_H
#define ATTUNE_SPACE_EXPRESSION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attune {

class Expression {
public:
  enum class Op {
    Constant,
    Knob,    ///< The value of the knob `getName()`.
    Text,    ///< The text `getName()`: only compared with a choice.
    Present, ///< 1 if the knob `getName()` exists in the configuration.
    Neg,
    Abs,
    Not,
    Add, ///< n-ary, as are Mul, Min, Max, And and Or.
    Sub,
    Mul,
    FloorDiv,  ///< Python's //: rounds down.
    FloorMod,  ///< Python's %: has the sign of the divisor.
    EuclidDiv, ///< SMT-LIB's div and mod: the remainder is never negative.
    EuclidMod,
    Min,
    Max,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    And,
    Or,
    If, ///< operands: condition, then, else.
  };

  static Expression constant(int64_t value);
  static Expression knob(llvm::StringRef name);
  static Expression text(llvm::StringRef text);
  static Expression present(llvm::StringRef knob);
  /// One operand for Neg, Abs and Not; three for If; at least one for the n-ary
  /// ones; two for the others.
  static Expression make(Op op, std::vector<Expression> operands);
  /// The negation of a truth value.
  Expression operator!() const { return make(Op::Not, {*this}); }

  /// Reads Python's integer syntax: `+ - * // %`, comparisons (also chained),
  /// `and or not`, `a if c else b`, min, max, abs, parentheses, True, False,
  /// decimal numbers, quoted texts, names. An error gives the column and shows
  /// the place.
  static llvm::Expected<Expression> parse(llvm::StringRef source);

  Op getOp() const { return node->op; }
  int64_t getValue() const { return node->value; }
  const std::string &getName() const { return node->name; }
  llvm::ArrayRef<Expression> getOperands() const { return node->operands; }
  bool isLeaf() const { return getOp() <= Op::Present; }

  /// Where it was written (`matmul.mlir:12`, `constraint 3`), and how; both may
  /// be empty. Messages about a constraint start with the place.
  const std::string &getPlace() const { return place; }
  const std::string &getSource() const { return source; }
  Expression withPlace(std::string place) const;
  Expression withSource(std::string source) const;

  /// The value when `lookup` gives each knob's (nothing: the knob does not
  /// exist). Errors: division by zero, overflow, an unknown knob.
  llvm::Expected<int64_t> evaluate(
      llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> lookup) const;

  /// The names of all knobs in it, in the order of their first use.
  std::vector<std::string> getKnobs() const;

  /// In the syntax that `parse` reads (Euclidean division as ediv and emod).
  std::string str() const;

private:
  struct Node {
    Op op;
    int64_t value = 0;
    std::string name;
    std::vector<Expression> operands;
  };
  explicit Expression(std::shared_ptr<const Node> node)
      : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
  std::string place, source;
};

/// The value of `op` (not a leaf, And, Or or If) for two operands; one-operand
/// ops ignore `right`. Nothing on overflow or division by zero.
std::optional<int64_t> applyOp(Expression::Op op, int64_t left, int64_t right);

} // namespace attune

#endif // ATTUNE_SPACE_EXPRESSION_H
