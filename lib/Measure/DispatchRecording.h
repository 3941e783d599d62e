//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the library's recorder has of each dispatch, added up over repetitions.
// Internal to the room.

#ifndef ATTUNE_LIB_MEASURE_DISPATCHRECORDING_H
#define ATTUNE_LIB_MEASURE_DISPATCHRECORDING_H

#include "attune/Measure/Jobs.h"
#include "attune/Measure/Library.h"
#include <optional>

namespace attune {

class DispatchRecording {
public:
  DispatchRecording(Library &library, const RunJob &job);
  ~DispatchRecording();

  /// From here on dispatches are recorded.
  llvm::Error start();

  /// Takes in a repetition that took from `begin` to `end` on the clock. False:
  /// there was no place for all its events; now there is more, and it does not
  /// count.
  llvm::Expected<bool> endRepetition(double begin, double end);

  /// Calls of a repetition and their time (the median) into `result`, and the
  /// job's file of events.
  llvm::Error finish(RunResult &result);

private:
  void add(const AttuneEvent &event);
  void keep(const AttuneEvent &event);

  Library &library;
  const RunJob &job;
  std::optional<Recorder> recorder;
  int64_t capacity = 1 << 14; ///< Events a repetition.
  unsigned repetitions = 0;
  std::vector<double> calls, counters; ///< Of all repetitions.
  std::vector<double> current;         ///< Seconds of this repetition.
  /// Seconds of a dispatch in each of the first repetitions. On a busy machine
  /// one that was interrupted takes a thousand times as long: the median
  /// counts.
  std::vector<std::vector<float>> seconds;
  std::vector<AttuneEvent> kept; ///< For the file.
};

} // namespace attune

#endif // ATTUNE_LIB_MEASURE_DISPATCHRECORDING_H
