//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Problems and their cases.

#include "harness.h"
#include "tensors.h"

#include "attune/Harness/Problem.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/StringExtras.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {

nb::dict toDict(const ProblemSizes &sizes) {
  nb::dict values;
  for (const auto &[name, size] : sizes)
    values[name.c_str()] = size;
  return values;
}

ProblemSizes toSizes(nb::dict values) {
  ProblemSizes sizes;
  for (auto [key, value] : values) {
    auto name = nb::cast<std::string>(key);
    int64_t size;
    if (!nb::try_cast(value, size))
      throw AttuneError("size '" + name + "': " + nb::repr(value).c_str() +
                        " is not an integer");
    sizes.emplace_back(name, size);
  }
  return sizes;
}

namespace {

Problem problemFromText(const std::string &text) {
  auto json = take(parseJson(text));
  const llvm::json::Object *object = json.getAsObject();
  if (!object)
    throw AttuneError("a problem is an object");
  return take(problemFromJSON(*object));
}

std::string textOf(const Problem &problem) {
  return llvm::formatv("{0}", llvm::json::Value(toJSON(problem))).str();
}

std::vector<std::string> textsOf(const std::vector<TensorType> &types) {
  std::vector<std::string> texts;
  for (const TensorType &type : types)
    texts.push_back(toString(type));
  return texts;
}

std::string describe(const ProblemCase &given) {
  std::string text = given.problem.name + " " + toString(given.sizes);
  if (!given.dynamic.empty())
    text += " dynamic " + llvm::join(given.dynamic, ",");
  return text;
}

nb::list makeInputs(const ProblemCase &given, uint64_t seed) {
  nb::list arrays;
  for (const Tensor &tensor :
       take(makeProblemInputs(given.problem, given.sizes, seed)))
    arrays.append(toArray(tensor));
  return arrays;
}

void checkInputs(const ProblemCase &given, nb::sequence arrays) {
  std::vector<TensorType> types =
      take(typesOf(given.problem, given.sizes)).inputs;
  if (nb::len(arrays) != types.size())
    throw nb::type_error((given.problem.name + " takes " +
                          std::to_string(types.size()) + " arrays, not " +
                          std::to_string(nb::len(arrays)))
                             .c_str());
  for (size_t i = 0; i < types.size(); ++i)
    toTensor(arrays[i], types[i], "input " + std::to_string(i));
}

void addCase(nb::module_ &module) {
  nb::class_<ProblemCase>(module, "Case",
                          "A problem with its sizes, of which some (`dynamic`) "
                          "are not told to the compiler.")
      .def(
          "__init__",
          [](ProblemCase *place, const Problem &problem, nb::dict sizes,
             const std::vector<std::string> &dynamic,
             const std::string &label) {
            ProblemCase made{problem, toSizes(sizes), dynamic, label};
            take(resolveSizes(made.problem, made.sizes));
            new (place) ProblemCase(std::move(made));
          },
          "problem"_a, "sizes"_a, "dynamic"_a = std::vector<std::string>(),
          "label"_a = "")
      .def_prop_ro("problem",
                   [](const ProblemCase &given) { return given.problem; })
      .def_prop_ro(
          "sizes",
          [](const ProblemCase &given) {
            return toDict(take(resolveSizes(given.problem, given.sizes)));
          },
          "All dimensions and parameters, computed ones too.")
      .def_prop_ro("dynamic",
                   [](const ProblemCase &given) { return given.dynamic; })
      .def_prop_ro("label",
                   [](const ProblemCase &given) { return given.label; })
      .def_prop_ro(
          "inputs",
          [](const ProblemCase &given) {
            return textsOf(take(typesOf(given.problem, given.sizes)).inputs);
          },
          "Types: ['512x256xf32', ...].")
      .def_prop_ro("outputs",
                   [](const ProblemCase &given) {
                     return textsOf(
                         take(typesOf(given.problem, given.sizes)).outputs);
                   })
      .def_prop_ro(
          "flops",
          [](const ProblemCase &given) {
            return take(flopsOf(given.problem, given.sizes));
          },
          "Scalar operations of one run.")
      .def_prop_ro(
          "bytes",
          [](const ProblemCase &given) {
            return take(bytesOf(given.problem, given.sizes));
          },
          "Bytes read and written by one run, at least.")
      .def(
          "module",
          [](const ProblemCase &given) { return take(buildModule(given)); },
          "The MLIR text: one function `main`.")
      .def("make_inputs", makeInputs, "seed"_a = 0,
           "A numpy array for each input; the same for the same seed.")
      .def("check_inputs", checkInputs, "arrays"_a,
           "An error says which array is not what the case takes, and why.")
      .def("__repr__", [](const ProblemCase &given) {
        return "<Case " + describe(given) + ">";
      });
}

} // namespace

void addProblem(nb::module_ &module) {
  nb::class_<Problem>(module, "Problem")
      .def_static("from_json", problemFromText, "text"_a)
      .def("to_json", textOf)
      .def("with_type",
           [](const Problem &problem, const std::string &type) {
             return problem.withType(take(elementTypeFromString(type)));
           })
      .def_prop_ro("name", [](const Problem &problem) { return problem.name; });
  addCase(module);
  module.def("shipped_problems", [] { return shippedProblems(); });
  module.def(
      "find_problem",
      [](const std::string &name) { return take(findProblem(name)); },
      "name"_a);
  module.def(
      "read_cases",
      [](const std::string &path, const std::string &problem,
         int64_t dynamicSize) {
        return take(readProblemCases(path, problem, dynamicSize));
      },
      "path"_a, "problem"_a, "dynamic_size"_a = 512);
}

} // namespace attune::python
