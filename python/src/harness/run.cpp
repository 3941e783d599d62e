//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The harness. The interpreter's lock is released while it works; callbacks
// take it again, and what they raise comes out at the end, since it must not
// pass through code that knows no exceptions.

#include "harness.h"
#include "tensors.h"

#include "attune/Harness/Harness.h"

#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

/// A Python function that is told results, and Ctrl-C.
class Watch {
public:
  explicit Watch(nb::object callback) : callback(std::move(callback)) {}

  /// False: stop.
  bool tell(const HarnessResult &result) {
    nb::gil_scoped_acquire acquire;
    try {
      if (!callback.is_none())
        callback(result);
    } catch (nb::python_error &error) {
      raised.emplace(std::move(error));
      return false;
    }
    return keepsGoing();
  }

  /// With the lock held: has Ctrl-C been pressed?
  bool keepsGoing() {
    if (!raised && PyErr_CheckSignals())
      raised.emplace();
    return !raised;
  }
  void rethrow() {
    if (raised)
      throw std::move(*raised);
  }

private:
  nb::object callback;
  std::optional<nb::python_error> raised;
};

/// A searcher written in Python: `ask(count)` and `tell(configuration, seconds,
/// outcome=..., reason=...)`, as attune.Search has them.
class PythonSearcher final : public Searcher {
public:
  PythonSearcher(nb::object object, const Space &space)
      : object(std::move(object)), space(space) {}

  std::vector<Configuration> ask(size_t count) override {
    nb::gil_scoped_acquire acquire;
    std::vector<Configuration> asked;
    if (raised)
      return asked;
    try {
      for (nb::handle values : object.attr("ask")(count))
        asked.push_back(member(space, nb::cast<nb::dict>(values)));
    } catch (nb::python_error &error) {
      raised.emplace(std::move(error));
      asked.clear();
    } catch (const std::exception &error) {
      wrong = error.what();
      asked.clear();
    }
    return asked;
  }

  void tell(const Trial &trial) override {
    nb::gil_scoped_acquire acquire;
    if (raised)
      return;
    nb::object seconds = nb::none();
    if (trial.outcome == Outcome::Ok && !trial.seconds.empty()) {
      std::vector<double> sorted = trial.seconds;
      std::sort(sorted.begin(), sorted.end());
      seconds = nb::cast(sorted[sorted.size() / 2]);
    }
    try {
      object.attr("tell")(toDict(trial.configuration), seconds,
                          "outcome"_a = toString(trial.outcome).str(),
                          "reason"_a = trial.reason);
    } catch (nb::python_error &error) {
      raised.emplace(std::move(error));
    }
  }

  std::string stopReason() const override { return raised ? "error" : ""; }

  void rethrow() {
    if (raised)
      throw std::move(*raised);
    if (!wrong.empty())
      throw AttuneError(wrong);
  }

private:
  nb::object object;
  const Space &space;
  std::optional<nb::python_error> raised;
  std::string wrong;
};

class PythonHarness {
  /// A harness is used by one thread at a time.
  template <typename Work> auto released(Work work) {
    nb::gil_scoped_release release;
    std::lock_guard lock(mutex);
    return work();
  }

public:
  PythonHarness(int threads, bool isolated, uint64_t seed,
                const std::string &reproducers, double memoryBytes) {
    HarnessOptions options;
    options.threads = threads;
    options.isolation = isolated ? Isolation::Workers : Isolation::InProcess;
    options.seed = seed;
    options.reproducerFolder = reproducers;
    options.memoryBytes = static_cast<uint64_t>(memoryBytes);
    harness = take(Harness::create(std::move(options)));
  }

  HarnessResult run(const ProblemCase &given,
                    const std::optional<ExpertValues> &expert,
                    unsigned iterations, double timeout, bool check,
                    nb::object inputs, nb::object references) {
    RunOptions options =
        optionsFor(given, iterations, timeout, check, inputs, references);
    return take(released([&] {
      return expert ? harness->run(given, *expert, options)
                    : harness->runUntuned(given, options);
    }));
  }

  nb::tuple space(const ProblemCase &given, const Expert &expert) {
    auto found = take(released([&] { return harness->space(given, expert); }));
    return nb::make_tuple(found.space, toDict(found.defaultConfiguration));
  }

