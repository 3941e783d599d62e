//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// One value for each knob of a space. Plain data: no MLIR in here, so that
// searchers, the database and the line protocol can speak of it.

#ifndef ATTUNE_SCHEDULE_CONFIGURATION_H
#define ATTUNE_SCHEDULE_CONFIGURATION_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attune {

/// The value of one knob: an integer, a float, a boolean, a choice by its text,
/// or a list of integers (a permutation, a vector of tile sizes).
using KnobValue =
    std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

llvm::json::Value toJSON(const KnobValue &value);
llvm::Expected<KnobValue> knobValueFromJSON(const llvm::json::Value &json);

/// A short text of the value, the same in tables, logs and files: `6`, `0.5`,
/// `true`, `outer`, `[1,0]`.
std::string toString(const KnobValue &value);

/// One value for each knob, in the order in which the space declares them, and
/// the schedule they belong to (empty for a space that has no schedule, such as
/// one read from JSON).
struct Configuration {
  std::string schedule;
  std::vector<std::pair<std::string, KnobValue>> values;

  const KnobValue *find(llvm::StringRef knob) const;
  bool operator==(const Configuration &other) const = default;
};

/// {"schedule": "...", "values": {"m_tile": 6, ...}}; order is kept.
llvm::json::Value toJSON(const Configuration &configuration);
llvm::Expected<Configuration>
configurationFromJSON(const llvm::json::Value &json);

/// `contraction_packed m_tile=6 n_tile=16`: for people, and as a key, since
/// equal configurations print equally and different ones differently.
std::string toString(const Configuration &configuration);

} // namespace attune

#endif // ATTUNE_SCHEDULE_CONFIGURATION_H
