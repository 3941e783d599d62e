//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Errors are values for a person to read: what was wrong, where, and what to
// do.

#ifndef ATTUNE_SUPPORT_ERROR_H
#define ATTUNE_SUPPORT_ERROR_H

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace attune {

/// A one-line error made like formatv: makeError("{0}: no such file", path).
template <typename... Args>
llvm::Error makeError(const char *format, Args &&...args) {
  return llvm::createStringError(
      llvm::inconvertibleErrorCode(),
      llvm::formatv(format, std::forward<Args>(args)...).str());
}

/// A configuration that cannot be used: an ordinary answer (Outcome::Rejected),
/// not a failure of the compiler.
class RejectedError : public llvm::ErrorInfo<RejectedError> {
public:
  static char ID;
  explicit RejectedError(std::string reason) : reason(std::move(reason)) {}
  void log(llvm::raw_ostream &out) const override { out << reason; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string reason;
};

/// The same error as a rejection.
inline llvm::Error makeRejected(llvm::Error error) {
  return llvm::make_error<RejectedError>(llvm::toString(std::move(error)));
}

} // namespace attune

#endif // ATTUNE_SUPPORT_ERROR_H
