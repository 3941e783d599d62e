//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Memory that notices when a program reads or writes outside of it.

#ifndef ATTUNE_MEASURE_BUFFER_H
#define ATTUNE_MEASURE_BUFFER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace attune {

/// Where the data sits in its pages.
enum class Guard {
  /// The last byte is the last of its page, the next page is forbidden, and the
  /// bytes before it carry a pattern. Aligned to what its size is a multiple
  /// of.
  Tight,
  /// Aligned to 64 bytes, with forbidden pages around: for timing.
  Aligned,
};

/// Pages of our own between two forbidden ones. `name` (`output 0`) is for the
/// line that the fault handler prints.
class GuardedBuffer {
public:
  static llvm::Expected<GuardedBuffer> create(size_t bytes, Guard guard,
                                              llvm::StringRef name);
  GuardedBuffer(GuardedBuffer &&other);
  GuardedBuffer &operator=(GuardedBuffer &&other);
  ~GuardedBuffer();

  char *data() const { return begin; }
  size_t size() const { return bytes; }

  /// Bytes around the data, inside its pages, were written: a write out of
  /// bounds that no page caught.
  bool isDamaged() const;

private:
  GuardedBuffer() = default;
  char *pages = nullptr; ///< The first forbidden page.
  size_t pageBytes = 0;  ///< All, with both forbidden ones.
  char *begin = nullptr;
  size_t bytes = 0;
  int slot = -1; ///< In the fault handler's table.
};

/// Before a process dies of SIGSEGV or SIGBUS, prints on stderr which buffer
/// was left, or that the stack is full. For the run process.
void explainFaults();

} // namespace attune

#endif // ATTUNE_MEASURE_BUFFER_H
