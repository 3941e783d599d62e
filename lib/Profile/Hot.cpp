//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Profile/Hot.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attune;
using llvm::formatv;

double MachinePeaks::bandwidthFor(double bytes) const {
  if (levels.empty())
    return 0;
  for (const Level &level : levels)
    if (bytes <= level.bytes)
      return level.bytesPerSecond;
  return levels.back().bytesPerSecond;
}

double attune::rooflineSeconds(const DispatchFacts &facts,
                               const MachinePeaks &peaks) {
  double computing = peaks.operationsPerSecond > 0
                         ? facts.operations / peaks.operationsPerSecond
                         : 0;
  double bandwidth = peaks.bandwidthFor(facts.bytes);
  double moving = bandwidth > 0 ? facts.bytes / bandwidth : 0;
  return std::max(computing, moving);
}

/// Why a dispatch is worth it, in words.
static std::string describe(const HotDispatch &hot, const ProfileRow &row,
                            double roofline) {
  std::string text = formatv("{0:f1} % of the time", 100 * hot.share).str();
  if (roofline > 0)
    text += formatv(", {0:f1} times its roofline",
                    std::max(1.0, row.secondsPerCall() / roofline))
                .str();
  return text;
}

bool attune::arePlausible(const MachinePeaks &peaks,
                          llvm::ArrayRef<DispatchFacts> facts,
                          llvm::ArrayRef<ProfileRow> rows) {
  for (auto [fact, row] : llvm::zip_equal(facts, rows))
    if (row.calls > 0 &&
        row.secondsPerCall() < 0.9 * rooflineSeconds(fact, peaks))
      return false;
  return true;
}

std::vector<HotDispatch> attune::chooseHot(llvm::ArrayRef<DispatchFacts> facts,
                                           llvm::ArrayRef<ProfileRow> rows,
                                           double totalSeconds,
                                           const MachinePeaks &given,
                                           const HotOptions &options) {
  const MachinePeaks peaks =
      arePlausible(given, facts, rows) ? given : MachinePeaks();
  std::vector<HotDispatch> all;
  double inDispatches = 0;
  for (size_t i = 0; i < facts.size(); ++i) {
    HotDispatch hot;
    hot.number = i;
    hot.seconds = rows[i].seconds;
    hot.share = totalSeconds > 0 ? rows[i].seconds / totalSeconds : 0;
    double roofline = rooflineSeconds(facts[i], peaks);
    hot.gainSeconds = std::max(0.0, rows[i].seconds - rows[i].calls * roofline);
    hot.reason = describe(hot, rows[i], roofline);
    inDispatches += rows[i].seconds;
    all.push_back(std::move(hot));
  }
  llvm::stable_sort(all, [](const HotDispatch &a, const HotDispatch &b) {
    return std::tie(a.gainSeconds, a.seconds) >
           std::tie(b.gainSeconds, b.seconds);
  });
  // What is at its roofline is covered without any work.
  constexpr double smallestGain = 0.02;
  double covered = 0;
  size_t count = 0;
  for (HotDispatch &hot : all) {
    bool enough = covered >= options.coverage * inDispatches;
    bool atRoofline = hot.gainSeconds < smallestGain * hot.seconds;
    covered += hot.seconds;
    if (rows[hot.number].calls <= 0)
      hot.reason = "not called with these inputs";
    else if (hot.share < options.minimumShare)
      hot.reason += ": not worth it";
    else if (atRoofline)
      hot.reason += ": as fast as it gets";
    else if (enough)
      hot.reason += formatv(": others cover {0:f0} %", 100 * options.coverage);
    else if (count == options.maximumCount)
      hot.reason += formatv(": {0} others are hotter", count);
    else {
      hot.chosen = true;
      ++count;
    }
  }
  return all;
}