  /// `search` is the name of a searcher, or an object with ask and tell.
  nb::tuple tune(const ProblemCase &given, const Expert &expert,
                 nb::object search, size_t evaluations, uint64_t seed,
                 unsigned iterations, double timeout,
                 const std::string &databasePath, nb::object onResult) {
    RunOptions options;
    options.iterations = iterations;
    options.timeoutSeconds = timeout;
    auto found = take(released([&] { return harness->space(given, expert); }));
    std::unique_ptr<Searcher> searcher;
    PythonSearcher *python = nullptr;
    if (std::string name; nb::try_cast(search, name)) {
      searcher = take(createSearcher(name, found.space, seed,
                                     {found.defaultConfiguration}));
    } else {
      auto made = std::make_unique<PythonSearcher>(search, found.space);
      python = made.get();
      searcher = std::move(made);
    }
    std::optional<Database> database;
    if (!databasePath.empty())
      database.emplace(take(Database::open(databasePath, OpenMode::Write)));
    Watch watch(std::move(onResult));
    auto tuning = released([&] {
      return harness->tune(
          given, expert, *searcher, evaluations, options,
          database ? &*database : nullptr,
          [&](const HarnessResult &result) { return watch.tell(result); });
    });
    watch.rethrow();
    if (python)
      python->rethrow();
    HarnessTuning made = take(std::move(tuning));
    return nb::make_tuple(made.results, made.best, made.reused);
  }

  nb::dict dump(const ProblemCase &given, const ExpertValues &expert) {
    HarnessDumps dumps =
        take(released([&] { return harness->dump(given, expert); }));
    nb::dict stages, all;
    for (const auto &[name, text] : dumps.stages)
      stages[name.c_str()] = text;
    all["stages"] = stages;
    all["assembly"] = dumps.assembly;
    all["object"] = dumps.object;
    all["hot_loop"] = dumps.hotLoop;
    all["mca"] = dumps.mca;
    return all;
  }

  nb::list reference(const ProblemCase &given, nb::object inputs) {
    std::vector<Tensor> tensors = tensorsOf(
        inputs, take(typesOf(given.problem, given.sizes)).inputs, "input ");
    auto results = take(
        released([&] { return harness->computeReference(given, tensors); }));
    nb::list arrays;
    for (const Tensor &result : results)
      arrays.append(toArray(result));
    return arrays;
  }

private:
  static std::vector<Tensor> tensorsOf(nb::object arrays,
                                       llvm::ArrayRef<TensorType> types,
                                       const std::string &what) {
    std::vector<Tensor> tensors;
    if (arrays.is_none())
      return tensors;
    if (nb::len(arrays) != types.size())
      throw nb::type_error((what + "arrays: " + std::to_string(types.size()) +
                            ", not " + std::to_string(nb::len(arrays)))
                               .c_str());
    for (size_t i = 0; i < types.size(); ++i)
      tensors.push_back(
          toTensor(arrays[i], types[i], what + std::to_string(i)));
    return tensors;
  }

  static RunOptions optionsFor(const ProblemCase &given, unsigned iterations,
                               double timeout, bool check, nb::object inputs,
                               nb::object references) {
    RunOptions options;
    options.iterations = iterations;
    options.timeoutSeconds = timeout;
    options.check = check;
    ProblemTypes types = take(typesOf(given.problem, given.sizes));
    options.inputs = tensorsOf(inputs, types.inputs, "input ");
    options.references = tensorsOf(references, types.outputs, "reference ");
    return options;
  }

  std::mutex mutex;
  std::unique_ptr<Harness> harness;
};

} // namespace

void addHarness(nb::module_ &module) {
  using H = PythonHarness;
  nb::class_<H>(module, "Harness",
                "Compiles and runs cases; keeps workers, inputs and references "
                "between calls.")
      .def(nb::init<int, bool, uint64_t, const std::string &, double>(),
           "threads"_a = 1, "isolated"_a = true, "seed"_a = 0,
           "reproducers"_a = "", "memory_bytes"_a = 4.0 * (1ull << 30))
      .def("run", &H::run, "case"_a, "expert"_a = nb::none(), "n_iters"_a = 100,
           "timeout"_a = 60.0, "check"_a = true, "inputs"_a = nb::none(),
           "references"_a = nb::none())
      .def("space", &H::space, "case"_a, "expert"_a)
      .def("tune", &H::tune, "case"_a, "expert"_a, "search"_a = "auto",
           "evaluations"_a = 100, "seed"_a = 0, "n_iters"_a = 100,
           "timeout"_a = 60.0, "database"_a = "", "on_result"_a = nb::none())
      .def("dump", &H::dump, "case"_a, "expert"_a)
      .def("reference", &H::reference, "case"_a, "inputs"_a);
  nb::implicitly_convertible<Expert, ExpertValues>();
}

} // namespace attune::python
