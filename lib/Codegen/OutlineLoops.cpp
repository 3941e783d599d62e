//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// LLVM's passes take more than twice as long for a function of twice the size:
// a reference of a whole network is compiled loop by loop.

#include "Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace attune::codegen {

/// Fewer loops than this stay where they are.
static constexpr size_t manyLoops = 4;

/// Moves a loop without results to a function of its own. Constants go along,
/// so that bounds stay known.
static void outlineLoop(scf::ForOp loop, ModuleOp module, StringRef name) {
  llvm::SetVector<Value> used(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop->getRegions(), used);
  SmallVector<Operation *> constants;
  SmallVector<Value> arguments;
  for (Value value : used) {
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (constant)
      constants.push_back(constant);
    else
      arguments.push_back(value);
  }
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto func = func::FuncOp::create(
      builder, loop.getLoc(), name,
      builder.getFunctionType(TypeRange(ValueRange(arguments)), {}));
  func.setPrivate();
  Block *body = func.addEntryBlock();
  IRMapping mapping;
  mapping.map(arguments, body->getArguments());
  builder.setInsertionPointToEnd(body);
  for (Operation *constant : constants)
    builder.clone(*constant, mapping);
  builder.clone(*loop, mapping);
  func::ReturnOp::create(builder, loop.getLoc());

  builder.setInsertionPoint(loop);
  func::CallOp::create(builder, loop.getLoc(), func, arguments);
  loop->erase();
}

void outlineLoops(ModuleOp module) {
  SmallVector<scf::ForOp> loops;
  for (auto func : module.getOps<func::FuncOp>())
    for (Block &block : func.getBody())
      for (auto loop : block.getOps<scf::ForOp>())
        if (loop->getNumResults() == 0)
          loops.push_back(loop);
  if (loops.size() < manyLoops)
    return;
  for (auto [index, loop] : llvm::enumerate(loops))
    outlineLoop(loop, module, (outlinedLoop + Twine(index)).str());
}

} // namespace attune::codegen
