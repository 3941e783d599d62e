//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The searchers that need no model: every configuration in order, and a random
// permutation of all of them.

#include "Searchers.h"

#include "attune/Search/Guest.h"
#include "attune/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

using namespace attune;

uint64_t attune::drawBelow(uint64_t bound, std::mt19937_64 &random) {
  // Rejects the values above the last whole multiple of `bound`.
  uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t value = random();
  while (value >= limit)
    value = random();
  return value % bound;
}

std::string attune::exhaustedReason(const Space &space) {
  return llvm::formatv("exhausted: all {0} configurations tried", space.count())
      .str();
}

//===----------------------------------------------------------------------===//
// Exhaustive
//===----------------------------------------------------------------------===//

std::vector<Configuration> ExhaustiveSearcher::ask(size_t n) {
  std::vector<Configuration> asked;
  for (; asked.size() < n && next < space.count(); ++next)
    if (!told.contains(next))
      asked.push_back(space.at(next));
  return asked;
}

void ExhaustiveSearcher::tell(const Trial &trial) {
  if (auto index = space.indexOf(trial.configuration))
    if (*index >= next)
      told.insert(*index);
}

std::string ExhaustiveSearcher::stopReason() const {
  uint64_t rest = next;
  while (rest < space.count() && told.contains(rest))
    ++rest;
  return rest < space.count() ? "" : exhaustedReason(space);
}

//===----------------------------------------------------------------------===//
// Random
//===----------------------------------------------------------------------===//

RandomOrder::RandomOrder(const Space &space, uint64_t seed)
    : space(space), random(seed) {}

void RandomOrder::exclude(const Configuration &configuration) {
  if (auto chosen = space.encode(configuration))
    if (space.contains(configuration))
      given.insert(toKey(*chosen));
}

bool RandomOrder::isGiven(const Configuration &configuration) const {
  auto chosen = space.encode(configuration);
  return chosen && given.count(toKey(*chosen));
}

std::string RandomOrder::toKey(llvm::ArrayRef<uint64_t> chosen) {
  return std::string(reinterpret_cast<const char *>(chosen.data()),
                     chosen.size() * sizeof(uint64_t));
}

bool RandomOrder::isExhausted() const { return given.size() >= space.count(); }

// The shuffle of Fisher and Yates, of which only the places that differ from
// the identity are kept.
std::optional<Configuration> RandomOrder::next() {
  while (!isExhausted()) {
    Configuration configuration;
    if (space.count() == UINT64_MAX) { // Numbers do not reach all of it.
      configuration = space.sample(random);
    } else {
      uint64_t place = drawn + drawBelow(space.count() - drawn, random);
      auto valueAt = [&](uint64_t i) {
        auto moved = permuted.find(i);
        return moved == permuted.end() ? i : moved->second;
      };
      uint64_t index = valueAt(place);
      permuted[place] = valueAt(drawn);
      permuted.erase(drawn++);
      configuration = space.at(index);
    }
    if (given.insert(toKey(*space.encode(configuration))).second)
      return configuration;
  }
  return std::nullopt;
}

std::vector<Configuration> RandomSearcher::ask(size_t n) {
  std::vector<Configuration> asked;
  while (asked.size() < n) {
    auto configuration = order.next();
    if (!configuration)
      break;
    asked.push_back(std::move(*configuration));
  }
  return asked;
}

std::string RandomSearcher::stopReason() const {
  return order.isExhausted() ? exhaustedReason(space) : "";
}

llvm::Expected<std::unique_ptr<Searcher>>
attune::createSearcher(llvm::StringRef name, const Space &space, uint64_t seed,
                       std::vector<Configuration> first,
                       std::function<void(llvm::StringRef)> note) {
  if (name == "random")
    return std::make_unique<RandomSearcher>(space, seed);
  if (name == "exhaustive")
    return std::make_unique<ExhaustiveSearcher>(space);
  if (name == "auto")
    return createAutoSearcher(space, seed, std::move(first));
  auto command = guestCommand(name);
  if (!command)
    return command.takeError();
  GuestOptions options;
  options.name = name.str();
  options.arguments = std::move(*command);
  options.seed = seed;
  options.note = std::move(note);
  if (!options.note)
    options.note = [](llvm::StringRef text) {
      llvm::errs() << "warning: " << text << '\n';
    };
  return createGuestSearcher(space, std::move(options));
}
