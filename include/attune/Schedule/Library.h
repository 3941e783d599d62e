//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The schedules of schedules/cpu/*.mlir: which of them fit a dispatch, their
// knobs, their default configuration, and putting a configuration to work.
//
// The order of a dispatch's life (see docs/architecture.md):
//   prepareDispatch(f)                 normalise, once, before anything else
//   library.fitting(f, target, n)      best first, the fallback last
//   schedule->apply(f, config, ...)    tensors in, tensors out, vectorised
//   (Codegen bufferizes)
//   schedule->applyLower(f, ...)       on buffers
// Fit, bind and apply must see the prepared function.

#ifndef ATTUNE_SCHEDULE_LIBRARY_H
#define ATTUNE_SCHEDULE_LIBRARY_H

#include "attune/Schedule/Configuration.h"
#include "attune/Schedule/Target.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <optional>
#include <vector>

namespace attune {

/// The integers a schedule is given, by the name its arguments carry in
/// `attune.bind`. Sizes that are not known when compiling are -1.
///   target:   vector_bytes, vector_registers, l1_bytes, l2_bytes, l3_bytes,
///             cores, threads
///   problem:  element_bytes (of the root op's widest input or result)
///     contraction and convolution: batch (product of the loops that are none
///       of the others), m and n (the loops that are tiled to registers; n is
///       vectorised), k (the reduction that is unrolled), window (product of
///       the other reductions)
///     reduction, elementwise, copy: rows (product of all parallel loops but a
///       contiguous one), columns (that loop, or 1), reduction (product of the
///       reduction loops, 1 if there are none)
using Bindings = llvm::StringMap<int64_t>;

/// Brings a dispatch function into the form that schedules match: named linalg
/// ops generalised, softmax and the like decomposed, chains of elementwise ops
/// fused, unit loops dropped where that is safe. Semantics stay. Idempotent.
llvm::Error prepareDispatch(mlir::func::FuncOp dispatch);

/// One file of the library. Valid as long as its library is.
class Schedule {
public:
  llvm::StringRef name() const { return scheduleName; }

  /// `@schedule`. Its knobs are the `transform.tune.knob` ops inside (and every
  /// `transform.tune.alternatives` without a selected region, with the indices
  /// of its regions as values), its constraints the
  /// `transform.smt.constrain_params` ops. Operands of constraints are results
  /// of knobs, or arguments, whose `attune.bind` names a binding.
  mlir::transform::NamedSequenceOp sequence() const;

  /// Success if the schedule fits; otherwise the error says why not.
  llvm::Error fits(mlir::func::FuncOp dispatch, const Target &target,
                   int64_t threads) const;

  /// The values of everything this schedule or a symbolic domain of it may
  /// name, in the form of the dispatch that it works on.
  llvm::Expected<Bindings> bindProblem(mlir::func::FuncOp dispatch,
                                       const Target &target,
                                       int64_t threads) const;

  /// What a careful person would choose for this problem and target; always
  /// valid. The untuned baseline.
  llvm::Expected<Configuration>
  defaultConfiguration(mlir::func::FuncOp dispatch, const Target &target,
                       int64_t threads) const;

  /// An error if a value is missing, unknown, outside of its domain or if a
  /// constraint is violated (outcome: Rejected). Touches no IR.
  llvm::Error check(const Configuration &configuration,
                    const Bindings &bindings) const;

  /// Checks, then runs `@schedule` on the tensor-level dispatch function with
  /// the configuration's values in. On error the function may be half
  /// transformed: throw it away.
  llvm::Error apply(mlir::func::FuncOp dispatch,
                    const Configuration &configuration, const Target &target,
                    int64_t threads) const;

  /// Runs `@lower`, if there is one, on the bufferized function. `bindings` are
  /// those of the tensor-level function, from before `apply`.
  llvm::Error applyLower(mlir::func::FuncOp dispatch,
                         const Configuration &configuration,
                         const Bindings &bindings) const;

private:
  friend class ScheduleLibrary;
  /// How early the schedule comes among those that fit: what `@priority` writes
  /// on the dispatch as `attune.priority`, else the module's attribute.
  llvm::Expected<int64_t> priorityFor(mlir::func::FuncOp dispatch,
                                      const Target &target,
                                      int64_t threads) const;
  /// Brings the dispatch into the form that the module's attribute
  /// `attune.form` names ("product": a convolution as a product of matrices).
  llvm::Error reform(mlir::func::FuncOp dispatch) const;
  /// The dispatch in that form, with what is known of it.
  struct Bound {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    mlir::func::FuncOp func;
    Bindings bindings;
  };
  llvm::Expected<Bound> bind(mlir::func::FuncOp dispatch, const Target &target,
                             int64_t threads) const;
  /// A copy of the dispatch in that form, in a module of its own.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  reformed(mlir::func::FuncOp dispatch) const;
  /// The nearest valid configuration that differs in one knob, if there is one.
  llvm::Expected<std::optional<Configuration>>
  repair(const Configuration &configuration, const Bindings &bindings) const;

  std::string scheduleName;
  int64_t priority = 0;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

class ScheduleLibrary {
public:
  /// Reads every .mlir file of `folder`. A module with the attribute
  /// `attune.extends` takes over the sequences it does not have itself from the
  /// schedule of that name. Errors name the file: unreadable, does
  /// not parse or verify, no `@schedule`, duplicate knobs, an unknown
  /// `attune.bind`.
  static llvm::Expected<ScheduleLibrary> load(mlir::MLIRContext *context,
                                              llvm::StringRef folder);

  llvm::ArrayRef<std::unique_ptr<Schedule>> schedules() const { return all; }

  /// By name; null if there is none.
  const Schedule *find(llvm::StringRef name) const;

  /// Those that fit, best first (`@priority` or the module attribute
  /// `attune.priority`, higher is better); the first is the untuned baseline.
  /// `fallback` fits everything.
  std::vector<const Schedule *> fitting(mlir::func::FuncOp dispatch,
                                        const Target &target,
                                        int64_t threads) const;

private:
  llvm::Error extend(llvm::StringRef path, mlir::ModuleOp module) const;

  std::vector<std::unique_ptr<Schedule>> all;
};

/// Registers `--attune-prepare-dispatch` and `--attune-apply-schedule`, for
/// tests.
void registerSchedulePasses();

} // namespace attune

#endif // ATTUNE_SCHEDULE_LIBRARY_H
