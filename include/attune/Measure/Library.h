//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A compiled program, loaded through its C interface (Runtime/program.h). Only
// the run process loads any.

#ifndef ATTUNE_MEASURE_LIBRARY_H
#define ATTUNE_MEASURE_LIBRARY_H

#include "attune/Runtime/program.h"
#include "attune/Support/Tensor.h"
#include <memory>
#include <string>
#include <vector>

namespace attune {

/// attune_signature(), read.
struct Signature {
  struct Entry {
    std::string name;
    std::vector<TensorType> inputs, outputs;
  };
  std::vector<Entry> entries;
  std::vector<std::string> dispatches;
  /// What a dispatch was compiled with (a configuration, or `loops`), and a
  /// hash of its code.
  struct Lowered {
    std::string name, how, code;
  };
  std::vector<Lowered> lowered;

  /// An error lists the entries there are.
  llvm::Expected<const Entry *> find(llvm::StringRef entry) const;
};
llvm::Expected<Signature> signatureFromJSON(llvm::StringRef text);

/// A tensor described for the C interface, row-major. The data is not copied.
AttuneTensor describeTensor(ElementType type, llvm::ArrayRef<int64_t> shape,
                            void *data);

/// The recorder that a library comes with; it must not outlive the library.
class Recorder {
public:
  Recorder(Recorder &&other) noexcept;
  Recorder &operator=(Recorder &&) = delete;
  ~Recorder();

  const AttuneHooks *hooks() const;
  /// All events since the last call; `lost` is how many more there were.
  std::vector<AttuneEvent> take(int64_t &lost);

private:
  friend class Library;
  Recorder() = default;
  AttuneRecorder *recorder = nullptr;
  decltype(&attune_recorder_destroy) destroyIt = nullptr;
  decltype(&attune_recorder_hooks) hooksOf = nullptr;
  decltype(&attune_recorder_take) takeFrom = nullptr;
};

/// A loaded library and one program instance of it. All Attune libraries export
/// the same names, so each is loaded with RTLD_LOCAL and asked by handle.
class Library {
public:
  /// Errors: not a library, a missing function, attune_create failed.
  static llvm::Expected<std::unique_ptr<Library>> open(llvm::StringRef path);
  ~Library();

  const Signature &getSignature() const { return signature; }
  /// The JSON it was read from.
  std::string getSignatureText() const;

  /// attune_prepack: the runs that follow use `inputs`, whose values stay.
  llvm::Error prepack(const std::string &entry,
                      llvm::ArrayRef<AttuneTensor> inputs);
  /// attune_run; an error is attune_error's text.
  llvm::Error run(const std::string &entry, llvm::ArrayRef<AttuneTensor> inputs,
                  llvm::MutableArrayRef<AttuneTensor> outputs);
  /// Frees outputs that the library allocated (data was 0).
  void release(AttuneTensor &output);
  void setChecked(bool on);
  void setHooks(const AttuneHooks *hooks);
  /// With the processor's counters, too, or an error that says why there are
  /// none.
  enum class Counters { Off, Hardware };
  llvm::Expected<Recorder> createRecorder(int64_t eventsPerThread,
                                          Counters counters);

private:
  struct Functions;
  Library() = default;
  void *handle = nullptr;
  std::unique_ptr<Functions> functions;
  AttuneProgram *program = nullptr;
  Signature signature;
};

} // namespace attune

#endif // ATTUNE_MEASURE_LIBRARY_H
