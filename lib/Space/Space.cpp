//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SpaceImpl.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace attune;

static Count countOf(const std::variant<FreeKnob, Diagram> &group) {
  return std::visit([](const auto &g) { return Count(g.count()); }, group);
}

static uint64_t saturate(Count count) {
  return count > UINT64_MAX ? UINT64_MAX : uint64_t(count);
}

/// Depth-first over the conditions: `path` holds the knobs on the way.
static llvm::Error checkCycle(llvm::ArrayRef<Knob> knobs,
                              const llvm::StringMap<size_t> &numbers,
                              size_t knob, std::vector<size_t> &path,
                              std::vector<char> &done) {
  auto place = llvm::find(path, knob);
  if (place != path.end()) {
    std::string cycle;
    for (size_t member : llvm::make_range(place, path.end()))
      cycle += "'" + knobs[member].name + "' needs ";
    return makeError("cyclic reference: {0}'{1}'", cycle, knobs[knob].name);
  }
  if (done[knob] || !knobs[knob].condition)
    return llvm::Error::success();
  path.push_back(knob);
  for (const std::string &name : knobs[knob].condition->getKnobs())
    if (auto found = numbers.find(name); found != numbers.end())
      if (llvm::Error error =
              checkCycle(knobs, numbers, found->second, path, done))
        return error;
  path.pop_back();
  done[knob] = true;
  return llvm::Error::success();
}

llvm::Error Space::Impl::checkKnobs() {
  for (auto [i, knob] : llvm::enumerate(knobs)) {
    if (knob.name.empty())
      return makeError("knob number {0} has no name", i + 1);
    if (!numbers.try_emplace(knob.name, i).second)
      return makeError("duplicate knob '{0}'", knob.name);
    hasConditions |= knob.condition.has_value();
  }
  std::vector<char> done(knobs.size());
  std::vector<size_t> path;
  for (size_t i = 0; i < knobs.size(); ++i)
    if (llvm::Error error = checkCycle(knobs, numbers, i, path, done))
      return error;
  return llvm::Error::success();
}

llvm::Error Space::Impl::build() {
  auto resolved = resolveConstraints(knobs, constraints);
  if (!resolved)
    return resolved.takeError();
  std::vector<Constraint> open;
  for (Constraint &constraint : *resolved) {
    if (!constraint.variables.empty()) {
      open.push_back(std::move(constraint));
      continue;
    }
    auto value = constraint.source.evaluate(
        [](llvm::StringRef) { return std::nullopt; });
    if (!value)
      return constraintError(constraint.declared,
                             llvm::toString(value.takeError()));
    isEmpty |= *value == 0;
  }
  auto variables = listVariables(knobs, open);
  if (!variables)
    return variables.takeError();
  std::vector<bool> listed;
  for (const KnobVariable &variable : *variables)
    listed.push_back(!variable.values.empty());
  std::vector<const Constraint *> rest = propagate(open, *variables);
  for (size_t i = 0; i < knobs.size(); ++i)
    isEmpty |= listed[i] && (*variables)[i].values.empty();
  if (isEmpty)
    return llvm::Error::success();

  total = 1;
  for (const Group &group : formGroups(knobs.size(), rest)) {
    if (group.constraints.empty()) {
      int variable = group.variables[0];
      FreeKnob free{variable, knobs[variable].domain.size(), std::nullopt};
      if (listed[variable])
        free.indices = std::move((*variables)[variable].indices);
      groups.push_back(std::move(free));
    } else {
      auto diagram = Diagram::build(knobs, *variables, group);
      if (!diagram)
        return diagram.takeError();
      groups.push_back(std::move(*diagram));
    }
    isEmpty |= countOf(groups.back()) == 0;
    // Both factors are under 2^64 after saturation, so this does not wrap.
    total = saturate(total * saturate(countOf(groups.back())));
  }
  if (isEmpty)
    total = 0;
  return llvm::Error::success();
}

