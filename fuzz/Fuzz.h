//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What every fuzzer uses. docs/tests.md says how they are run.

#ifndef ATTUNE_FUZZ_FUZZ_H
#define ATTUNE_FUZZ_FUZZ_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <cstdlib>

/// libFuzzer calls this with one input after the other.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace attune::fuzz {

inline llvm::StringRef textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// What must hold for every input. Not an assertion: those are off in some
/// builds.
inline void require(bool holds, const llvm::Twine &what) {
  if (holds)
    return;
  llvm::errs() << "fuzz: broken: " << what << "\n";
  std::abort();
}

/// The value, or nothing for an input that is refused. Messages are made for
/// people: they are one line, and never empty.
template <typename T> std::optional<T> accept(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  std::string message = llvm::toString(value.takeError());
  require(!message.empty(), "an error without a message");
  return std::nullopt;
}

/// What has to work, because what it is made of was accepted.
template <typename T>
T mustWork(llvm::Expected<T> value, const llvm::Twine &what) {
  if (!value)
    require(false, what + ": " + llvm::toString(value.takeError()));
  return std::move(*value);
}

} // namespace attune::fuzz

#endif // ATTUNE_FUZZ_FUZZ_H
