//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Constants by value, and the bodies of linalg ops as small programs on
// scalars: what clean-up computes with.

#ifndef ATTUNE_LIB_IMPORT_EVALUATE_H
#define ATTUNE_LIB_IMPORT_EVALUATE_H

#include "attune/Import/Program.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>

namespace attune::import {

/// A number of any element type: floats as a double, integers sign-extended (i1
/// is 0 or 1).
struct Scalar {
  double real = 0;
  int64_t whole = 0;
};

Scalar loadScalar(const Tensor &tensor, int64_t index);
void storeScalar(Tensor &tensor, int64_t index, Scalar value);

/// How f32, f16 and bf16 arithmetic rounds: after each op as the program would,
/// or not at all.
enum class Rounding { EachOp, None };

/// The values of constants: arith.constant, attune.weight, and static
/// tensor.empty and linalg.fill. Tensors are read once.
class Constants {
public:
  explicit Constants(Program &program) : program(program) {}

  bool isConstant(mlir::Value value) const;
  /// Null when it is not one.
  std::shared_ptr<const Tensor> read(mlir::Value value);
  std::optional<Scalar> readScalar(mlir::Value value) const;
  /// A constant with these contents before `op`: a weight, or arith.constant
  /// when it is small or uniform.
  mlir::Value write(mlir::Operation *op, mlir::RankedTensorType type,
                    Tensor tensor);

private:
  Program &program;
};

/// The body of a linalg op. It can be compiled when it is arithmetic on its
/// arguments, constants, indices, and elements of constant tensors.
class Body {
public:
  /// `isArgument(value)` values are inputs of `run`; null when an op is
  /// unknown.
  static std::optional<Body> compile(mlir::Block &block, Constants &constants,
                                     Rounding rounding);

  /// Arguments of the block and the iteration's indices to what it yields;
  /// false when an assert fails or an index is out of range.
  bool run(llvm::ArrayRef<Scalar> arguments, llvm::ArrayRef<int64_t> indices);
  Scalar yielded(unsigned number) const { return slots[results[number]]; }

private:
  struct Frame {
    llvm::SmallVector<Scalar> &slots;
    llvm::ArrayRef<int64_t> indices;
  };
  using Step = std::function<bool(Frame &)>;

  friend class BodyCompiler;
  std::vector<Step> steps;
  llvm::SmallVector<Scalar> slots;
  llvm::SmallVector<unsigned> results;
};

/// All results of a linalg op on constants; nothing when it cannot be computed
/// or takes more than `maxIterations`.
std::optional<llvm::SmallVector<Tensor>>
evaluateLinalg(mlir::linalg::LinalgOp op, Constants &constants,
               int64_t maxIterations);

/// result[i] = source[... i[at of d] ...]: elements moved, dimension d of the
/// result is dimension permutation[d] of the source.
Tensor transpose(const Tensor &source, llvm::ArrayRef<int64_t> permutation);

} // namespace attune::import

#endif // ATTUNE_LIB_IMPORT_EVALUATE_H