llvm::Expected<Space> Space::create(std::string schedule,
                                    std::vector<Knob> knobs,
                                    std::vector<Expression> constraints) {
  auto impl = std::make_shared<Impl>();
  impl->schedule = std::move(schedule);
  impl->knobs = std::move(knobs);
  impl->constraints = std::move(constraints);
  if (llvm::Error error = impl->checkKnobs())
    return std::move(error);
  if (llvm::Error error = impl->build())
    return std::move(error);
  return Space(std::move(impl));
}

llvm::Expected<Space> Space::table(std::string schedule,
                                   std::vector<Knob> knobs,
                                   std::vector<std::vector<uint64_t>> rows) {
  auto impl = std::make_shared<Impl>();
  impl->schedule = std::move(schedule);
  impl->knobs = std::move(knobs);
  if (llvm::Error error = impl->checkKnobs())
    return std::move(error);
  for (auto [i, row] : llvm::enumerate(rows)) {
    bool fits = row.size() == impl->knobs.size();
    for (size_t k = 0; fits && k < row.size(); ++k)
      fits = row[k] < impl->knobs[k].domain.size() +
                          impl->knobs[k].condition.has_value();
    if (!fits)
      return makeError("row {0} does not fit the knobs", i + 1);
  }
  impl->groups.push_back(Diagram::table(impl->knobs.size(), std::move(rows)));
  impl->total = countOf(impl->groups[0]);
  impl->isEmpty = impl->total == 0;
  return Space(std::move(impl));
}

uint64_t Space::count() const { return uint64_t(impl->total); }
const std::vector<Knob> &Space::getKnobs() const { return impl->knobs; }
const std::vector<Expression> &Space::getConstraints() const {
  return impl->constraints;
}
const std::string &Space::getSchedule() const { return impl->schedule; }

std::pair<size_t, size_t> Space::diagramSize() const {
  std::pair<size_t, size_t> size{0, 0};
  for (const auto &group : impl->groups)
    if (auto *diagram = std::get_if<Diagram>(&group)) {
      size.first += diagram->nodeCount();
      size.second += diagram->edgeCount();
    }
  return size;
}

//===----------------------------------------------------------------------===//
// Configurations and numbers
//===----------------------------------------------------------------------===//

Configuration Space::decode(llvm::ArrayRef<uint64_t> values) const {
  Configuration configuration;
  configuration.schedule = impl->schedule;
  for (auto [knob, value] : llvm::zip(impl->knobs, values))
    if (value < knob.domain.size())
      configuration.values.emplace_back(knob.name, knob.domain.at(value));
  return configuration;
}

std::optional<std::vector<uint64_t>>
Space::encode(const Configuration &configuration) const {
  if (configuration.schedule != impl->schedule)
    return std::nullopt;
  std::vector<uint64_t> values;
  for (const Knob &knob : impl->knobs)
    values.push_back(knob.domain.size());
  std::vector<bool> given(values.size());
  for (const auto &[name, value] : configuration.values) {
    auto found = impl->numbers.find(name);
    if (found == impl->numbers.end() || given[found->second])
      return std::nullopt;
    auto index = impl->knobs[found->second].domain.indexOf(value);
    if (!index)
      return std::nullopt;
    values[found->second] = *index;
    given[found->second] = true;
  }
  for (auto [knob, isGiven] : llvm::zip(impl->knobs, given))
    if (!isGiven && !knob.condition)
      return std::nullopt;
  return values;
}

Configuration Space::at(uint64_t index) const {
  std::vector<uint64_t> chosen(impl->knobs.size());
  // The last group counts fastest.
  for (const auto &group : llvm::reverse(impl->groups)) {
    Count count = countOf(group);
    Count digit = index % count;
    index = uint64_t(index / count);
    if (auto *free = std::get_if<FreeKnob>(&group))
      chosen[free->variable] = free->at(uint64_t(digit));
    else
      std::get<Diagram>(group).at(digit, chosen);
  }
  return decode(chosen);
}

