//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/Listing.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace attune;

std::string attune::countText(const Space &space) {
  std::string text = std::to_string(space.count());
  return space.count() == UINT64_MAX ? text + "+" : text;
}

static std::string textOf(const Expression &constraint) {
  return constraint.getSource().empty() ? constraint.str()
                                        : constraint.getSource();
}

/// The domain as docs/spaces.md writes it, so that what is printed can be read.
static void addDomain(llvm::json::Object &object, const Domain &domain) {
  if (domain.getKind() == Domain::Kind::Permutation) {
    object["permutation"] = static_cast<int64_t>(
        std::get<std::vector<int64_t>>(domain.at(0)).size());
    return;
  }
  if (domain.getKind() == Domain::Kind::Range) {
    int64_t first = std::get<int64_t>(domain.at(0));
    int64_t second = std::get<int64_t>(domain.at(domain.size() > 1));
    object["range"] = llvm::json::Array{
        first, std::get<int64_t>(domain.at(domain.size() - 1)),
        std::max<int64_t>(1, second - first)};
    return;
  }
  llvm::json::Array values;
  for (uint64_t i = 0; i < domain.size(); ++i)
    values.push_back(toJSON(domain.at(i)));
  object["values"] = std::move(values);
}

void attune::describeSpace(const Space &space, llvm::raw_ostream &out) {
  size_t width = 0;
  for (const Knob &knob : space.getKnobs())
    width = std::max(width, knob.name.size());
  for (const Knob &knob : space.getKnobs()) {
    out << llvm::left_justify(knob.name, width) << "  "
        << knob.domain.describe();
    if (knob.condition)
      out << "  when " << textOf(*knob.condition);
    out << '\n';
  }
  for (const Expression &constraint : space.getConstraints())
    out << "such that " << textOf(constraint) << '\n';
  out << countText(space) << " configurations\n";
}

llvm::json::Value attune::toJSON(const Space &space) {
  llvm::json::Array knobs, constraints;
  for (const Knob &knob : space.getKnobs()) {
    llvm::json::Object object{{"name", knob.name},
                              {"size", knob.domain.size()},
                              {"domain", knob.domain.describe()}};
    addDomain(object, knob.domain);
    if (knob.condition)
      object["when"] = knob.condition->str();
    knobs.push_back(std::move(object));
  }
  // As expressions: the source of a schedule's constraint is a message.
  for (const Expression &constraint : space.getConstraints())
    constraints.push_back(constraint.str());
  return llvm::json::Object{{"version", 1},
                            {"schedule", space.getSchedule()},
                            {"knobs", std::move(knobs)},
                            {"constraints", std::move(constraints)},
                            {"count", space.count()}};
}

void attune::listSpace(const Space &space, uint64_t limit,
                       llvm::raw_ostream &out) {
  for (uint64_t i = 0; i < std::min(limit, space.count()); ++i)
    out << toString(space.at(i)) << '\n';
}

std::vector<Configuration> attune::sampleDistinct(const Space &space,
                                                  size_t count, uint64_t seed) {
  std::vector<Configuration> result;
  if (count >= space.count()) {
    for (uint64_t i = 0; i < space.count(); ++i)
      result.push_back(space.at(i));
    return result;
  }
  std::mt19937_64 random(seed);
  if (count > space.count() / 2) { // Few are left out: shuffle the numbers.
    std::vector<uint64_t> numbers(space.count());
    for (uint64_t i = 0; i < numbers.size(); ++i)
      numbers[i] = i;
    for (size_t i = 0; i < count; ++i) {
      std::swap(numbers[i], numbers[i + random() % (numbers.size() - i)]);
      result.push_back(space.at(numbers[i]));
    }
    return result;
  }
  llvm::StringSet<> seen;
  while (result.size() < count) {
    Configuration configuration = space.sample(random);
    if (seen.insert(toString(configuration)).second)
      result.push_back(std::move(configuration));
  }
  return result;
}
