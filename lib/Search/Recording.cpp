//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Recording.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Gzip.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <cmath>
#include <set>

using namespace attune;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static llvm::Expected<std::string> unpack(StringRef bytes, StringRef path) {
  auto out = decompressGzip(bytes);
  if (!out)
    return makeError("{0}: {1}", path, llvm::toString(out.takeError()));
  return out;
}

namespace {

/// The rows of a file as texts, column by column.
struct Columns {
  std::vector<std::string> names;
  std::vector<std::vector<StringRef>> texts;
  std::vector<double> seconds;
  std::vector<size_t> lines; ///< Where each row is in the file, from 1.
};

} // namespace

static llvm::Expected<double> secondsPerUnit(StringRef column, StringRef path) {
  if (column == "time_ms")
    return 1e-3;
  if (column == "time_us")
    return 1e-6;
  if (column == "time_s")
    return 1.0;
  return makeError("{0}:1: the last column is '{1}'; it should be time_ms, "
                   "time_us or time_s",
                   path, column);
}

static llvm::Error readHead(StringRef line, StringRef path, Columns &columns) {
  llvm::SmallVector<StringRef> names;
  line.split(names, ',');
  if (names.size() < 2)
    return makeError("{0}:1: not a recording: a line of column names, the last "
                     "one time_ms, comes first",
                     path);
  std::set<StringRef> seen;
  for (StringRef name : names) {
    if (name.trim().empty())
      return makeError("{0}:1: a column has no name", path);
    if (!seen.insert(name.trim()).second)
      return makeError("{0}:1: two columns are named '{1}'", path, name.trim());
    columns.names.push_back(name.trim().str());
  }
  columns.names.pop_back();
  columns.texts.resize(columns.names.size());
  return llvm::Error::success();
}

static llvm::Expected<Columns> readColumns(StringRef text, StringRef path) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  // Texts of choices are printed and sent to searchers as JSON.
  for (auto [i, line] : llvm::enumerate(lines))
    if (!llvm::json::isUTF8(line))
      return makeError("{0}:{1}: not UTF-8", path, i + 1);
  Columns columns;
  StringRef head = lines[0].trim();
  if (llvm::Error error = readHead(head, path, columns))
    return std::move(error);
  auto unit = secondsPerUnit(head.rsplit(',').second.trim(), path);
  if (!unit)
    return unit.takeError();
  llvm::SmallVector<StringRef> fields;
  for (auto [i, line] : llvm::enumerate(llvm::drop_begin(lines))) {
    size_t number = i + 2;
    if (line.trim().empty())
      continue;
    fields.clear();
    line.split(fields, ',');
    if (fields.size() != columns.names.size() + 1)
      return makeError("{0}:{1}: {2} values, and {3} columns", path, number,
                       fields.size(), columns.names.size() + 1);
    StringRef time = fields.back().trim();
    double seconds = 0;
    bool isNumber = !time.getAsDouble(seconds);
    seconds *= *unit; // May become 0, which would mean that it failed.
    if (!time.empty() &&
        (!isNumber || !(seconds > 0) || !std::isfinite(seconds)))
      return makeError("{0}:{1}: '{2}' is no time: a positive number, or "
                       "nothing for a failure",
                       path, number, time);
    for (size_t k = 0; k < columns.names.size(); ++k)
      columns.texts[k].push_back(fields[k].trim());
    columns.seconds.push_back(seconds);
    columns.lines.push_back(number);
  }
  if (columns.lines.empty())
    return makeError("{0}: no measurements in it", path);
  return columns;
}

template <typename T, typename Parse>
static std::optional<std::vector<T>> parseAll(llvm::ArrayRef<StringRef> texts,
                                              Parse parse) {
  std::set<T> values;
  for (StringRef text : texts) {
    T value;
    if (!parse(text, value))
      return std::nullopt;
    values.insert(value);
  }
  return std::vector<T>(values.begin(), values.end());
}

static bool parseInteger(StringRef text, int64_t &value) {
  return !text.getAsInteger(10, value);
}

static bool parseReal(StringRef text, double &value) {
  return !text.getAsDouble(value) && std::isfinite(value);
}

static bool parseBoolean(StringRef text, int64_t &value) {
  value = text.equals_insensitive("true");
  return value || text.equals_insensitive("false");
}

/// The domain of a column, and the number of each row's value in it.
static llvm::Expected<Domain> domainOf(llvm::ArrayRef<StringRef> texts,
                                       std::vector<uint64_t> &numbers) {
  auto number = [&](const Domain &domain, auto parse, auto value) {
    for (StringRef text : texts) {
      parse(text, value);
      numbers.push_back(*domain.indexOf(KnobValue(value)));
    }
  };
  if (auto values = parseAll<int64_t>(texts, parseInteger)) {
    auto domain = Domain::integers(std::move(*values));
    if (domain)
      number(*domain, parseInteger, int64_t());
    return domain;
  }
  if (parseAll<int64_t>(texts, parseBoolean)) {
    Domain domain = Domain::boolean();
    for (StringRef text : texts)
      numbers.push_back(text.equals_insensitive("true"));
    return domain;
  }
  if (auto values = parseAll<double>(texts, parseReal)) {
    auto domain = Domain::floats(std::move(*values));
    if (domain)
      number(*domain, parseReal, double());
    return domain;
  }
  llvm::StringMap<uint64_t> places;
  std::vector<std::string> choices;
  for (StringRef text : texts) {
    auto [place, isNew] = places.try_emplace(text, choices.size());
    if (isNew)
      choices.push_back(text.str());
    numbers.push_back(place->second);
  }
  return Domain::choice(std::move(choices));
}