/// The numbers of `chosen` within each group, or nothing if one is not valid.
static std::optional<std::vector<Count>>
digitsOf(llvm::ArrayRef<std::variant<FreeKnob, Diagram>> groups,
         llvm::ArrayRef<uint64_t> chosen) {
  std::vector<Count> digits;
  for (const auto &group : groups) {
    std::optional<Count> digit;
    if (auto *free = std::get_if<FreeKnob>(&group)) {
      if (auto index = free->indexOf(chosen[free->variable]))
        digit = *index;
    } else {
      digit = std::get<Diagram>(group).indexOf(chosen);
    }
    if (!digit)
      return std::nullopt;
    digits.push_back(*digit);
  }
  return digits;
}

bool Space::contains(const Configuration &configuration) const {
  auto chosen = encode(configuration);
  return chosen && contains(*chosen);
}

bool Space::contains(llvm::ArrayRef<uint64_t> values) const {
  return !impl->isEmpty && values.size() == impl->knobs.size() &&
         digitsOf(impl->groups, values);
}

std::optional<uint64_t>
Space::indexOf(const Configuration &configuration) const {
  auto chosen = impl->isEmpty ? std::nullopt : encode(configuration);
  auto digits = chosen ? digitsOf(impl->groups, *chosen) : std::nullopt;
  if (!digits)
    return std::nullopt;
  Count index = 0;
  for (auto [group, digit] : llvm::zip(impl->groups, *digits)) {
    Count count = countOf(group);
    if (index && count > (Count(1) << 64)) // index * count would be too large
      return std::nullopt;
    index = index * count + digit;
    if (index > UINT64_MAX)
      return std::nullopt;
  }
  return uint64_t(index);
}

/// Uniform below `bound`: the bits that are needed, drawn until they fit.
static Count drawBelow(Count bound, std::mt19937_64 &random) {
  int bits = 0;
  while (bits < 128 && (bound - 1) >> bits)
    ++bits;
  while (true) {
    Count value = bits > 64 ? Count(random()) << 64 | random()
                  : bits    ? random()
                            : 0;
    int unused = (bits > 64 ? 128 : 64) - bits;
    value = bits ? value >> unused : 0;
    if (bits > 0 && bits <= 64) // The shift above kept the high bits of 64.
      value &= (Count(1) << bits) - 1;
    if (value < bound)
      return value;
  }
}

Configuration Space::sample(std::mt19937_64 &random) const {
  return decode(sampleNumbers(random));
}

std::vector<uint64_t> Space::sampleNumbers(std::mt19937_64 &random) const {
  std::vector<uint64_t> chosen(impl->knobs.size());
  for (const auto &group : impl->groups) {
    Count digit = drawBelow(countOf(group), random);
    if (auto *free = std::get_if<FreeKnob>(&group))
      chosen[free->variable] = free->at(uint64_t(digit));
    else
      std::get<Diagram>(group).at(digit, chosen);
  }
  return chosen;
}

//===----------------------------------------------------------------------===//
// Why there is nothing
//===----------------------------------------------------------------------===//

std::string Space::explainEmptiness() const {
  if (count() != 0)
    return "";
  // Leave out what the space is empty without, one after the other.
  std::vector<Expression> needed = impl->constraints;
  for (size_t i = needed.size(); i-- > 0;) {
    std::vector<Expression> fewer = needed;
    fewer.erase(fewer.begin() + i);
    auto space = create(impl->schedule, impl->knobs, fewer);
    if (!space)
      llvm::consumeError(space.takeError());
    else if (space->count() == 0)
      needed = std::move(fewer);
  }
  std::string text = "no configuration satisfies ";
  for (auto [i, constraint] : llvm::enumerate(needed)) {
    text += i ? i + 1 == needed.size() ? " and " : ", " : "";
    text += constraint.getPlace();
    if (!constraint.getPlace().empty())
      text += ' ';
    text += "\"" +
            (constraint.getSource().empty() ? constraint.str()
                                            : constraint.getSource()) +
            "\"";
  }
  return text;
}
