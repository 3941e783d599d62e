//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The memory of one call: inputs, outputs, and what watches over them.

#ifndef ATTUNE_LIB_MEASURE_CALL_H
#define ATTUNE_LIB_MEASURE_CALL_H

#include "attune/Measure/Buffer.h"
#include "attune/Measure/Library.h"
#include <memory>

namespace attune {

/// Buffers for calls of an entry. Outputs of static type are ours, filled with
/// 0xFF (NaN) before; others are allocated by the library and freed by it.
class Call {
public:
  static llvm::Expected<Call>
  create(const Signature::Entry &entry,
         llvm::ArrayRef<std::shared_ptr<const Tensor>> inputs, Guard guard);

  /// The runs that follow find weights among the inputs packed.
  llvm::Error prepack(Library &library) {
    return library.prepack(entry, inputs);
  }

  /// Runs once and frees what the library allocated, unless `keepOutputs`.
  enum class Outputs { Drop, Keep };
  llvm::Error run(Library &library, Outputs outputs = Outputs::Drop);

  /// After a run that kept them: copies the results out and frees them.
  llvm::Expected<std::vector<Tensor>> takeOutputs(Library &library);

  /// Which buffer was written outside of its bounds, or which input was
  /// changed; empty when all is well.
  std::string findDamage() const;

private:
  std::string entry;
  std::vector<TensorType> outputTypes;
  std::vector<std::shared_ptr<const Tensor>> originals;
  std::vector<GuardedBuffer> inputBuffers, outputBuffers;
  std::vector<AttuneTensor> inputs, outputs;
};

} // namespace attune

#endif // ATTUNE_LIB_MEASURE_CALL_H
