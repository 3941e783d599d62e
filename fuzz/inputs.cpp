//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What comes in beside a program: --input= texts, .npy, .npz, the weights file.

#include "attune/Import/Inputs.h"
#include "Fuzz.h"
#include "attune/Import/Weights.h"
#include "attune/Support/Tensor.h"
#include <sys/mman.h>
#include <unistd.h>

using namespace attune;
using namespace attune::fuzz;

/// A file with these bytes, for readers that take a path.
class MemoryFile {
public:
  explicit MemoryFile(llvm::StringRef bytes)
      : descriptor(::memfd_create("fuzz", 0)) {
    require(::write(descriptor, bytes.data(), bytes.size()) ==
                ssize_t(bytes.size()),
            "a file in memory");
  }
  ~MemoryFile() { ::close(descriptor); }
  std::string path() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

private:
  int descriptor;
};

static void checkTensor(const Tensor &tensor) {
  require(tensor.elementCount() * byteWidth(tensor.type) ==
              int64_t(tensor.bytes.size()),
          "an array whose size is not that of its bytes");
  Tensor again = mustWork(parseNpy(formatNpy(tensor), "own.npy"), "own array");
  require(again.bytes == tensor.bytes && again.shape == tensor.shape,
          "an array changes on its way");
}

static void checkWeights(llvm::StringRef bytes) {
  MemoryFile file(bytes);
  std::optional<WeightStore> store = accept(WeightStore::map(file.path()));
  if (!store)
    return;
  for (int64_t i = 0; i < store->size(); ++i)
    checkTensor(store->tensor(i));
}

/// One --input= a line, for an entry with as many inputs.
static void checkSpecs(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  EntrySignature entry;
  entry.name = "main";
  std::vector<std::string> specs;
  for (llvm::StringRef line : lines) {
    std::optional<InputSpec> spec = accept(parseInputSpec(line));
    // No files, and nothing that takes a machine's memory.
    if (!spec || spec->kind == InputSpec::Kind::File)
      return;
    std::vector<int64_t> shape = spec->type.shape;
    int64_t largest = 1;
    for (int64_t size : spec->sizes)
      largest = std::max(largest, size);
    for (int64_t &size : shape)
      size = size < 0 ? largest : size;
    auto count = checkedElementCount(shape, 8);
    if (!count || *count * std::max<size_t>(1, spec->sizes.size()) > 4096)
      return;
    entry.inputs.emplace_back();
    entry.inputs.back().type = spec->type;
    specs.push_back(line.str());
  }
  auto sets = accept(makeInputs(entry, specs));
  if (!sets)
    return;
  for (const InputSet &set : *sets)
    for (const Tensor &tensor : set.tensors)
      checkTensor(tensor);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes = textOf(data, size);
  if (bytes.starts_with("\x93NUMPY")) {
    if (std::optional<Tensor> tensor = accept(parseNpy(bytes, "x.npy")))
      checkTensor(*tensor);
  } else if (bytes.starts_with("PK")) {
    MemoryFile file(bytes);
    if (auto arrays = accept(readNpz(file.path())))
      for (const auto &[name, tensor] : *arrays)
        checkTensor(tensor);
  } else if (bytes.ends_with("ATTUNEW1")) {
    checkWeights(bytes);
  } else {
    checkSpecs(bytes);
  }
  return 0;
}
