//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// How to compute it: transformations with typed variables, composed to an
// expert. An expert is a value; what it prints is a schedule like those in
// schedules/, and from there on nothing knows the difference.
//
//   Expert expert = Expert("mine")
//       .fits({"contraction"})
//       .then(tileAndFuse({"n", "m"}, {Variable::list("n_tile", 16, {8, 16,
//       32}),
//                                      Variable::range("m_tile", 6, 1, 16)}))
//       .then(tile({"k"}, {Variable::powerOfTwo("k_tile", 4, 1, 8)}))
//       .then(tileRest()).then(vectorize())
//       .require("m_tile * n_tile <= 128", "too many accumulators");

#ifndef ATTUNE_HARNESS_EXPERT_H
#define ATTUNE_HARNESS_EXPERT_H

#include "attune/Schedule/Configuration.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace attune {

/// What a transformation is given: a number, or a knob with an exact domain.
/// The same knob may be given to several transformations.
class Variable {
public:
  /// Always this number.
  Variable(int64_t number);
  Variable(int number) : Variable(int64_t(number)) {}
  /// lower, lower + step, ... upper.
  static Variable range(llvm::StringRef name, int64_t selected, int64_t lower,
                        int64_t upper, int64_t step = 1);
  static Variable powerOfTwo(llvm::StringRef name, int64_t selected,
                             int64_t lower, int64_t upper);
  /// The divisors of a number or of what a dispatch binds: "m", "n", "k", ...
  /// (attune/Schedule/Library.h).
  static Variable divisor(llvm::StringRef name, int64_t selected,
                          llvm::StringRef of);
  static Variable list(llvm::StringRef name, int64_t selected,
                       llvm::ArrayRef<int64_t> values);
  static Variable boolean(llvm::StringRef name, bool selected);
  /// An order of `count` loops, for transformations that take one.
  static Variable permutation(llvm::StringRef name, int64_t count);

  /// The product with another variable: a block in register tiles.
  Variable times(const Variable &other) const;

  bool isKnob() const { return !name.empty(); }
  const std::string &getName() const { return name; }
  const KnobValue &getSelected() const { return selected; }
  /// The domain in MLIR: `#attune.pow2<1, 64>`; empty for a number.
  const std::string &getDomain() const { return domain; }
  /// What it is multiplied with.
  const std::vector<Variable> &getFactors() const { return factors; }

private:
  Variable(llvm::StringRef name, KnobValue selected, std::string domain);
  std::string name;
  KnobValue selected;
  std::string domain;
  std::vector<Variable> factors;
};

/// One named step. Made by the functions below; plain data.
struct Transformation {
  enum class Kind {
    Tile,
    TileAndFuse,
    TileToThreads,
    Interchange,
    Pad,
    HoistPadding,
    Pack,
    Peel,
    Unroll,
    Generalize,
    Decompose,
    TileRest,
    TileReduction,
    Vectorize,
    Bufferize,
    LowerVectors,
    SoftwarePipeline,
    LowerToLLVM,
  };
  Kind kind;
  std::vector<std::string> loops;  ///< Roles: batch, m, n, k, window.
  std::vector<Variable> variables; ///< Of tiles: one a loop.
  std::vector<Variable> order;     ///< Of tiles: at most one.
  std::vector<int64_t> numbers;    ///< What has no variable form.
  std::string knob;                ///< Of a choice among `numbers`.

  /// `tile`, `tile_and_fuse`, ...
  llvm::StringRef getName() const;
};

/// Cuts the loops of these roles (outermost first) of the root op into tiles; 0
/// leaves a loop alone. `order`, a permutation of `loops`.
Transformation tile(std::vector<std::string> loops, std::vector<Variable> sizes,
                    std::vector<Variable> order = {});
/// The same from the last op of the dispatch upwards: the root, what fills its
/// result and the ops after it move into the loops.
Transformation tileAndFuse(std::vector<std::string> loops,
                           std::vector<Variable> sizes,
                           std::vector<Variable> order = {});
/// The same, with what the outermost loop of a role does shared out among the
/// threads of the program; one thread: as tileAndFuse.
Transformation tileToThreads(std::vector<std::string> loops,
                             std::vector<Variable> sizes);
/// Reorders the loops of the root op, of which it has so many (at most 4). The
/// knob `name` is the number of their permutation, in lexicographic order.
Transformation interchange(llvm::StringRef name, int64_t loops);
/// Pads the root op's operands: each of its loops in `dimensions` (by number)
/// to a multiple; zeros.
Transformation pad(std::vector<int64_t> dimensions,
                   std::vector<Variable> multiples);
