//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a run gave.

#include "harness.h"

#include "attune/Harness/Harness.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// Of something else than an expert, that was measured in Python (numpy, ...).
HarnessResult makeResult(const ProblemCase &given, const std::string &name,
                         std::vector<double> seconds, int threads,
                         const std::string &outcome,
                         const std::string &reason) {
  HarnessResult result;
  result.problem = given.problem.name;
  result.label = given.label;
  result.expert = name;
  result.type = given.problem.type;
  result.sizes = take(resolveSizes(given.problem, given.sizes));
  result.dynamic = given.dynamic;
  result.threads = threads;
  result.flops = take(flopsOf(given.problem, given.sizes));
  result.bytes = take(bytesOf(given.problem, given.sizes));
  result.seconds = std::move(seconds);
  auto known = outcomeFromString(outcome);
  if (!known)
    throw AttuneError("'" + outcome + "' is no outcome: ok, crash, ...");
  result.outcome = *known;
  result.reason = reason;
  return result;
}

std::string nameOf(const HarnessResult &result) {
  return result.expert.empty() ? "untuned" : result.expert;
}

std::string describe(const HarnessResult &result) {
  std::string text = result.problem + " " + toString(result.sizes) + ", " +
                     nameOf(result) + ": ";
  if (!result.ok())
    return text + toString(result.outcome).str() + ", " + result.reason;
  return text + llvm::formatv("{0:e2} s, {1:f1} GFLOP/s, {2:f1} GB/s",
                              result.secondsAt(50), result.gflops(),
                              result.gbytes())
                    .str();
}

} // namespace

void addResult(nb::module_ &module) {
  using R = HarnessResult;
  nb::class_<R>(module, "Result",
                "What one run of a case gave: times in seconds, rates, and the "
                "outcome.")
      .def_static("make", makeResult, "case"_a, "name"_a, "seconds"_a,
                  "threads"_a = 1, "outcome"_a = "ok", "reason"_a = "",
                  "Of what was measured elsewhere (a library), for tables.")
      .def_ro("problem", &R::problem)
      .def_ro("label", &R::label)
      .def_prop_ro("expert", nameOf, "Its name; 'untuned' where none was.")
      .def_prop_ro("type", [](const R &r) { return toString(r.type).str(); })
      .def_prop_ro("sizes", [](const R &r) { return toDict(r.sizes); })
      .def_ro("dynamic", &R::dynamic,
              "Dimensions that the compiler was not told.")
      .def_ro("threads", &R::threads)
      .def_prop_ro("configuration",
                   [](const R &r) { return toDict(r.configuration); })
      .def_prop_ro("schedule",
                   [](const R &r) { return r.configuration.schedule; })
      .def_prop_ro(
          "outcome", [](const R &r) { return toString(r.outcome).str(); },
          "ok, rejected, compileError, compileTimeout, outOfMemory, crash, "
          "runTimeout or wrongResult.")
      .def_prop_ro("ok", &R::ok)
      .def_ro("reason", &R::reason, "One line, when not ok.")
      .def_ro("detail", &R::detail, "What the processes printed.")
      .def_ro("reproducer", &R::reproducer,
              "The folder that repeats the failure; empty: none was saved.")
      .def_ro("checked", &R::checked, "Compared with a reference.")
      .def_ro("max_errors", &R::maxErrors, "The largest error of each result.")
      .def_ro("flops", &R::flops, "Of one run.")
      .def_ro("bytes", &R::bytes, "Of one run.")
      .def_ro("samples", &R::seconds, "Seconds of every iteration.")
      .def_ro("compile_seconds", &R::compileSeconds)
      .def("seconds_at", &R::secondsAt, "percent"_a,
           "Seconds that `percent` of the iterations were slower than: 0 the "
           "slowest, 50 the median, 100 the fastest.")
      .def_prop_ro(
          "seconds", [](const R &r) { return r.secondsAt(50); },
          "Of one run: the median; 0 without times.")
      .def("gflops_at", &R::gflops, "percent"_a)
      .def_prop_ro(
          "gflops", [](const R &r) { return r.gflops(); },
          "10**9 operations a second, at the median.")
      .def_prop_ro(
          "gbytes", [](const R &r) { return r.gbytes(); },
          "10**9 bytes a second, at the median.")
      .def("to_json",
           [](const R &r) {
             return llvm::formatv("{0}", llvm::json::Value(toJSON(r))).str();
           })
      .def("__repr__",
           [](const R &r) { return "<Result " + describe(r) + ">"; });
  module.def("results_to_json",
             [](const std::vector<R> &results) { return toJSONText(results); });
  module.def("results_to_csv",
             [](const std::vector<R> &results) { return toCSV(results); });
  module.def("results_to_table",
             [](const std::vector<R> &results) { return toTable(results); });
  module.def("quantiles", [] { return resultQuantiles(); });
}

} // namespace attune::python
