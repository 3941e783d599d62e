//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune.Space and its knobs.

#include "convert.h"

#include "attune/Space/FromJSON.h"
#include "attune/Space/Listing.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {

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

Configuration member(const Space &space, nb::dict values) {
  Configuration configuration = inOrder(space, values);
  if (!space.contains(configuration))
    throw AttuneError("not in the space: " + toString(configuration));
  return configuration;
}

namespace {

nb::list toList(const std::vector<Configuration> &configurations) {
  nb::list list;
  for (const Configuration &configuration : configurations)
    list.append(toDict(configuration));
  return list;
}

//===----------------------------------------------------------------------===//
// Knobs
//===----------------------------------------------------------------------===//

const char *typeOf(const Knob &knob) {
  switch (knob.domain.getKind()) {
  case Domain::Kind::Range:
  case Domain::Kind::Integers:
    return "integer";
  case Domain::Kind::Floats:
    return "float";
  case Domain::Kind::Boolean:
    return "boolean";
  case Domain::Kind::Choice:
    return "choice";
  case Domain::Kind::Permutation:
    return "permutation";
  }
  return "";
}

nb::object valueAt(const Knob &knob, int64_t index) {
  uint64_t wanted = index < 0 ? knob.domain.size() + index : index;
  if (wanted >= knob.domain.size())
    throw nb::index_error(("knob '" + knob.name + "' has " +
                           std::to_string(knob.domain.size()) + " values")
                              .c_str());
  return toObject(knob.domain.at(wanted));
}

/// Several engines have a parameter for these.
bool isPowerOfTwo(const Knob &knob) {
  if (knob.domain.getKind() != Domain::Kind::Integers)
    return false;
  int64_t expected = std::get<int64_t>(knob.domain.at(0));
  if (expected < 1 || (expected & (expected - 1)))
    return false;
  for (uint64_t i = 0; i < knob.domain.size(); ++i, expected *= 2)
    if (std::get<int64_t>(knob.domain.at(i)) != expected)
      return false;
  return true;
}

/// All of them; of permutations there may be millions.
nb::list valuesOf(const Knob &knob) {
  constexpr uint64_t most = 1u << 20;
  if (knob.domain.size() > most)
    throw AttuneError("knob '" + knob.name + "' has " +
                      std::to_string(knob.domain.size()) +
                      " values: too many for a list; ask knob[i]");
  nb::list values;
  for (uint64_t i = 0; i < knob.domain.size(); ++i)
    values.append(toObject(knob.domain.at(i)));
  return values;
}

std::optional<int64_t> lengthOfPermutation(const Knob &knob) {
  if (knob.domain.getKind() != Domain::Kind::Permutation)
    return std::nullopt;
  return std::get<std::vector<int64_t>>(knob.domain.at(0)).size();
}

std::string textOf(const Knob &knob) {
  std::string text = knob.name + ": " + knob.domain.describe();
  if (knob.condition)
    text += " when " + knob.condition->str();
  return text;
}

void addKnob(nb::module_ &module) {
  nb::class_<Knob>(module, "Knob",
                   "A tuning variable with an exact, finite, ordered domain.")
      .def_prop_ro("name", [](const Knob &knob) { return knob.name; })
      .def_prop_ro("type", typeOf,
                   "integer, float, boolean, choice or permutation.")
      .def("__len__", [](const Knob &knob) { return knob.domain.size(); })
      .def("__getitem__", valueAt, "index"_a)
      .def_prop_ro("values", valuesOf, "All values, in their order.")
      .def(
          "index",
          [](const Knob &knob, nb::handle value) {
            return knob.domain.indexOf(toValue(knob.name, value));
          },
          "value"_a, "The number of a value, or None.")
      .def_prop_ro("length", lengthOfPermutation,
                   "Of a permutation: of 0 .. length-1; None for others.")
      .def_prop_ro("is_power_of_two", isPowerOfTwo,
                   "Whether the values are successive powers of two.")
      .def_prop_ro(
          "when",
          [](const Knob &knob) -> std::optional<std::string> {
            if (!knob.condition)
              return std::nullopt;
            return knob.condition->str();
          },
          "It exists only where this expression holds; None: everywhere.")
      .def_prop_ro("domain",
                   [](const Knob &knob) { return knob.domain.describe(); })
      .def("__repr__",
           [](const Knob &knob) { return "<Knob " + textOf(knob) + ">"; });
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

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

nb::list sample(const Space &space, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  nb::list list;
  for (size_t i = 0; i < count; ++i)
    list.append(toDict(space.sample(random)));
  return list;
}

std::string toText(const Space &space) {
  return llvm::formatv("{0}", toJSON(space)).str();
}

Space parse(const std::string &text, const std::string &name) {
  return take(parseSpace(text, name));
}

/// A dictionary as the JSON file would have it, or that file's text.
void construct(Space *place, nb::object definition, const std::string &name) {
  std::string text;
  if (!nb::try_cast(definition, text))
    text = nb::cast<std::string>(
        nb::module_::import_("json").attr("dumps")(definition));
  new (place) Space(parse(text, name));
}

std::vector<std::string> constraintsOf(const Space &space) {
  std::vector<std::string> texts;
  for (const Expression &constraint : space.getConstraints())
    texts.push_back(constraint.str());
  return texts;
}

std::string describe(const Space &space) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  describeSpace(space, stream);
  return text;
}

nb::list knobsOf(const Space &space) {
  nb::list knobs;
  for (const Knob &knob : space.getKnobs())
    knobs.append(nb::cast(knob));
  return knobs;
}

} // namespace