llvm::Expected<Recording> attune::parseRecording(StringRef text,
                                                 StringRef path) {
  auto columns = readColumns(text, path);
  if (!columns)
    return columns.takeError();
  std::vector<Knob> knobs;
  std::vector<std::vector<uint64_t>> rows(columns->lines.size());
  for (auto [name, texts] : llvm::zip(columns->names, columns->texts)) {
    std::vector<uint64_t> numbers;
    auto domain = domainOf(texts, numbers);
    if (!domain)
      return makeError("{0}: column '{1}': {2}", path, name,
                       llvm::toString(domain.takeError()));
    knobs.push_back({name, std::move(*domain)});
    for (auto [row, number] : llvm::zip(rows, numbers))
      row.push_back(number);
  }
  auto space = Space::table("", std::move(knobs), rows);
  if (!space)
    return makeError("{0}: {1}", path, llvm::toString(space.takeError()));
  Recording recording{std::move(*space), {}, 0, 0};
  recording.seconds.assign(recording.space.count(), -1);
  for (auto [row, seconds] : llvm::zip(rows, columns->seconds)) {
    double &place =
        recording
            .seconds[*recording.space.indexOf(recording.space.decode(row))];
    if (place >= 0)
      continue;
    place = seconds;
    recording.failures += seconds == 0;
    if (seconds > 0 && (seconds < recording.optimum || !recording.optimum))
      recording.optimum = seconds;
  }
  if (!recording.optimum)
    return makeError("{0}: every configuration failed", path);
  return recording;
}

llvm::Expected<Recording> attune::readRecording(StringRef path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  if (!StringRef(*bytes).starts_with("\x1f\x8b"))
    return parseRecording(*bytes, path);
  auto text = unpack(*bytes, path);
  if (!text)
    return text.takeError();
  return parseRecording(*text, path);
}

//===----------------------------------------------------------------------===//
// Replaying
//===----------------------------------------------------------------------===//

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

ReplayRun attune::replaySearch(const Recording &recording, Searcher &searcher,
                               size_t budget) {
  ReplayRun run;
  double best = 0;
  while (run.bestSeconds.size() < budget) {
    double start = now();
    std::vector<Configuration> asked = searcher.ask(1);
    run.askSeconds += now() - start;
    if (asked.empty())
      break;
    Trial trial;
    trial.configuration = std::move(asked.front());
    auto index = recording.space.indexOf(trial.configuration);
    double seconds = index ? recording.seconds[*index] : 0;
    if (seconds > 0) {
      trial.seconds = {seconds};
      best = best ? std::min(best, seconds) : seconds;
    } else {
      trial.outcome = Outcome::CompileError;
      trial.reason = "failed when it was recorded";
    }
    start = now();
    searcher.tell(trial);
    run.askSeconds += now() - start;
    run.bestSeconds.push_back(best);
  }
  run.stopReason = searcher.stopReason();
  return run;
}

std::vector<double> attune::expectedRandomBest(const Recording &recording,
                                               size_t budget) {
  std::vector<double> times;
  for (double seconds : recording.seconds)
    if (seconds > 0)
      times.push_back(seconds);
  llvm::sort(times);
  size_t total = recording.seconds.size();
  // noneOf[i]: the probability that n draws missed the i best times.
  std::vector<double> noneOf(times.size() + 1, 1), expected;
  for (size_t n = 1; n <= std::min(budget, total); ++n) {
    double sum = 0;
    for (size_t i = 0; i <= times.size(); ++i) {
      double left = double(total) - double(i) - double(n - 1);
      noneOf[i] *= std::max(0.0, left) / double(total - n + 1);
      if (i)
        sum += times[i - 1] * (noneOf[i - 1] - noneOf[i]);
    }
    double found = 1 - noneOf[times.size()];
    expected.push_back(sum / found);
  }
  expected.resize(budget, times.front());
  return expected;
}

/// Linear between the two nearest, as numpy does it.
static double quantile(llvm::ArrayRef<double> sorted, double share) {
  double place = share * double(sorted.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - double(below)) * (sorted[above] - sorted[below]);
}

ReplayPoint attune::summarizeReplay(const Recording &recording,
                                    llvm::ArrayRef<ReplayRun> runs,
                                    size_t evaluations) {
  ReplayPoint point;
  point.evaluations = evaluations;
  double baseline = expectedRandomBest(recording, evaluations).back();
  double worst = *llvm::max_element(recording.seconds), sum = 0;
  std::vector<double> fractions;
  for (const ReplayRun &run : runs) {
    size_t made = std::min(evaluations, run.bestSeconds.size());
    double best = made ? run.bestSeconds[made - 1] : 0;
    fractions.push_back(best ? recording.optimum / best : 0);
    sum += best ? best : worst;
  }
  point.fractions = fractions;
  llvm::sort(fractions);
  point.median = quantile(fractions, 0.5);
  point.lowerQuartile = quantile(fractions, 0.25);
  point.upperQuartile = quantile(fractions, 0.75);
  point.randomFraction = recording.optimum / baseline;
  double found = sum / double(runs.size());
  point.score = baseline > recording.optimum
                    ? (baseline - found) / (baseline - recording.optimum)
                    : (found > recording.optimum ? -1 : 1);
  return point;
}