/// Moves what `pad` made out of so many loops: packs, in effect.
Transformation hoistPadding(int64_t loops);
/// Copies what the register tiles read of the operand with the loop `panel` (m
/// or n) and not the other side by side, if `when`.
Transformation pack(llvm::StringRef panel, const Variable &when);
/// Splits the last, partial step off the loops around the root op.
Transformation peel();
/// Repeats the body of the innermost loop around the root op. The knob `name`
/// is an index into `factors`.
Transformation unroll(llvm::StringRef name, std::vector<int64_t> factors);
/// Named ops become linalg.generic.
Transformation generalize();
/// A convolution becomes contractions of its single window positions.
Transformation decompose();
/// Cuts what no other step has tiled to vectors.
Transformation tileRest();
/// Sums along a contiguous reduction side by side, `vectors` vectors wide.
Transformation tileReduction(const Variable &vectors);
/// Every op of at most `points` points becomes vector code; larger ones become
/// loops.
Transformation vectorize(int64_t points = 4096);
/// Tensors become buffers; what follows sees these. Without it, at the end.
Transformation bufferize();
/// On buffers: how vector code is taken apart. Indices of the strategies that
/// MLIR names: contractions (0 outer product, 1 dot, 2 parallel arithmetic),
/// reductions (0 inner parallel, 1 inner reduction), transposes (0 element by
/// element, 1 shuffles).
Transformation lowerVectors(const Variable &contraction,
                            const Variable &reduction,
                            const Variable &transpose);
/// On buffers: innermost loops read so many steps ahead of what they compute.
/// The knob `name` is an index into `latencies`; 0 leaves loops as they are.
Transformation softwarePipeline(llvm::StringRef name,
                                std::vector<int64_t> latencies);
/// The end; nothing may follow.
Transformation lowerToLLVM();

/// One knob of an expert, as its schedule declares it.
struct ExpertKnob {
  std::string name;
  std::string domain; ///< MLIR: `#attune.range<1, 16>`, `[true, false]`.
  KnobValue selected; ///< The default, where it is valid.
};

/// An expert with values for some of its knobs.
struct ExpertValues;

class Expert {
public:
  /// `name`: letters, digits and `_`; the schedule's name, and its file's.
  explicit Expert(std::string name) : name(std::move(name)) {}

  Expert then(Transformation next) const;
  /// All steps of another expert, and what it requires.
  Expert then(const Expert &next) const;
  /// What must hold, in the syntax of Space/Expression.h over knobs and what a
  /// dispatch binds (m, element_bytes, vector_registers, ...); `why` is shown
  /// when it does not.
  Expert require(std::string expression, std::string why) const;
  /// Classes the root op may be of (`contraction`, `matvec`, `convolution`,
  /// `depthwise`, `pooling`, `reduction`, `elementwise`, `copy`). None: any.
  Expert fits(std::vector<std::string> classes) const;

  /// With values for knobs: expert({{"m_tile", 6}}).
  ExpertValues
  operator()(std::vector<std::pair<std::string, KnobValue>> values) const;

  const std::string &getName() const { return name; }
  const std::vector<Transformation> &getSteps() const { return steps; }

  /// The schedule, as MLIR prints it. Errors say which step is wrong: variables
  /// that do not fit its loops, one name with two domains, a step after the
  /// last, an expression that cannot be read.
  llvm::Expected<std::string> str() const;
  llvm::Expected<std::vector<ExpertKnob>> knobs() const;

  /// Writes FOLDER/NAME.mlir.
  llvm::Error write(llvm::StringRef folder) const;
  /// Reads a schedule that Attune or a person wrote; its name is the file's.
  /// It prints as what was read, and `then` goes on from there. Errors are
  /// `FILE:LINE: ...`.
  static llvm::Expected<Expert> read(llvm::StringRef path);
  static llvm::Expected<Expert> parse(llvm::StringRef name,
                                      llvm::StringRef text);

private:
  llvm::Expected<std::string> print() const;

  std::string name;
  std::string base; ///< What was read; empty: all is in `steps`.
  std::vector<std::string> classes;
  std::vector<Transformation> steps;
  std::vector<std::pair<std::string, std::string>> requirements;
  /// What str() gave: parsing and printing take milliseconds.
  mutable std::shared_ptr<const std::string> printed;
};

/// An expert with values for some of its knobs; the others get their defaults,
/// or what is nearest to them and valid.
struct ExpertValues {
  ExpertValues(Expert expert,
               std::vector<std::pair<std::string, KnobValue>> values = {})
      : expert(std::move(expert)), values(std::move(values)) {}
  Expert expert;
  std::vector<std::pair<std::string, KnobValue>> values;
};

/// lowering_only, single_tiling, double_tiling, triple_tiling,
/// tile_and_decompose, packed.
const std::vector<Expert> &shippedExperts();
/// By name; an error lists the names there are.
llvm::Expected<Expert> findExpert(llvm::StringRef name);

} // namespace attune

#endif // ATTUNE_HARNESS_EXPERT_H
