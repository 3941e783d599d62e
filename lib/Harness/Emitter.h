//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Writes a schedule's text step by step. Internal to the room.

#ifndef ATTUNE_LIB_HARNESS_EMITTER_H
#define ATTUNE_LIB_HARNESS_EMITTER_H

#include "ExpertText.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace attune {

/// Types of the transform dialect.
inline constexpr llvm::StringLiteral handle = "!transform.any_op";
inline constexpr llvm::StringLiteral loopHandle = "!transform.op<\"scf.for\">";
inline constexpr llvm::StringLiteral number = "!transform.param<i64>";
inline constexpr llvm::StringLiteral anyParam = "!transform.any_param";

class Emitter {
public:
  explicit Emitter(const ExpertParts &parts) : parts(parts) {}
  llvm::Expected<std::string> write();

private:
  llvm::Error declareKnobs();
  llvm::Error declare(const Variable &variable, llvm::StringRef step);
  llvm::Error declareChoice(const Transformation &step, int64_t count);
  llvm::Error constrain();
  llvm::Error emit(const Transformation &step);
  llvm::Error emitTile(const Transformation &step);
  llvm::Error emitPad(const Transformation &step);
  llvm::Error emitHoistPadding(const Transformation &step);
  void emitPack(const Transformation &step);
  void emitInterchange(const Transformation &step);
  void emitUnroll(const Transformation &step);
  void emitLowerVectors(const Transformation &step);
  void emitPipeline(const Transformation &step);
  std::string writeFits() const;

  llvm::Error wrong(const Transformation &step, const llvm::Twine &what) const {
    return makeError("expert '{0}', step {1} ({2}): {3}", parts.name, stepIndex,
                     step.getName(), what.str());
  }
  /// The value of a variable, as a param.
  std::string valueOf(const Variable &variable);
  std::string numberOf(const Variable &variable);
  std::string constant(int64_t value);
  std::string typeOf(const Variable &variable) const {
    return variable.isKnob() ? knobs.lookup(variable.getName()) : number.str();
  }
  std::string lanes();
  std::string bind(llvm::StringRef name) {
    if (!llvm::is_contained(bound, name))
      bound.push_back(name.str());
    return ("%" + name).str();
  }
  std::string root();
  std::string loopsOf(llvm::StringRef target, llvm::StringRef type);
  std::string fresh(llvm::StringRef stem) {
    return ("%" + stem + "_" + llvm::Twine(counter++)).str();
  }
  void line(const llvm::Twine &text) { ops += ("    " + text + "\n").str(); }

  const ExpertParts &parts;
  /// Knob: its type in the transform dialect.
  llvm::StringMap<std::string> knobs;
  llvm::StringMap<std::string> domains;
  llvm::StringMap<std::string> constants;
  std::vector<std::string> bound; ///< In the order of first use.
  std::string declarations, constraints, ops, lowering;
  std::string chain, padding; ///< Handles that the next step can go on from.
  bool usesLast = false, tiled = false, onBuffers = false, ended = false;
  unsigned counter = 0;
  size_t stepIndex = 0;
};

} // namespace attune

#endif // ATTUNE_LIB_HARNESS_EMITTER_H
