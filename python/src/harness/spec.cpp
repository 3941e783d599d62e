//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Specs, which are data; only their text is MLIR.

#include "harness.h"

#include "attune/Dispatch/Dispatches.h"
#include "attune/Spec/Spec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

SpecEntry makeEntry(const std::string &fingerprint, const std::string &schedule,
                    nb::dict values, const std::string &root,
                    const std::string &shapes, double baselineSeconds,
                    double tunedSeconds) {
  if (fingerprint.size() != 16 ||
      !llvm::all_of(fingerprint, [](char c) { return llvm::isHexDigit(c); }))
    throw AttuneError("'" + fingerprint +
                      "' is no fingerprint: 16 hexadecimal digits, as "
                      "dispatches have them");
  SpecEntry entry;
  entry.fingerprint = fingerprint;
  entry.configuration = toConfiguration(values);
  entry.configuration.schedule = schedule;
  entry.root = root;
  entry.shapes = shapes;
  entry.baselineSeconds = baselineSeconds;
  entry.tunedSeconds = tunedSeconds;
  return entry;
}

Spec build(std::vector<SpecEntry> entries, int64_t threads,
           const std::string &targetCPU) {
  Spec spec;
  spec.dispatchVersion = dispatchVersion;
  spec.target = take(Target::forCPU(targetCPU));
  spec.threads = threads;
  spec.entries = std::move(entries);
  // What cannot be read again is no spec.
  return take(parseSpec(printSpec(spec), "spec"));
}

nb::tuple merge(const std::vector<Spec> &specs) {
  std::vector<MergeNote> notes;
  Spec merged = take(mergeSpecs(specs, &notes));
  nb::list reasons;
  for (const MergeNote &note : notes)
    reasons.append(note.reason);
  return nb::make_tuple(merged, reasons);
}

void addEntry(nb::module_ &module) {
  nb::class_<SpecEntry>(module, "SpecEntry",
                        "Which configuration goes to the dispatches of a "
                        "fingerprint.")
      .def(
          "__init__",
          [](SpecEntry *place, const std::string &fingerprint,
             const std::string &schedule, nb::dict values,
             const std::string &root, const std::string &shapes,
             double baselineSeconds, double tunedSeconds) {
            new (place)
                SpecEntry(makeEntry(fingerprint, schedule, values, root, shapes,
                                    baselineSeconds, tunedSeconds));
          },
          "fingerprint"_a, "schedule"_a, "values"_a, "root_op"_a = "",
          "shapes"_a = "", "baseline_seconds"_a = 0.0, "tuned_seconds"_a = 0.0)
      .def_ro("fingerprint", &SpecEntry::fingerprint,
              "Empty: the entry is for what `matcher` takes.")
      .def_ro("matcher", &SpecEntry::matcher,
              "A named sequence of match ops, as MLIR; mostly empty.")
      .def_prop_ro(
          "schedule",
          [](const SpecEntry &entry) { return entry.configuration.schedule; })
      .def_prop_ro(
          "values",
          [](const SpecEntry &entry) { return toDict(entry.configuration); })
      .def_ro("root_op", &SpecEntry::root)
      .def_ro("shapes", &SpecEntry::shapes)
      .def_ro("baseline_seconds", &SpecEntry::baselineSeconds,
              "0: not measured.")
      .def_ro("tuned_seconds", &SpecEntry::tunedSeconds)
      .def("__repr__", [](const SpecEntry &entry) {
        return "<SpecEntry " + entry.fingerprint + " " + entry.root + " " +
               entry.shapes + ": " + toString(entry.configuration) + ">";
      });
}

} // namespace

void addSpec(nb::module_ &module) {
  addEntry(module);
  nb::class_<Spec>(module, "Spec")
      .def_static("build", build, "entries"_a, "threads"_a = 0,
                  "target_cpu"_a = "host")
      .def_static(
          "parse",
          [](const std::string &text, const std::string &name) {
            return take(parseSpec(text, name));
          },
          "text"_a, "name"_a = "spec")
      .def_static("merge", merge, "specs"_a)
      .def_ro("entries", &Spec::entries)
      .def_ro("threads", &Spec::threads)
      .def_prop_ro("target_cpu",
                   [](const Spec &spec) -> std::optional<std::string> {
                     if (!spec.target)
                       return std::nullopt;
                     return spec.target->cpu;
                   })
      .def("write",
           [](const Spec &spec, const std::string &path) {
             check(writeSpec(spec, path));
           })
      .def("__str__", printSpec);
}

} // namespace attune::python
