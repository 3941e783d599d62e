//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Time that tests can replace.

#ifndef ATTUNE_SUPPORT_CLOCK_H
#define ATTUNE_SUPPORT_CLOCK_H

namespace attune {

class Clock {
public:
  virtual ~Clock() = default;
  /// Seconds since some fixed moment; never goes back, whatever happens to the
  /// date.
  virtual double now() = 0;
};

/// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
public:
  double now() override;
};

/// A clock that stands still until told otherwise.
class FakeClock final : public Clock {
public:
  double now() override { return seconds; }
  void advance(double by) { seconds += by; }

private:
  double seconds = 0;
};

} // namespace attune

#endif // ATTUNE_SUPPORT_CLOCK_H
