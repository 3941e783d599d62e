//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Results for people and programs.

#include "attune/Harness/Harness.h"

#include "attune/Measure/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace attune {

const std::vector<std::pair<std::string, double>> &resultQuantiles() {
  static const std::vector<std::pair<std::string, double>> quantiles = {
      {"slowest", 0}, {"p1", 1},   {"p10", 10}, {"p25", 25},     {"p50", 50},
      {"p75", 75},    {"p90", 90}, {"p99", 99}, {"fastest", 100}};
  return quantiles;
}

double HarnessResult::secondsAt(double percent) const {
  return seconds.empty() ? 0 : quantile(seconds, 1 - percent / 100);
}

static double rate(double amount, double seconds) {
  return seconds > 0 ? amount / seconds * 1e-9 : 0;
}

double HarnessResult::gflops(double percent) const {
  return rate(flops, secondsAt(percent));
}

double HarnessResult::gbytes(double percent) const {
  return rate(bytes, secondsAt(percent));
}

json::Object toJSON(const HarnessResult &result) {
  json::Object sizes, seconds;
  for (const auto &[name, size] : result.sizes)
    sizes[name] = size;
  for (const auto &[name, percent] : resultQuantiles())
    seconds[name] = result.secondsAt(percent);
  json::Object object{{"problem", result.problem},
                      {"label", result.label},
                      {"expert", result.expert},
                      {"type", toString(result.type)},
                      {"sizes", std::move(sizes)},
                      {"dynamic", json::Array(result.dynamic)},
                      {"threads", result.threads},
                      {"configuration", toJSON(result.configuration)},
                      {"outcome", toString(result.outcome)},
                      {"reason", result.reason},
                      {"checked", result.checked},
                      {"maxErrors", json::Array(result.maxErrors)},
                      {"flops", result.flops},
                      {"bytes", result.bytes},
                      {"iterations", int64_t(result.seconds.size())},
                      {"seconds", std::move(seconds)},
                      {"gflops", result.gflops()},
                      {"gbytes", result.gbytes()},
                      {"compileSeconds", result.compileSeconds}};
  if (!result.reproducer.empty())
    object["reproducer"] = result.reproducer;
  return object;
}

std::string toJSONText(ArrayRef<HarnessResult> results) {
  json::Array rows;
  for (const HarnessResult &result : results)
    rows.push_back(toJSON(result));
  return formatv("{0:2}\n", json::Value(json::Object{
                                {"version", 1}, {"results", std::move(rows)}}))
      .str();
}

/// A cell of a CSV file (RFC 4180).
static std::string quote(StringRef text) {
  if (text.find_first_of(",\"\r\n") == StringRef::npos)
    return text.str();
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

static std::string number(double value) {
  return formatv("{0}", format("%.9g", value));
}

static std::string describeKnobs(const Configuration &configuration) {
  return join(map_range(configuration.values,
                        [](const auto &entry) {
                          return entry.first + "=" + toString(entry.second);
                        }),
              " ");
}

std::string toCSV(ArrayRef<HarnessResult> results) {
  std::string text = "problem,label,expert,type,sizes,dynamic,threads,"
                     "configuration,outcome,reason,checked,compileSeconds,"
                     "iterations";
  for (const auto &[name, percent] : resultQuantiles())
    text += "," + name + "Seconds";
  text += ",gflops,gbytes\n";
  for (const HarnessResult &result : results) {
    std::vector<std::string> cells = {result.problem,
                                      result.label,
                                      result.expert,
                                      toString(result.type).str(),
                                      toString(result.sizes),
                                      join(result.dynamic, " "),
                                      std::to_string(result.threads),
                                      describeKnobs(result.configuration),
                                      toString(result.outcome).str(),
                                      result.reason,
                                      result.checked ? "true" : "false",
                                      number(result.compileSeconds),
                                      std::to_string(result.seconds.size())};
    for (const auto &[name, percent] : resultQuantiles())
      cells.push_back(
          result.seconds.empty() ? "" : number(result.secondsAt(percent)));
    cells.push_back(result.seconds.empty() ? "" : number(result.gflops()));
    cells.push_back(result.seconds.empty() ? "" : number(result.gbytes()));
    text +=
        join(map_range(cells, [](const std::string &c) { return quote(c); }),
             ",") +
        "\n";
  }
  return text;
}

/// `1.25 ms`.
static std::string duration(double seconds) {
  if (seconds <= 0)
    return "-";
  for (auto [limit, factor, unit] :
       {std::tuple(1e-3, 1e6, "us"), {1.0, 1e3, "ms"}})
    if (seconds < limit)
      return formatv("{0} {1}", format("%.4g", seconds * factor), unit);
  return formatv("{0} s", format("%.4g", seconds));
}

/// A row is for looking along; all of it is in the other forms.
static std::string shorten(StringRef text) {
  constexpr size_t most = 64;
  return text.size() <= most ? text.str() : text.take_front(most).str() + "...";
}

std::string toTable(ArrayRef<HarnessResult> results) {
  std::vector<std::vector<std::string>> rows = {
      {"problem", "sizes", "expert", "slowest", "median", "fastest", "GFLOP/s",
       "GB/s", "compile", "result"}};
  for (const HarnessResult &result : results) {
    bool timed = !result.seconds.empty();
    rows.push_back(
        {result.problem,
         (result.label.empty() ? "" : result.label + ": ") +
             toString(result.sizes) +
             (result.dynamic.empty() ? "" : " ?" + join(result.dynamic, ",")),
         result.expert.empty() ? "untuned" : result.expert,
         duration(result.secondsAt(0)), duration(result.secondsAt(50)),
         duration(result.secondsAt(100)),
         timed && result.flops > 0
             ? formatv("{0}", format("%.2f", result.gflops())).str()
             : "-",
         timed ? formatv("{0}", format("%.2f", result.gbytes())).str() : "-",
         duration(result.compileSeconds),
         !result.ok()
             ? toString(result.outcome).str() + ": " + shorten(result.reason)
         : result.checked ? "right"
                          : "not checked"});
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto &row : rows)
    for (auto [width, cell] : zip(widths, row))
      width = std::max(width, cell.size());
  std::string text;
  for (const auto &row : rows) {
    for (auto [index, cell] : enumerate(row)) {
      bool isNumber = index >= 3 && index <= 8;
      size_t padding = widths[index] - cell.size();
      text += index ? "  " : "";
      text += isNumber ? std::string(padding, ' ') + cell : cell;
      if (!isNumber && index + 1 < row.size())
        text += std::string(padding, ' ');
    }
    text += "\n";
  }
  return text;
}

} // namespace attune
