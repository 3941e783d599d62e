//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What commands share that choose hot dispatches.

#include "Commands.h"

#include "attune/Profile/Formats.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace attune::cli {

void HotFlags::addTo(CLI::App &command) {
  command.add_option("--profile", profile,
                     "where the time goes (attune profile -o FILE), instead "
                     "of measuring it");
  command.add_option("--coverage", coverage,
                     "choose dispatches until so much of their time is covered "
                     "(default 95%)");
}

/// `90%` or `0.9`.
Expected<double> HotFlags::coverageFraction() const {
  StringRef text = coverage;
  double value = 0;
  bool percent = text.consume_back("%");
  if (text.getAsDouble(value) || !(value > 0) || value > (percent ? 100 : 1))
    return makeError("--coverage={0}: a share such as 90% or 0.9", coverage);
  return percent ? value / 100 : value;
}

Expected<std::optional<Profile>> HotFlags::readProfile() const {
  if (profile.empty())
    return std::nullopt;
  auto read = attune::readProfile(profile);
  if (!read)
    return read.takeError();
  return std::move(*read);
}

static json::Value toJSON(const MachinePeaks &peaks, StringRef cpu,
                          int threads) {
  json::Array levels;
  for (const MachinePeaks::Level &level : peaks.levels)
    levels.push_back(json::Object{{"bytes", level.bytes},
                                  {"bytesPerSecond", level.bytesPerSecond}});
  return json::Object{{"version", 1},
                      {"cpu", cpu},
                      {"threads", threads},
                      {"operationsPerSecond", peaks.operationsPerSecond},
                      {"levels", std::move(levels)}};
}

/// Nothing if it is of another machine, or no such file.
static std::optional<MachinePeaks> readPeaks(StringRef path, StringRef cpu,
                                             int threads) {
  auto text = readFile(path);
  if (!text) {
    consumeError(text.takeError());
    return std::nullopt;
  }
  auto value = parseJson(*text);
  if (!value) {
    consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  if (!object || object->getString("cpu") != cpu ||
      object->getInteger("threads") != threads)
    return std::nullopt;
  MachinePeaks peaks;
  peaks.operationsPerSecond =
      object->getNumber("operationsPerSecond").value_or(0);
  if (const json::Array *levels = object->getArray("levels"))
    for (const json::Value &item : *levels)
      if (const json::Object *level = item.getAsObject())
        peaks.levels.push_back(
            {level->getNumber("bytes").value_or(0),
             level->getNumber("bytesPerSecond").value_or(0)});
  return peaks;
}

Expected<MachinePeaks> findPeaks(StringRef folder, StringRef cpu, int threads) {
  std::string path = (folder + "/machine.json").str();
  if (auto known = readPeaks(path, cpu, threads))
    return std::move(*known);
  MachinePeaks peaks = measurePeaks(threads);
  if (!folder.empty())
    if (Error error = writeFile(
            path, formatv("{0:2}\n", toJSON(peaks, cpu, threads)).str()))
      return std::move(error);
  return peaks;
}

} // namespace attune::cli
