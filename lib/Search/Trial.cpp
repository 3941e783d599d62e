//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Trial.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>

using namespace attune;

static double median(std::vector<double> values) {
  if (values.empty())
    return std::numeric_limits<double>::quiet_NaN();
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2)
    return values[middle];
  double below = *std::max_element(values.begin(), values.begin() + middle);
  return (below + values[middle]) / 2;
}

double Trial::medianRatio() const {
  std::vector<double> ratios;
  for (auto [mine, theirs] : llvm::zip(seconds, baselineSeconds))
    ratios.push_back(mine / theirs);
  return median(std::move(ratios));
}

double Trial::medianSeconds() const { return median(seconds); }

static llvm::json::Array toJSONArray(llvm::ArrayRef<double> values) {
  llvm::json::Array array;
  for (double value : values)
    array.push_back(value);
  return array;
}

llvm::json::Value attune::toJSON(const Trial &trial) {
  llvm::json::Object object{
      {"configuration", toJSON(trial.configuration)},
      {"outcome", toString(trial.outcome)},
      {"compileSeconds", trial.compileSeconds},
      {"seconds", toJSONArray(trial.seconds)},
      {"baselineSeconds", toJSONArray(trial.baselineSeconds)}};
  // What a child printed need not be UTF-8, and JSON must be.
  if (!trial.reason.empty())
    object["reason"] = llvm::json::fixUTF8(trial.reason);
  if (!trial.detail.empty())
    object["detail"] = llvm::json::fixUTF8(trial.detail);
  return object;
}

static llvm::Error readTimes(const llvm::json::Object &object,
                             llvm::StringRef key, std::vector<double> &out) {
  const llvm::json::Value *value = object.get(key);
  if (!value)
    return llvm::Error::success();
  const llvm::json::Array *array = value->getAsArray();
  if (!array)
    return makeError("\"{0}\" of a trial is a list of seconds, not {1}", key,
                     *value);
  for (const llvm::json::Value &element : *array) {
    auto number = element.getAsNumber();
    if (!number || !(*number >= 0))
      return makeError("\"{0}\" of a trial holds {1}, which is not a time", key,
                       element);
    out.push_back(*number);
  }
  return llvm::Error::success();
}

llvm::Expected<Trial> attune::trialFromJSON(const llvm::json::Value &json) {
  const llvm::json::Object *object = json.getAsObject();
  if (!object)
    return makeError("a trial is an object, not {0}", json);
  Trial trial;
  const llvm::json::Value *configuration = object->get("configuration");
  if (!configuration)
    return makeError("a trial needs a \"configuration\"");
  auto parsed = configurationFromJSON(*configuration);
  if (!parsed)
    return parsed.takeError();
  trial.configuration = std::move(*parsed);

  llvm::StringRef name = object->getString("outcome").value_or("");
  auto outcome = outcomeFromString(name);
  if (!outcome)
    return makeError("a trial has the outcome '{0}', which is none", name);
  trial.outcome = *outcome;
  trial.reason = object->getString("reason").value_or("").str();
  trial.detail = object->getString("detail").value_or("").str();
  trial.compileSeconds = object->getNumber("compileSeconds").value_or(0);
  if (llvm::Error error = readTimes(*object, "seconds", trial.seconds))
    return std::move(error);
  if (llvm::Error error =
          readTimes(*object, "baselineSeconds", trial.baselineSeconds))
    return std::move(error);
  return trial;
}
