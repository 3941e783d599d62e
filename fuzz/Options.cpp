//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

/// MLIR's allocators hand out memory that our code marked as not in use, and
/// libMLIR, which has no sanitizer, does not unmark it.
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
