//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Root ops of IREE's dispatches, as its dump of configured executables has
// them, and what can be tried on them. Internal.

#ifndef ATTUNE_LIB_BACKEND_IREEROOTS_H
#define ATTUNE_LIB_BACKEND_IREEROOTS_H

#include "attune/Space/Space.h"
#include <map>

namespace attune::iree {

/// One level of a lowering_config: `distribution = [64, 64, 0]`.
struct TileLevel {
  std::string name;
  std::vector<int64_t> tiles;
};

/// An op that decides how its dispatch is compiled, and what a matcher needs to
/// find it. Ops that a matcher cannot tell apart are one.
struct RootOp {
  std::string opName;            ///< `linalg.generic`
  std::string rootOp;            ///< contraction, convolution, reduction, ...
  std::vector<std::string> maps; ///< `affine_map<...>`, one an operand
  std::vector<std::string> operandTypes; ///< `tensor<4x?xf32>` or a scalar's
  size_t inputCount = 0;                 ///< Of the operands.
  std::vector<int64_t> sizes;            ///< Of the loops; -1: not known.
  /// Of the loops: `bmnk` of contractions, p(arallel) and r(eduction) of
  /// others; those of packed tiles in capitals.
  std::string kinds;
  std::vector<TileLevel> levels; ///< As IREE configures it.
  std::string translation; ///< `#iree_codegen.translation_info<...>`, too.
  /// Symbols of the dispatches that have it, and the lowering_config in each.
  std::vector<std::string> dispatches, configs;

  /// transform.iree.match.contraction finds it.
  bool isContraction() const {
    return opName == "linalg.generic" && rootOp == "contraction";
  }
  std::string key() const;    ///< What a matcher sees.
  std::string shapes() const; ///< `256x256x512xf32`
  double operations() const;
  /// The product of the loops of one kind; -1 if one is dynamic.
  int64_t extent(char kind) const;
  const TileLevel *level(llvm::StringRef name) const;
};

/// What stays as it is, by what it is: `linalg.pack`, `iree_linalg_ext.sort`.
using Untuned = std::map<std::string, unsigned>;

/// Adds the roots in the text of one executable
/// (iree-hal-dump-executable-configurations-to) to `found`.
void findRoots(llvm::StringRef text, std::vector<RootOp> &found,
               Untuned *untuned = nullptr);

/// What can be tried on a root, and what IREE does, or what is nearest to it.
llvm::Expected<std::pair<Space, Configuration>> rootSpace(const RootOp &root);

/// `#iree_cpu.lowering_config<...>` and translation_info as IREE prints them.
std::string loweringConfig(const RootOp &root,
                           const Configuration &configuration);
std::string translationInfo(const RootOp &root,
                            const Configuration &configuration);

struct SpecRow {
  const RootOp *root;
  std::string loweringConfig, translation;
};
/// A tuning spec of upstream match ops, for --iree-codegen-tuning-spec-path.
std::string printTuningSpec(llvm::ArrayRef<SpecRow> rows);

/// Two specs, each a module as iree-opt prints it without aliases, as what
/// iree-codegen-link-tuning-specs makes one of; the first has the first word.
std::string nestSpecs(llvm::StringRef first, llvm::StringRef second);

/// Why configurations did not arrive where they were meant to; empty: they did.
/// `dumps` are the texts of all executables.
std::string explainMissing(llvm::ArrayRef<SpecRow> rows,
                           llvm::ArrayRef<std::string> dumps);

} // namespace attune::iree

#endif // ATTUNE_LIB_BACKEND_IREEROOTS_H
