//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The room's functions as passes over a module of functions, for lit tests.

#include "attune/Schedule/Library.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SMT/IR/SMTDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;
using namespace attune;

namespace {

struct PrepareDispatchPass
    : PassWrapper<PrepareDispatchPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrepareDispatchPass)
  StringRef getArgument() const final { return "attune-prepare-dispatch"; }
  StringRef getDescription() const final {
    return "Normalise every function as a dispatch";
  }
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isExternal())
        if (llvm::Error error = prepareDispatch(function)) {
          function.emitError(llvm::toString(std::move(error)));
          return signalPassFailure();
        }
  }
};

struct ApplySchedulePass
    : PassWrapper<ApplySchedulePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ApplySchedulePass)
  ApplySchedulePass() = default;
  ApplySchedulePass(const ApplySchedulePass &other) : PassWrapper(other) {}
  StringRef getArgument() const final { return "attune-apply-schedule"; }
  StringRef getDescription() const final {
    return "Prepare every function and apply a schedule to it";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    // Schedules may use every dialect that is registered.
    registry.insert<affine::AffineDialect, arith::ArithDialect,
                    linalg::LinalgDialect, scf::SCFDialect, smt::SMTDialect,
                    tensor::TensorDialect, transform::TransformDialect,
                    vector::VectorDialect, AttuneDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = Target::forCPU(cpu);
    if (!target)
      return fail(target.takeError());
    auto library = ScheduleLibrary::load(module.getContext(), folder);
    if (!library)
      return fail(library.takeError());
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      if (llvm::Error error = applyTo(function, *library, *target))
        return fail(std::move(error));
    }
  }

  Option<std::string> folder{*this, "folder",
                             llvm::cl::desc("Folder of schedules")};
  Option<std::string> name{
      *this, "schedule",
      llvm::cl::desc("Schedule (default: the first that fits)")};
  Option<std::string> config{
      *this, "config",
      llvm::cl::desc("Knob values that differ from the default: a=1;b=true")};
  Option<std::string> cpu{*this, "cpu", llvm::cl::desc("LLVM CPU name"),
                          llvm::cl::init("host")};
  Option<int64_t> threads{*this, "threads", llvm::cl::desc("Threads"),
                          llvm::cl::init(1)};
  Option<bool> lower{*this, "lower",
                     llvm::cl::desc("Run @lower, not @schedule"),
                     llvm::cl::init(false)};
  Option<bool> show{*this, "print-config",
                    llvm::cl::desc("Say on the function which configuration"),
                    llvm::cl::init(false)};

private:
  void fail(llvm::Error error) {
    getOperation().emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  llvm::Error applyTo(func::FuncOp function, const ScheduleLibrary &library,
                      const Target &target) {
    if (llvm::Error error = prepareDispatch(function))
      return error;
    const Schedule *schedule = nullptr;
    if (name.empty()) {
      auto fitting = library.fitting(function, target, threads);
      if (fitting.empty())
        return makeError("no schedule fits '{0}'", function.getName());
      schedule = fitting.front();
    } else if (!(schedule = library.find(name))) {
      return makeError("there is no schedule '{0}'", name.getValue());
    }
    if (llvm::Error error = schedule->fits(function, target, threads))
      return error;
    auto configuration =
        schedule->defaultConfiguration(function, target, threads);
    if (!configuration)
      return configuration.takeError();
    if (llvm::Error error = override(*configuration))
      return error;
    if (show)
      function->setAttr(
          "attune.applied",
          StringAttr::get(function.getContext(), toString(*configuration)));
    if (!lower)
      return schedule->apply(function, *configuration, target, threads);
    auto bindings = schedule->bindProblem(function, target, threads);
    if (!bindings)
      return bindings.takeError();
    return schedule->applyLower(function, *configuration, *bindings);
  }

  /// `a=1;b=true` on top of the defaults.
  llvm::Error override(Configuration &configuration) {
    SmallVector<StringRef> settings;
    StringRef(config).split(settings, ';', -1, /*KeepEmpty=*/false);
    for (StringRef setting : settings) {
      auto [knob, text] = setting.split('=');
      auto json = llvm::json::parse(text);
      if (!json)
        return json.takeError();
      auto value = knobValueFromJSON(*json);
      if (!value)
        return value.takeError();
      bool found = false;
      for (auto &[name, old] : configuration.values)
        if (name == knob) {
          old = *value;
          found = true;
        }
      if (!found)
        configuration.values.push_back({knob.str(), *value});
    }
    return llvm::Error::success();
  }
};

} // namespace

void attune::registerSchedulePasses() {
  PassRegistration<PrepareDispatchPass>();
  PassRegistration<ApplySchedulePass>();
}
