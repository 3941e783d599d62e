//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A spec says which configuration goes to which dispatches. It is an MLIR
// module that only annotates:
//
//   module attributes {attune.spec_version = 1 : i64,
//                      attune.dispatch_version = 1 : i64,
//                      attune.target = #attune.target<...>,
//                      attune.threads = 2 : i64} {
//     attune.apply #attune.config<"contraction_packed", {m_tile = 6 : i64}>
//         to "9f86d081884c7d65" {root = "contraction", shapes = "4x784x10xf32",
//         baseline_seconds = 2.0e-05 : f64, tuned_seconds = 1.0e-05 : f64}
//     attune.sizes "main" [#attune.range<8, 8>]
//   }
//
// In C++ a spec is the plain data below; MLIR is only needed to apply it.

#ifndef ATTUNE_SPEC_SPEC_H
#define ATTUNE_SPEC_SPEC_H

#include "attune/Schedule/Configuration.h"
#include "attune/Schedule/Target.h"
#include "attune/Support/Sizes.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <optional>

namespace mlir {
class ModuleOp;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace attune {

/// The version of the format that this code writes, and the newest it reads.
inline constexpr int64_t specVersion = 1;

struct SpecEntry {
  /// Knobs are in the order of their names: a file does not keep another.
  Configuration configuration;
  std::string fingerprint;    ///< 16 hexadecimal digits; empty: `matcher`.
  std::string root;           ///< For people: `contraction`.
  std::string shapes;         ///< For people: `4x784x10xf32`.
  double baselineSeconds = 0; ///< 0: not measured (written by hand).
  double tunedSeconds = 0;
  /// Or the text of a named sequence of match ops: the entry is for every
  /// dispatch that it takes and that no fingerprint names.
  std::string matcher = {};

  bool isMeasured() const { return baselineSeconds > 0 && tunedSeconds > 0; }
  /// The fingerprint, or `@name` of the matcher.
  std::string dispatches() const;
};

struct Spec {
  int64_t dispatchVersion = 1;
  std::optional<Target> target; ///< Its triple is not in the file.
  int64_t threads = 0;          ///< 0: not stated.
  std::vector<SpecEntry> entries;
  /// Sizes of open dimensions that the program is compiled for, too.
  std::vector<EntrySizes> sizes = {};
};

/// Keeps the entries that got faster, sorted; two with one fingerprint: the
/// faster one.
Spec makeSpec(int64_t dispatchVersion, const Target &target, int64_t threads,
              std::vector<SpecEntry> results);

/// The text of the spec: the same for the same entries in any order.
std::string printSpec(const Spec &spec);
/// Writes beside `path` first, then renames: never half a file.
llvm::Error writeSpec(const Spec &spec, llvm::StringRef path);

/// Reads and verifies. Errors are `spec.mlir:3: ...`.
llvm::Expected<Spec> readSpec(llvm::StringRef path);
/// `name` stands for the file in errors.
llvm::Expected<Spec> parseSpec(llvm::StringRef text, llvm::StringRef name);

/// What one entry did.
struct AppliedEntry {
  const SpecEntry *entry = nullptr;
  std::vector<std::string> dispatches; ///< Names of the functions it is on.
  std::string reason;                  ///< Why it is on none, or not on all.
};

struct ApplyResult {
  std::vector<AppliedEntry> entries;  ///< In the spec's order.
  std::vector<std::string> untouched; ///< Dispatches that no entry names.
  std::vector<std::string> warnings;  ///< Measured on another machine, ...
  bool isVerified = false;            ///< Looked for in the code, too.

  int64_t appliedCount() const;
  bool appliedAll() const {
    return appliedCount() == static_cast<int64_t>(entries.size());
  }
  /// `spec: 2 of 3 entries applied to 4 dispatches`, then a line for each that
  /// did not, and each warning.
  void print(llvm::raw_ostream &out) const;
  /// The same with a line for each entry.
  void printAll(llvm::raw_ostream &out) const;
};

/// Says why a configuration cannot be used on a dispatch function; empty if it
/// can. Who applies a spec knows the schedules; this room does not.
using ConfigurationCheck = std::function<std::string(
    const Configuration &configuration, mlir::func::FuncOp dispatch)>;

/// What a program is compiled with, as far as it is known: differences to what
/// the spec was measured with become warnings.
struct ApplyOptions {
  ConfigurationCheck check;     ///< Empty: all configurations are taken.
  std::optional<Target> target; ///< Compiled for.
  int64_t threads = 0;          ///< 0: not known.
};

/// Sets `attune.config` on the dispatch functions of `program` whose
/// fingerprint equals an entry's, then on those that a matcher takes: of
/// several the one with the greatest measured gain, else the first in the spec.
/// Touches nothing else; an entry that does not apply says why. `spec` must
/// outlive the result.
ApplyResult applySpec(const Spec &spec, mlir::ModuleOp program,
                      const ApplyOptions &options = {});

/// What a compiled library says of one of its dispatches.
struct CompiledDispatch {
  std::string name;
  std::string how;  ///< toString(Configuration), or `loops`.
  std::string code; ///< A hash.
};

/// Looks for the configurations in what was compiled: an entry is not on a
/// dispatch that was compiled in another way, and says so. With the `untuned`
/// program's dispatches, a configuration that made the same code is a warning.
void verifyApplied(ApplyResult &result, llvm::ArrayRef<CompiledDispatch> tuned,
                   llvm::ArrayRef<CompiledDispatch> untuned = {});

/// An entry that lost in a merge.
struct MergeNote {
  SpecEntry kept, dropped;
  std::string reason;
};

/// All entries of all specs. Of two for one dispatch: the one with the greater
/// measured gain (baseline over tuned: times of different days compare only by
/// that); equal configurations are no conflict; a measured one wins over one
/// that is not; of two without times the one that says more (the same schedule
/// and values, and others besides); else an error that shows both.
/// The program is compiled for all sizes of all specs.
/// Specs of different dispatch versions, targets or threads do not merge.
llvm::Expected<Spec> mergeSpecs(llvm::ArrayRef<Spec> specs,
                                std::vector<MergeNote> *notes = nullptr);

//===----------------------------------------------------------------------===//
// `attune spec ...`: results on `out`, errors returned.
//===----------------------------------------------------------------------===//

/// Reads all, merges, writes `outputPath`, and says what lost and why.
llvm::Error mergeSpecFiles(llvm::ArrayRef<std::string> paths,
                           llvm::StringRef outputPath, llvm::raw_ostream &out);
/// What each entry does and what it gained, in words.
llvm::Error explainSpec(llvm::StringRef path, llvm::raw_ostream &out);

} // namespace attune

#endif // ATTUNE_SPEC_SPEC_H