void addSpace(nb::module_ &module) {
  addKnob(module);
  nb::class_<Space>(module, "Space",
                    "The valid configurations of knobs under constraints "
                    "(docs/spaces.md): counted, numbered, sampled exactly, "
                    "however many there are.")
      .def("__init__", construct, "definition"_a, "name"_a = "space",
           "`definition`: a dict as in docs/spaces.md, or its JSON text. "
           "`name` begins the messages of errors.")
      .def_static("parse", parse, "text"_a, "name"_a = "space")
      .def_static(
          "read", [](const std::string &path) { return take(readSpace(path)); },
          "path"_a, "A file of docs/spaces.md.")
      .def("count", &Space::count,
           "Valid configurations, exact; saturates at 2**64-1.")
      .def("__len__", lengthOf)
      .def("__getitem__", at, "index"_a)
      .def(
          "__contains__",
          [](const Space &space, nb::dict values) {
            return space.contains(inOrder(space, values));
          },
          "configuration"_a)
      .def(
          "index_of",
          [](const Space &space, nb::dict values) {
            return space.indexOf(inOrder(space, values));
          },
          "configuration"_a, "Its number, or None if it is not valid.")
      .def("sample", sample, "count"_a = 1, "seed"_a = 0,
           "Uniform over the valid configurations, with repetition.")
      .def(
          "neighbours",
          [](const Space &space, nb::dict values) {
            return toList(space.neighbours(member(space, values)));
          },
          "configuration"_a,
          "Valid configurations that differ from this one in one knob.")
      .def(
          "nearest",
          [](const Space &space, nb::dict wanted) {
            return toDict(space.nearest(inOrder(space, wanted)));
          },
          "wanted"_a,
          "The nearest valid configuration; any values may be wanted.")
      .def_prop_ro("knobs", knobsOf, "The knobs, in their order.")
      .def_prop_ro("constraints", constraintsOf,
                   "As expressions of docs/spaces.md.")
      .def_prop_ro("schedule",
                   [](const Space &space) { return space.getSchedule(); })
      .def("to_json", toText, "JSON that Space(...) reads.")
      .def("__str__", describe)
      .def("__repr__",
           [](const Space &space) {
             return "<Space: " + std::to_string(space.getKnobs().size()) +
                    " knobs, " + countText(space) + " configurations>";
           })
      .def("__getstate__", toText)
      .def("__setstate__", [](Space &place, const std::string &text) {
        new (&place) Space(parse(text, "space"));
      });
}

} // namespace attune::python
