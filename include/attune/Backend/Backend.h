//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The seam between the tuning loop and what compiles programs. Nothing here
// knows of MLIR, CPUs or files' insides; a backend says what its dispatches
// are, what could be tried on them, and makes libraries that its executor can
// run (attune-runner, or what Command.h has).

#ifndef ATTUNE_BACKEND_BACKEND_H
#define ATTUNE_BACKEND_BACKEND_H

#include "attune/Search/Trial.h"
#include "attune/Space/Space.h"
#include "attune/Spec/Spec.h"
#include "attune/Support/Tensor.h"
#include <memory>

namespace attune {

/// An entry function as callers see it.
struct BackendEntry {
  std::string name;
  std::vector<TensorType> inputs, outputs;
};

/// One dispatch of the program. `number` is its place in the signature of the
/// library, for hooks and captures.
struct BackendDispatch {
  std::string name, fingerprint, rootOp, shapes;
  int64_t calls = 0; ///< Call sites in the program.
  int64_t number = 0;
  int64_t reductionLength = 1; ///< Products summed for one element, roughly.
  std::string location;  ///< Of the root op: `model.mlir:12`; may be empty.
  double operations = 0; ///< Scalar operations of one call, roughly.
  double bytes = 0;      ///< Read and written by one call, at least.
  std::vector<TensorType> inputs, outputs;
  std::vector<bool> isConstant; ///< Of inputs: every call passes a weight.
  bool isProgram = false;       ///< All of it: alone and inside are the same.
};

/// What one schedule offers for a dispatch.
struct CandidateSpace {
  std::string schedule;
  std::string version; ///< Changes when the schedule does.
  Space space;
  Configuration defaultConfiguration; ///< In the space.
};

/// What a library is made for.
enum class Build {
  Reference, ///< Plain loops: what results are compared with.
  Baseline,  ///< Untuned, with the same dispatches as tuned.
  Untuned,   ///< As without a spec: not compiled for certain sizes.
  Capture,   ///< Untuned, and hands out the inputs of its dispatches.
};

/// A candidate that was compiled, or why it was not.
struct CompiledCandidate {
  Outcome outcome = Outcome::Ok;
  std::string reason, detail;
  std::string library; ///< A path, for the backend's executor.
  double compileSeconds = 0;
};

class Backend {
public:
  virtual ~Backend() = default;

  virtual const std::vector<BackendEntry> &entries() const = 0;
  virtual const std::vector<BackendDispatch> &dispatches() const = 0;
  /// What a person should know about the program, a line each.
  virtual const std::vector<std::string> &notes() const = 0;
  virtual int64_t dispatchVersion() const = 0;
  /// Of the program's text and weights: the same program has the same.
  virtual std::string programHash() const = 0;

  /// Spaces of the schedules that fit, best first; empty when there is nothing
  /// to choose.
  virtual llvm::Expected<std::vector<CandidateSpace>>
  spaces(const BackendDispatch &dispatch) = 0;

  /// Compiles the whole program; gives the library's path.
  virtual llvm::Expected<std::string> buildProgram(Build build) = 0;
  /// The program with a spec's configurations in, at `output` (empty: a
  /// temporary place).
  virtual llvm::Expected<std::string> buildTuned(const Spec &spec,
                                                 ApplyResult &applied,
                                                 llvm::StringRef output) = 0;
  /// Compiles one dispatch as a program of its own.
  virtual llvm::Expected<std::string>
  buildDispatch(const BackendDispatch &dispatch, Build build) = 0;

  /// Compiles candidates side by side; results in the same order. An error is
  /// none of theirs.
  virtual llvm::Expected<std::vector<CompiledCandidate>>
  compileCandidates(const BackendDispatch &dispatch,
                    llvm::ArrayRef<Configuration> configurations) = 0;

  /// Writes a dispatch as a program that `attune tune` takes. `inputFiles`, one
  /// an input or none, are .npy files beside it that have values; an empty name
  /// is no file.
  virtual llvm::Error
  dumpDispatch(const BackendDispatch &dispatch, llvm::StringRef path,
               llvm::ArrayRef<std::string> inputFiles = {}) = 0;

  /// A candidate's library is not needed any more; the file is removed.
  virtual void removeLibrary(llvm::StringRef library);

  /// The name of the file that says what won, and how it is written.
  virtual std::string specName() const;
  virtual llvm::Error writeSpec(const Spec &spec, llvm::StringRef path) const;
};

} // namespace attune

#endif // ATTUNE_BACKEND_BACKEND_H
