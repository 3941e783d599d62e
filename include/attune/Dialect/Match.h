//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Whether an op computes what a pattern says: the match ops of
// AttuneMatchOps.td as functions. Names, locations, discardable attributes, the
// form of ops, the order of loops and of operands that commute, and loops that
// run once make no difference.

#ifndef ATTUNE_DIALECT_MATCH_H
#define ATTUNE_DIALECT_MATCH_H

#include "attune/Dialect/Classify.h"
#include "mlir/IR/BuiltinAttributes.h"
#include <string>

namespace attune {

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Loops of a contraction, by their part; each list in the order of the result
/// (`k`: of the left operand). Operands commute: the left one is that whose
/// loops come first in the result, `m` before `n`.
struct ContractionDims {
  llvm::SmallVector<unsigned> batch, m, n, k;
  unsigned lhs = 0, rhs = 1; ///< Numbers of the inputs.
};

/// Nothing if `op` is no contraction. Loops that run once may be missing.
std::optional<ContractionDims> contractionDims(mlir::linalg::LinalgOp op);

/// Loops of a convolution, by their part, in the order of the image.
struct ConvolutionDims {
  llvm::SmallVector<unsigned> batch, outputImage, outputChannel, window,
      inputChannel, depth;
  /// One for each loop of `outputImage` and `window`.
  llvm::SmallVector<int64_t> strides, dilations;
  unsigned image = 0, filter = 1; ///< Numbers of the inputs.
};

/// Nothing if `op` is no convolution with a filter.
std::optional<ConvolutionDims> convolutionDims(mlir::linalg::LinalgOp op);

/// The inputs that are multiplied and added up.
struct MultiplyAccumulate {
  unsigned lhs, rhs;
  /// Nothing else is computed; widening does not count.
  bool isPlain;
};
std::optional<MultiplyAccumulate>
matchMultiplyAccumulate(mlir::linalg::LinalgOp op);

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// What one size may be.
struct SizePattern {
  enum class Kind { Any, Exact, Range, Multiple };
  Kind kind = Kind::Any;
  int64_t lower = 0, upper = 0, step = 1;

  /// `size` is -1 where it is only known at run time.
  bool admits(int64_t size) const;
};
/// From `8`, `-1`, `#attune.range<1, 64>`, `#attune.multiple<16>` or `unit`.
std::optional<SizePattern> sizePatternFrom(mlir::Attribute attribute);

/// Of a list of sizes, in order; those that may be 1 may be missing. No list:
/// anything.
using SizesPattern = std::optional<llvm::SmallVector<SizePattern>>;
bool admitsSizes(const SizesPattern &pattern, llvm::ArrayRef<int64_t> sizes);

/// What is left empty may be anything.
struct ContractionPattern {
  SizesPattern batch, m, n, k;
  llvm::SmallVector<mlir::Type> types; ///< Left, right, result.
  llvm::SmallVector<mlir::AffineMap> maps;
};
struct ConvolutionPattern {
  SizesPattern batch, outputImage, outputChannel, window, inputChannel, depth;
  std::optional<llvm::SmallVector<int64_t>> strides, dilations;
  llvm::SmallVector<mlir::Type> types; ///< Image, filter, result.
};
struct ReductionPattern {
  SizesPattern parallel, reduction;
  std::string combiner; ///< `add`, `mul`, `max`, `min`, `and`, `or`, `xor`
  bool isPlain = false;
  llvm::SmallVector<mlir::Type> types; ///< Inputs, then results.
};
struct AttentionPattern {
  SizesPattern batch, m, n, k1, k2;
  llvm::SmallVector<mlir::Type> types; ///< Queries, keys, values, result.
};
/// A block whose last op stands for the op; see match.example.
struct ExamplePattern {
  mlir::Block *example = nullptr;
  /// One for each argument, or none.
  llvm::SmallVector<SizesPattern> sizes;
};

/// Empty when `op` is as the pattern says, else why it is not.
std::string mismatch(mlir::Operation *op, const ContractionPattern &pattern);
std::string mismatch(mlir::Operation *op, const ConvolutionPattern &pattern);
std::string mismatch(mlir::Operation *op, const ReductionPattern &pattern);
std::string mismatch(mlir::Operation *op, const AttentionPattern &pattern);
std::string mismatch(mlir::Operation *op, const ExamplePattern &pattern);

template <typename Pattern>
bool matches(mlir::Operation *op, const Pattern &pattern) {
  return mismatch(op, pattern).empty();
}

} // namespace attune

#endif // ATTUNE_DIALECT_MATCH_H
