//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The work of the run process: everything in here runs candidates, in this
// process, and so belongs into attune-runner only.

#ifndef ATTUNE_MEASURE_RUNNER_H
#define ATTUNE_MEASURE_RUNNER_H

#include "attune/Measure/Jobs.h"
#include "attune/Measure/Library.h"
#include "attune/Measure/Protocol.h"
#include "attune/Support/Clock.h"
#include "llvm/ADT/StringMap.h"

namespace attune {

/// Does `measure` and `run` jobs, and keeps between jobs what the next one
/// needs again: inputs, references, the loaded baseline.
class Runner {
public:
  explicit Runner(Clock &clock) : clock(clock) {}

  /// For runWorkerLoop, by kind. The runner must outlive them.
  llvm::StringMap<JobHandler> handlers();

private:
  struct FileIdentity {
    int64_t inode = 0, bytes = 0, modified = 0;
    bool operator==(const FileIdentity &) const = default;
  };
  struct CachedTensor {
    FileIdentity identity;
    std::shared_ptr<const Tensor> tensor;
  };
  struct Loaded {
    std::string path;
    FileIdentity identity;
    std::unique_ptr<Library> library;
  };
  using Tensors = std::vector<std::shared_ptr<const Tensor>>;

  llvm::Expected<llvm::json::Object> measure(const llvm::json::Object &json);
  llvm::Expected<llvm::json::Object> run(const llvm::json::Object &json);

  static llvm::Expected<FileIdentity> identify(const std::string &path);
  llvm::Expected<Tensors> loadTensors(const std::vector<std::string> &paths,
                                      const std::vector<TensorType> &types,
                                      llvm::StringRef what);
  llvm::Expected<std::shared_ptr<const Tensor>>
  loadTensor(const std::string &path);
  llvm::Expected<Tensors> findReferences(const std::vector<std::string> &files,
                                         const std::string &baselinePath,
                                         const Signature::Entry &entry,
                                         const Tensors &inputs);
  llvm::Error loadBaseline(const std::string &path);
  bool needsNewProcess(const std::string &path, unsigned threads);

  Clock &clock;
  llvm::StringMap<CachedTensor> tensors;
  size_t cachedBytes = 0;
  Loaded baseline;
  llvm::StringMap<FileIdentity> loadedBefore;
  unsigned threadsInUse = 0;
  bool loadedAny = false;
};

} // namespace attune

#endif // ATTUNE_MEASURE_RUNNER_H
