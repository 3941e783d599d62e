//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Experts: transformations with typed variables.

#include "harness.h"

#include "attune/Harness/Expert.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {
namespace {

ExpertValues withValues(const Expert &expert, nb::kwargs values) {
  std::vector<std::pair<std::string, KnobValue>> list;
  for (auto [key, value] : values) {
    auto name = nb::cast<std::string>(key);
    list.emplace_back(name, toValue(name, value));
  }
  return expert(std::move(list));
}

nb::dict knobsOf(const Expert &expert) {
  nb::dict knobs;
  for (const ExpertKnob &knob : take(expert.knobs()))
    knobs[knob.name.c_str()] = nb::str(knob.domain.c_str());
  return knobs;
}

std::string textOf(const Transformation &step) { return step.getName().str(); }

std::string textOf(const ExpertValues &values) {
  std::string text = values.expert.getName() + "(";
  for (const auto &[name, value] : values.values)
    text += (text.back() == '(' ? "" : ", ") + name + "=" + toString(value);
  return text + ")";
}

void addVariable(nb::module_ &module) {
  nb::class_<Variable>(module, "Variable",
                       "What a transformation is given: a number, or a knob "
                       "with an exact domain.")
      .def(nb::init<int64_t>(), "number"_a, "Always this number.")
      .def("__mul__", &Variable::times, "other"_a,
           "The product: a block in register tiles.")
      .def_prop_ro("name", &Variable::getName)
      .def_prop_ro("domain", &Variable::getDomain);
  nb::implicitly_convertible<int64_t, Variable>();
  module.def(
      "range",
      [](const std::string &name, int64_t selected, int64_t lower,
         int64_t upper, int64_t step) {
        return Variable::range(name, selected, lower, upper, step);
      },
      "name"_a, "selected"_a, "lower"_a, "upper"_a, "step"_a = 1,
      "lower, lower + step, ... upper.");
  module.def(
      "power_of_two",
      [](const std::string &name, int64_t selected, int64_t lower,
         int64_t upper) {
        return Variable::powerOfTwo(name, selected, lower, upper);
      },
      "name"_a, "selected"_a, "lower"_a, "upper"_a);
  module.def(
      "divisor",
      [](const std::string &name, int64_t selected, const std::string &of) {
        return Variable::divisor(name, selected, of);
      },
      "name"_a, "selected"_a, "of"_a,
      "The divisors of what a dispatch binds: 'm', 'n', 'k', ...");
  module.def(
      "one_of",
      [](const std::string &name, int64_t selected,
         const std::vector<int64_t> &values) {
        return Variable::list(name, selected, values);
      },
      "name"_a, "selected"_a, "values"_a);
  module.def(
      "boolean",
      [](const std::string &name, bool selected) {
        return Variable::boolean(name, selected);
      },
      "name"_a, "selected"_a);
  module.def(
      "permutation",
      [](const std::string &name, int64_t count) {
        return Variable::permutation(name, count);
      },
      "name"_a, "count"_a, "An order of `count` loops.");
}

void addTransformations(nb::module_ &module) {
  nb::class_<Transformation>(module, "Transformation")
      .def_prop_ro("name",
                   [](const Transformation &step) { return textOf(step); })
      .def("__repr__", [](const Transformation &step) {
        return "<Transformation " + textOf(step) + ">";
      });
  using Sizes = std::vector<Variable>;
  module.def("tile", &tile, "loops"_a, "sizes"_a, "order"_a = Sizes(),
             "Cuts the loops of these roles (batch, m, n, k, window; outermost "
             "first) of the root op into tiles; 0 leaves a loop alone.");
  module.def("tile_and_fuse", &tileAndFuse, "loops"_a, "sizes"_a,
             "order"_a = Sizes(),
             "The same from the last op of the dispatch upwards: everything "
             "moves into the loops.");
  module.def("tile_to_threads", &tileToThreads, "loops"_a, "sizes"_a,
             "As tile_and_fuse, with the outermost loop shared out among the "
             "threads of the program.");
  module.def(
      "interchange",
      [](const std::string &name, int64_t loops) {
        return interchange(name, loops);
      },
      "name"_a, "loops"_a,
      "Reorders the loops of the root op, of which it has so many (at most "
      "4): the knob is the number of their permutation, in lexicographic "
      "order.");
  module.def("pad", &pad, "dimensions"_a, "multiples"_a,
             "Pads the root op's operands with zeros: each of its loops in "
             "`dimensions` (by number) to a multiple.");
  module.def("hoist_padding", &hoistPadding, "loops"_a,
             "Moves what `pad` made out of so many loops.");
  module.def(
      "pack",
      [](const std::string &panel, const Variable &when) {
        return pack(panel, when);
      },
      "panel"_a, "when"_a,
      "Copies what the register tiles read of the operand with the loop "
      "`panel` (m or n) side by side, if `when`.");
  module.def("peel", &peel,
             "Splits the last, partial step off the loops around the root op.");
  module.def(
      "unroll",
      [](const std::string &name, std::vector<int64_t> factors) {
        return unroll(name, std::move(factors));
      },
      "name"_a, "factors"_a,
      "Repeats the body of the innermost loop around the root op: the knob is "
      "an index into `factors`.");
  module.def("generalize", &generalize, "Named ops become linalg.generic.");
  module.def("decompose", &decompose,
             "A convolution becomes contractions of its window positions.");
  module.def("tile_rest", &tileRest,
             "Cuts what no other step has tiled to vectors.");
  module.def("tile_reduction", &tileReduction, "vectors"_a,
             "Sums along a contiguous reduction side by side, `vectors` "
             "vectors wide.");
  module.def("vectorize", &vectorize, "points"_a = 4096,
             "Every op of at most `points` points becomes vector code; larger "
             "ones become loops.");
  module.def("bufferize", &bufferize,
             "Tensors become buffers; what follows sees these.");
  module.def("lower_vectors", &lowerVectors, "contraction"_a, "reduction"_a,
             "transpose"_a,
             "On buffers, how vector code is taken apart: contractions (0 "
             "outer product, 1 dot, 2 parallel arithmetic), reductions (0 "
             "inner parallel, 1 inner reduction), transposes (0 element by "
             "element, 1 shuffles).");
  module.def("lower_to_llvm", &lowerToLLVM, "The end; nothing may follow.");
}

} // namespace

