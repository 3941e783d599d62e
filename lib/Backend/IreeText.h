//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// IREE's programs as text: upstream MLIR cannot parse its dialects, so what is
// wanted of them is found in what its tools read and print. Internal.

#ifndef ATTUNE_LIB_BACKEND_IREETEXT_H
#define ATTUNE_LIB_BACKEND_IREETEXT_H

#include "attune/Import/Program.h"
#include "attune/Space/Space.h"

namespace attune::iree {

/// Public functions of a module's text: func.func or util.func on tensors, or
/// on torch's. `name` is for errors.
llvm::Expected<std::vector<EntrySignature>> parseEntries(llvm::StringRef text,
                                                         llvm::StringRef name);

/// A contraction in a dispatch, and what a matcher needs to find it.
struct Contraction {
  std::vector<std::string> maps;            ///< `affine_map<...>`, of a, b, c.
  std::string lhsType, rhsType, outputType; ///< `f32`
  std::vector<int64_t> sizes;               ///< Of the loops; -1: dynamic.
  std::string kinds;                        ///< Of the loops: `bmnk`.
  /// Symbols of the dispatches that have it; a matcher hits all.
  std::vector<std::string> dispatches;

  std::string key() const;
  std::string shapes() const; ///< `256x256x512xf32`
  double operations() const;
  /// The product of the loops of one kind; -1 if one is dynamic.
  int64_t extent(char kind) const;
};

/// Adds the contractions with a configuration in the text of one executable
/// (iree-hal-dump-executable-configurations-to) to `found`.
void findContractions(llvm::StringRef text, std::vector<Contraction> &found);

/// The dump's text of an operand's type: `tensor<?x4xf32>`.
std::optional<std::pair<std::vector<int64_t>, std::string>>
parseShape(llvm::StringRef type);

/// What can be tried on a contraction, and the default of the space.
llvm::Expected<std::pair<Space, Configuration>>
contractionSpace(const Contraction &contraction);

/// `#iree_cpu.lowering_config<...>` as IREE prints it.
std::string loweringConfig(const Contraction &contraction,
                           const Configuration &configuration);

/// Of a compilation: a target, unless the user names one, then `chosen`, then
/// the user's.
std::vector<std::string> allFlags(llvm::ArrayRef<std::string> chosen,
                                  llvm::ArrayRef<std::string> user);

struct SpecRow {
  const Contraction *contraction;
  std::string loweringConfig;
};
/// A tuning spec of upstream match ops, for --iree-codegen-tuning-spec-path.
std::string printTuningSpec(llvm::ArrayRef<SpecRow> rows);

/// Why configurations did not arrive where they were meant to; empty: they did.
/// `dumps` are the texts of all executables.
std::string explainMissing(llvm::ArrayRef<SpecRow> rows,
                           llvm::ArrayRef<std::string> dumps);

} // namespace attune::iree

#endif // ATTUNE_LIB_BACKEND_IREETEXT_H
