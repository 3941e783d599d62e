//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune.Space and attune.Search.

#include "convert.h"

#include "attune/Search/Searcher.h"
#include "attune/Space/FromJSON.h"

#include <cmath>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// With the knobs in the space's order, which is part of a configuration; a
/// knob that the space does not have stays, and makes it no member.
Configuration inOrder(const Space &space, nb::dict values) {
  Configuration given = toConfiguration(values), ordered;
  ordered.schedule = space.getSchedule();
  for (const Knob &knob : space.getKnobs())
    if (const KnobValue *value = given.find(knob.name)) {
      auto index = knob.domain.indexOf(*value);
      ordered.values.emplace_back(knob.name,
                                  index ? knob.domain.at(*index) : *value);
    }
  for (const auto &entry : given.values)
    if (!ordered.find(entry.first))
      ordered.values.push_back(entry);
  return ordered;
}

nb::list toList(const std::vector<Configuration> &configurations) {
  nb::list list;
  for (const Configuration &configuration : configurations)
    list.append(toDict(configuration));
  return list;
}

/// A searcher with the space it searches, and what it was told.
class Search {
public:
  Search(const Space &given, const std::string &name, uint64_t seed,
         const std::vector<nb::dict> &first)
      : space(given) {
    std::vector<Configuration> begin;
    for (const nb::dict &values : first)
      begin.push_back(member(values));
    searcher = take(createSearcher(name, space, seed, std::move(begin)));
  }
  // The searcher refers to the space.
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  nb::list ask(size_t count) {
    std::vector<Configuration> asked;
    {
      nb::gil_scoped_release release;
      asked = searcher->ask(count);
    }
    return toList(asked);
  }

  void tell(nb::dict values, std::optional<double> seconds,
            double baselineSeconds, const std::string &outcome,
            const std::string &reason) {
    Trial trial;
    trial.configuration = member(values);
    auto known = outcomeFromString(outcome);
    if (!known)
      throw AttuneError("'" + outcome + "' is no outcome: ok, crash, ...");
    trial.outcome = *known;
    trial.reason = reason;
    if (trial.outcome == Outcome::Ok) {
      if (!isTime(seconds.value_or(0)) || !isTime(baselineSeconds))
        throw AttuneError("an outcome that is ok has seconds, finite and "
                          "positive; else say what it is: outcome='crash'");
      trial.seconds = {*seconds};
      trial.baselineSeconds = {baselineSeconds};
      double ratio = *seconds / baselineSeconds;
      if (ratio < bestRatio) {
        bestRatio = ratio;
        best = trial.configuration;
      }
    }
    searcher->tell(trial);
  }

  std::optional<nb::dict> getBest() const {
    return best ? std::optional(toDict(*best)) : std::nullopt;
  }
  std::string stopReason() const { return searcher->stopReason(); }

private:
  static bool isTime(double seconds) {
    return std::isfinite(seconds) && seconds > 0;
  }

  Configuration member(nb::dict values) const {
    Configuration configuration = inOrder(space, values);
    if (!space.contains(configuration))
      throw AttuneError("not in the space: " + toString(configuration));
    return configuration;
  }

  Space space;
  std::unique_ptr<Searcher> searcher;
  std::optional<Configuration> best;
  double bestRatio = HUGE_VAL;
};

/// `len()` takes no more than 63 bits.
size_t lengthOf(const Space &space) {
  if (space.count() > static_cast<uint64_t>(PY_SSIZE_T_MAX))
    throw std::overflow_error("the space is larger than len() can say; ask "
                              "count()");
  return space.count();
}

nb::dict at(const Space &space, int64_t index) {
  uint64_t wanted = index < 0 ? space.count() + index : index;
  if (wanted >= space.count())
    throw nb::index_error(
        ("the space has " + std::to_string(space.count()) + " configurations")
            .c_str());
  return toDict(space.at(wanted));
}

} // namespace

void addSpace(nb::module_ &module) {
  nb::class_<Space>(module, "Space")
      .def_static(
          "parse",
          [](const std::string &text, const std::string &name) {
            return take(parseSpace(text, name));
          },
          "text"_a, "name"_a = "space")
      .def_static(
          "read", [](const std::string &path) { return take(readSpace(path)); },
          "path"_a)
      .def("count", &Space::count,
           "Valid configurations, exact; saturates at 2**64-1.")
      .def("__len__", lengthOf)
      .def("__getitem__", at)
      .def("__contains__",
           [](const Space &space, nb::dict values) {
             return space.contains(inOrder(space, values));
           })
      .def(
          "index_of",
          [](const Space &space, nb::dict values) {
            return space.indexOf(inOrder(space, values));
          },
          "configuration"_a, "Its number, or None if it is not valid.")
      .def(
          "sample",
          [](const Space &space, size_t count, uint64_t seed) {
            std::mt19937_64 random(seed);
            nb::list list;
            for (size_t i = 0; i < count; ++i)
              list.append(toDict(space.sample(random)));
            return list;
          },
          "count"_a = 1, "seed"_a = 0,
          "Uniform over the valid configurations, with repetition.")
      .def(
          "neighbours",
          [](const Space &space, nb::dict values) {
            Configuration configuration = inOrder(space, values);
            if (!space.contains(configuration))
              throw AttuneError("not in the space: " + toString(configuration));
            return toList(space.neighbours(configuration));
          },
          "configuration"_a)
      .def(
          "nearest",
          [](const Space &space, nb::dict wanted) {
            return toDict(space.nearest(inOrder(space, wanted)));
          },
          "wanted"_a,
          "The nearest valid configuration; any values may be "
          "wanted.")
      .def_prop_ro("knobs", [](const Space &space) {
        nb::dict knobs;
        for (const Knob &knob : space.getKnobs())
          knobs[knob.name.c_str()] = knob.domain.describe();
        return knobs;
      });
}

void addSearch(nb::module_ &module) {
  nb::class_<Search>(module, "Search")
      .def(nb::init<const Space &, const std::string &, uint64_t,
                    const std::vector<nb::dict> &>(),
           "space"_a, "name"_a = "auto", "seed"_a = 0,
           "first"_a = std::vector<nb::dict>())
      .def("ask", &Search::ask, "count"_a = 1,
           "Up to `count` configurations, all valid and never given before; "
           "none when the space is exhausted.")
      .def("tell", &Search::tell, "configuration"_a, "seconds"_a = nb::none(),
           "baseline_seconds"_a = 1.0, "outcome"_a = "ok", "reason"_a = "",
           "What became of a configuration: seconds (and those of the "
           "baseline next to it), or an outcome such as 'crash'.")
      .def_prop_ro("best", &Search::getBest,
                   "The configuration with the smallest seconds / "
                   "baseline_seconds, or None.")
      .def_prop_ro("stop_reason", &Search::stopReason,
                   "Why there is nothing more to ask; empty while there is.");
}

} // namespace attune::python