void addExpert(nb::module_ &module) {
  addVariable(module);
  addTransformations(module);
  nb::class_<ExpertValues>(module, "ExpertValues",
                           "An expert with values for some of its knobs; the "
                           "others get their defaults.")
      .def(
          "__init__",
          [](ExpertValues *place, const Expert &expert) {
            new (place) ExpertValues(expert);
          },
          "expert"_a)
      .def_prop_ro("expert",
                   [](const ExpertValues &values) { return values.expert; })
      .def_prop_ro("values",
                   [](const ExpertValues &values) {
                     nb::dict dict;
                     for (const auto &[name, value] : values.values)
                       dict[name.c_str()] = toObject(value);
                     return dict;
                   })
      .def("__repr__",
           [](const ExpertValues &values) { return textOf(values); });
  nb::class_<Expert>(module, "Expert",
                     "How to compute: transformations, one after the other. A "
                     "value; prints as the schedule it stands for.")
      .def(nb::init<std::string>(), "name"_a,
           "`name`: letters, digits and _; the schedule's name.")
      .def(
          "then",
          [](const Expert &expert, const Transformation &next) {
            return expert.then(next);
          },
          "step"_a)
      .def(
          "then",
          [](const Expert &expert, const Expert &next) {
            return expert.then(next);
          },
          "expert"_a, "All its steps, and what it requires.")
      .def("require", &Expert::require, "expression"_a, "why"_a,
           "What must hold, over knobs and what a dispatch binds (m, n, k, "
           "element_bytes, vector_registers, ...).")
      .def("fits", &Expert::fits, "classes"_a,
           "What the root op may be: contraction, matvec, convolution, "
           "depthwise, pooling, reduction, elementwise, copy.")
      .def("__call__", withValues, "With values for knobs: expert(m_tile=6).")
      .def_prop_ro("name", &Expert::getName)
      .def_prop_ro("knobs", knobsOf, "Names and domains, in MLIR.")
      .def_prop_ro("steps",
                   [](const Expert &expert) {
                     std::vector<std::string> names;
                     for (const Transformation &step : expert.getSteps())
                       names.push_back(textOf(step));
                     return names;
                   })
      .def("__str__", [](const Expert &expert) { return take(expert.str()); })
      .def("__repr__",
           [](const Expert &expert) {
             return "<Expert " + expert.getName() + ">";
           })
      .def(
          "write",
          [](const Expert &expert, const std::string &folder) {
            check(expert.write(folder));
          },
          "folder"_a, "Writes FOLDER/NAME.mlir.")
      .def_static(
          "read",
          [](const std::string &path) { return take(Expert::read(path)); },
          "path"_a, "A schedule that Attune or a person wrote.")
      .def_static(
          "parse",
          [](const std::string &name, const std::string &text) {
            return take(Expert::parse(name, text));
          },
          "name"_a, "text"_a);
  module.def("shipped_experts", [] { return shippedExperts(); });
  module.def(
      "find_expert",
      [](const std::string &name) { return take(findExpert(name)); }, "name"_a);
}

} // namespace attune::python
