//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What is to be computed, apart from how: a problem is data, so that adding one
// is a few lines, in C++ or in Python (docs/rooms/Harness.md shows it).

#ifndef ATTUNE_HARNESS_PROBLEM_H
#define ATTUNE_HARNESS_PROBLEM_H

#include "attune/Measure/Check.h"
#include "attune/Support/Tensor.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attune {

/// A value for each dimension and parameter of a problem, by name: {"m", 1024}.
using ProblemSizes = std::vector<std::pair<std::string, int64_t>>;

/// `m=1024,n=512,k=64` as sizes, and back. An error shows the part that is
/// wrong.
llvm::Expected<ProblemSizes> parseProblemSizes(llvm::StringRef text);
std::string toString(const ProblemSizes &sizes);

/// A dimension of the iteration space, or a number it depends on.
struct ProblemDimension {
  enum class Kind {
    Parallel,  ///< One loop; every step writes other elements.
    Reduction, ///< One loop; its steps are summed (or combined otherwise).
    Parameter, ///< No loop: a stride, a padding, the height of an image.
  };
  std::string name;
  Kind kind = Kind::Parallel;
  /// In the syntax of Space/Expression.h, of dimensions listed before:
  /// `(h + 2 * pad - kh) // stride + 1`. Empty: its size is given.
  std::string expression = "";
  /// For a size that is not given; nothing: it has to be.
  std::optional<int64_t> defaultSize = std::nullopt;
};

/// An input or a result.
struct ProblemTensor {
  std::string name;  ///< A word: it is `%name` in the body.
  std::string shape; ///< Dimensions, outermost first: `m k`. Empty: 0-d.
  /// Nothing: the problem's own type.
  std::optional<ElementType> type = std::nullopt;
};

/// A computation over tensors, for any sizes and element types.
struct Problem {
  std::string name;
  std::vector<ProblemDimension> dimensions;
  std::vector<ProblemTensor> inputs, outputs;
  /// What the body needs beside them: only their types and fresh values.
  std::vector<ProblemTensor> temporaries = {};
  /// Scalar operations of one run, an expression of the dimensions:
  /// `2 * m * n * k`. Empty: it only moves data.
  std::string flops;
  /// Bytes read and written by one run at least, the same. Empty: every input
  /// and every result once.
  std::string bytes = "";
  /// MLIR that gives each result its name: a last op `%C = ...` for a result C.
  /// In it, before it is parsed,
  ///   `$C`       is the type of the tensor C (`tensor<4x?xf32>`),
  ///   `$C.type`  its element type, `$type` the problem's,
  ///   `$m`       the size of a dimension (not if that is dynamic),
  ///   `$add`, `$sub`, `$mul`, `$max`  arith's op for the problem's type;
  /// and these values are there where they are used:
  ///   `%A`       an input,
  ///   `%C.empty` a tensor of C's type without values (a result, a temporary),
  ///   `%C.zero`  the same with zeros, `%C.lowest` with the lowest number,
  ///   `%m.size`  the size of a dimension as an index, dynamic or not.
  std::string body;
  ElementType type = ElementType::F32;
  /// What a result may be off by; nothing: what rounding can do over the
  /// reduction dimensions (toleranceFor).
  std::optional<Tolerance> tolerance = std::nullopt;

  /// The same problem with another element type; tensors with a type of their
  /// own keep it.
  Problem withType(ElementType other) const;
};

/// A problem with its sizes, of which some are not told to the compiler.
struct ProblemCase {
  Problem problem;
  ProblemSizes sizes;
  /// Names of dimensions that are dynamic at compile time; `*`: all that can
  /// be. Their sizes are those of the run.
  std::vector<std::string> dynamic = {};
  std::string label = ""; ///< For tables: the row's name in a file of sizes.
};

/// All dimensions, computed ones too, in the problem's order. Errors: a size
/// that is missing, unknown, not positive (a parameter: negative), or given
/// twice; an expression that cannot be read.
llvm::Expected<ProblemSizes> resolveSizes(const Problem &problem,
                                          const ProblemSizes &sizes);

/// Types of inputs and results for these sizes, all static.
struct ProblemTypes {
  std::vector<TensorType> inputs, outputs;
};
llvm::Expected<ProblemTypes> typesOf(const Problem &problem,
                                     const ProblemSizes &sizes);

/// Scalar operations and bytes of one run.
llvm::Expected<double> flopsOf(const Problem &problem,
                               const ProblemSizes &sizes);
llvm::Expected<double> bytesOf(const Problem &problem,
                               const ProblemSizes &sizes);
/// The product of the reduction dimensions.
llvm::Expected<int64_t> reductionLengthOf(const Problem &problem,
                                          const ProblemSizes &sizes);

/// The module: one function `main` that takes the inputs and returns the
/// results. Errors: those of resolveSizes; a dimension that cannot be dynamic
/// (no input has it as a dimension of its own, or the body needs its number); a
/// `$name` the problem does not have. The text is not parsed here.
llvm::Expected<std::string> buildModule(const ProblemCase &problemCase);

/// Values for the inputs: floats normal, integers small; the same for the same
/// seed.
llvm::Expected<std::vector<Tensor>> makeProblemInputs(const Problem &problem,
                                                      const ProblemSizes &sizes,
                                                      uint64_t seed);

/// The problems that come with Attune, in the order of the documentation.
const std::vector<Problem> &shippedProblems();
/// By name; an error lists the names there are.
llvm::Expected<Problem> findProblem(llvm::StringRef name);

/// docs/commands/harness.md, problem files, version 1. Errors name the field.
llvm::json::Object toJSON(const Problem &problem);
llvm::Expected<Problem> problemFromJSON(const llvm::json::Object &json);
/// A file with such an object; errors name the file.
llvm::Expected<Problem> readProblem(llvm::StringRef path);

/// Reads a table of sizes (CSV): a column for each dimension, and optionally
/// `name` (a label). With the columns `op` and `shape` (`3000x5001`) these are
/// the problem of each row (also without the rank at the end of its name) and
/// its dimensions in order, and `problem` may be empty. A column that is no
/// dimension chooses where it is 1 another problem: `attention` with `causal`
/// is `attention_causal`. -1 is a dynamic dimension, whose size is then
/// `dynamicSize`. Errors name the file and the line.
llvm::Expected<std::vector<ProblemCase>>
readProblemCases(llvm::StringRef path, llvm::StringRef problem,
                 int64_t dynamicSize = 512);

} // namespace attune

#endif // ATTUNE_HARNESS_PROBLEM_H
