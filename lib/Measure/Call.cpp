//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Call.h"

#include "attune/Support/Error.h"
#include <cstring>

using namespace attune;
using llvm::Error;
using llvm::Expected;

Expected<Call>
Call::create(const Signature::Entry &entry,
             llvm::ArrayRef<std::shared_ptr<const Tensor>> inputs,
             Guard guard) {
  Call call;
  call.entry = entry.name;
  call.outputTypes = entry.outputs;
  call.originals = inputs;
  for (auto [index, tensor] : llvm::enumerate(inputs)) {
    Expected<GuardedBuffer> buffer = GuardedBuffer::create(
        tensor->bytes.size(), guard, llvm::formatv("input {0}", index).str());
    if (!buffer)
      return buffer.takeError();
    std::memcpy(buffer->data(), tensor->bytes.data(), tensor->bytes.size());
    call.inputs.push_back(
        describeTensor(tensor->type, tensor->shape, buffer->data()));
    call.inputBuffers.push_back(std::move(*buffer));
  }
  for (auto [index, type] : llvm::enumerate(entry.outputs)) {
    if (!type.isStatic()) {
      call.outputs.push_back(describeTensor(type.type, type.shape, nullptr));
      continue;
    }
    std::optional<int64_t> count =
        checkedElementCount(type.shape, byteWidth(type.type));
    if (!count)
      return makeError("output {0} is too large: {1}", index, toString(type));
    Expected<GuardedBuffer> buffer =
        GuardedBuffer::create(*count * byteWidth(type.type), guard,
                              llvm::formatv("output {0}", index).str());
    if (!buffer)
      return buffer.takeError();
    std::memset(buffer->data(), 0xFF, buffer->size());
    call.outputs.push_back(
        describeTensor(type.type, type.shape, buffer->data()));
    call.outputBuffers.push_back(std::move(*buffer));
  }
  return call;
}

Error Call::run(Library &library, Outputs keep) {
  Error error = library.run(entry, inputs, outputs);
  if (!error && keep == Outputs::Keep)
    return error;
  for (auto [type, output] : llvm::zip(outputTypes, outputs)) {
    if (type.isStatic())
      continue;
    if (output.data)
      library.release(output);
    output = describeTensor(type.type, type.shape, nullptr);
  }
  return error;
}

/// A row-major copy of a described tensor.
static void copyStrided(const AttuneTensor &from, int dimension,
                        const char *source, int64_t width, char *&out) {
  if (dimension == from.rank) {
    std::memcpy(out, source, width);
    out += width;
    return;
  }
  for (int64_t i = 0; i < from.sizes[dimension]; ++i)
    copyStrided(from, dimension + 1,
                source + i * from.strides[dimension] * width, width, out);
}

static bool isRowMajor(const AttuneTensor &tensor) {
  int64_t stride = 1;
  for (int d = tensor.rank; d-- > 0; stride *= tensor.sizes[d])
    if (tensor.sizes[d] != 1 && tensor.strides[d] != stride)
      return false;
  return true;
}

static Expected<Tensor> copyOut(const AttuneTensor &output, ElementType type,
                                size_t index) {
  if (output.rank < 0 || output.rank > ATTUNE_MAX_RANK ||
      output.type != static_cast<int32_t>(type) || !output.data)
    return makeError("output {0} came back damaged", index);
  std::vector<int64_t> shape(output.sizes, output.sizes + output.rank);
  if (!checkedElementCount(shape, byteWidth(type)))
    return makeError("output {0} came back with impossible sizes", index);
  Tensor tensor = Tensor::zeros(type, shape);
  const char *data = static_cast<const char *>(output.data);
  char *out = tensor.bytes.data();
  if (isRowMajor(output))
    std::memcpy(out, data, tensor.bytes.size());
  else
    copyStrided(output, 0, data, byteWidth(type), out);
  return tensor;
}

Expected<std::vector<Tensor>> Call::takeOutputs(Library &library) {
  std::vector<Tensor> tensors;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    Expected<Tensor> tensor = copyOut(output, outputTypes[index].type, index);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
    if (outputTypes[index].isStatic())
      continue;
    library.release(output);
    output = describeTensor(outputTypes[index].type, outputTypes[index].shape,
                            nullptr);
  }
  return tensors;
}

std::string Call::findDamage() const {
  for (auto [index, buffer] : llvm::enumerate(inputBuffers)) {
    if (buffer.isDamaged())
      return llvm::formatv("wrote outside of input {0}", index);
    const Tensor &original = *originals[index];
    if (std::memcmp(buffer.data(), original.bytes.data(), buffer.size()))
      return llvm::formatv("changed input {0}", index);
  }
  // Only outputs of static type have buffers here.
  size_t at = 0;
  for (auto [index, type] : llvm::enumerate(outputTypes))
    if (type.isStatic() && outputBuffers[at++].isDamaged())
      return llvm::formatv("wrote outside of output {0}", index);
  return "";
}
