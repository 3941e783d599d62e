//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a profile wants to know of a dispatch that was not run: where it is
// from, and the work it has at least.

#include "CpuImpl.h"
#include "attune/Dispatch/RootOp.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace attune {

/// As in estimateWork.
static constexpr double dynamicExtent = 64;

std::string describePlace(Location location) {
  std::string place;
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner))
      place =
          (file.getFilename().getValue() + ":" + Twine(file.getLine())).str();
    else if (auto name = dyn_cast<NameLoc>(inner); name && place.empty())
      place = name.getName().str();
    return isa<FileLineColLoc>(inner) ? WalkResult::interrupt()
                                      : WalkResult::advance();
  });
  return place;
}

double countOperations(func::FuncOp dispatch) {
  double sum = 0;
  dispatch.walk([&](linalg::LinalgOp op) {
    // A fill or a copy computes nothing.
    if (op.getBlock() && op.getBlock()->getOperations().size() > 1)
      sum += estimateWork(op);
  });
  return sum;
}

static double bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return 8;
  Type element = tensor.getElementType();
  double bytes = element.isIntOrFloat()
                     ? std::max(1u, element.getIntOrFloatBitWidth() / 8)
                     : 8;
  for (int64_t size : tensor.getShape())
    bytes *= ShapedType::isDynamic(size) ? dynamicExtent : double(size);
  return bytes;
}

/// Of a table that is only looked up in, no more is read than is written; of a
/// tensor of which slices are taken, these.
static double bytesRead(BlockArgument argument, double bytesWritten) {
  double whole = bytesOf(argument.getType()), parts = 0;
  for (Operation *user : argument.getUsers()) {
    if (isa<tensor::ExtractOp, tensor::GatherOp>(user))
      parts += bytesWritten;
    else if (isa<tensor::ExtractSliceOp>(user))
      parts += bytesOf(user->getResult(0).getType());
    else
      return whole;
  }
  return std::min(whole, parts);
}

double countBytes(func::FuncOp dispatch) {
  double written = 0;
  for (Type type : dispatch.getResultTypes())
    written += bytesOf(type);
  double sum = written;
  unsigned inputs = dispatch.getNumArguments() - dispatch.getNumResults();
  for (BlockArgument argument : dispatch.getArguments().take_front(inputs))
    sum += bytesRead(argument, written);
  return sum;
}

} // namespace attune
