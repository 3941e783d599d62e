//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune.Search: ask and tell.

#include "convert.h"

#include "attune/Search/Searcher.h"

#include <cmath>
#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// A searcher with the space it searches, and what it was told.
class Search {
public:
  Search(const Space &given, const std::string &name, uint64_t seed,
         const std::vector<nb::dict> &first)
      : space(given) {
    std::vector<Configuration> begin;
    for (const nb::dict &values : first)
      begin.push_back(member(space, values));
    searcher = take(createSearcher(name, space, seed, std::move(begin)));
  }
  // The searcher refers to the space.
  Search(const Search &) = delete;
  Search &operator=(const Search &) = delete;

  nb::list ask(size_t count) {
    std::vector<Configuration> asked;
    {
      nb::gil_scoped_release release;
      std::lock_guard lock(mutex);
      asked = searcher->ask(count);
    }
    nb::list list;
    for (const Configuration &configuration : asked)
      list.append(toDict(configuration));
    return list;
  }

  void tell(nb::dict values, std::optional<double> seconds,
            double baselineSeconds, const std::string &outcome,
            const std::string &reason) {
    Trial trial;
    trial.configuration = member(space, values);
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
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    searcher->tell(trial);
  }

  std::optional<nb::dict> getBest() const {
    return best ? std::optional(toDict(*best)) : std::nullopt;
  }
  std::string stopReason() {
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    return searcher->stopReason();
  }

private:
  static bool isTime(double seconds) {
    return std::isfinite(seconds) && seconds > 0;
  }

  Space space;
  std::mutex mutex; ///< Of the searcher: several threads may share it.
  std::unique_ptr<Searcher> searcher;
  std::optional<Configuration> best;
  double bestRatio = HUGE_VAL;
};

} // namespace

void addSearch(nb::module_ &module) {
  nb::class_<Search>(module, "Search",
                     "Chooses configurations of a space: ask for some, tell "
                     "what became of them. Names: 'auto', 'random', "
                     "'exhaustive', 'optuna', 'opentuner', 'exec:PROGRAM'.")
      .def(nb::init<const Space &, const std::string &, uint64_t,
                    const std::vector<nb::dict> &>(),
           "space"_a, "name"_a = "auto", "seed"_a = 0,
           "first"_a = std::vector<nb::dict>(),
           "`first` is what 'auto' asks before anything else; all of it has to "
           "be in the space.")
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
