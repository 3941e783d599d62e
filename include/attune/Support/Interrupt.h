//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Ctrl-C as a question that loops ask, not as an end in the middle of things.

#ifndef ATTUNE_SUPPORT_INTERRUPT_H
#define ATTUNE_SUPPORT_INTERRUPT_H

namespace attune {

/// What the user wants so far.
enum class Interrupt {
  None,
  Stop, ///< SIGINT or SIGTERM once: finish the job at hand, write results.
  Now,  ///< Twice: drop the job at hand, keep what is on disk.
};

/// From here on SIGINT, SIGTERM and SIGHUP are counted; the third ends the
/// process at once (exit status 130), for when nobody asks. Children are in
/// process groups of their own, so that the terminal's Ctrl-C reaches only us.
void catchInterrupts();

/// Cheap; from any thread.
Interrupt interruptRequested();

/// For tests, and for a session that is told to stop by other means.
void requestInterrupt(Interrupt request);

} // namespace attune

#endif // ATTUNE_SUPPORT_INTERRUPT_H
