//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Problems as JSON: docs/commands/harness.md.

#include "attune/Harness/Problem.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attune {

static constexpr StringLiteral kinds[] = {"parallel", "reduction", "parameter"};

static json::Array toJSON(ArrayRef<ProblemTensor> tensors) {
  json::Array array;
  for (const ProblemTensor &tensor : tensors) {
    json::Object object{{"name", tensor.name}, {"shape", tensor.shape}};
    if (tensor.type)
      object["type"] = toString(*tensor.type);
    array.push_back(std::move(object));
  }
  return array;
}

json::Object toJSON(const Problem &problem) {
  json::Array dimensions;
  for (const ProblemDimension &dimension : problem.dimensions) {
    json::Object object{{"name", dimension.name},
                        {"kind", kinds[static_cast<int>(dimension.kind)]}};
    if (!dimension.expression.empty())
      object["expression"] = dimension.expression;
    if (dimension.defaultSize)
      object["default"] = *dimension.defaultSize;
    dimensions.push_back(std::move(object));
  }
  json::Object object{{"version", 1},
                      {"name", problem.name},
                      {"type", toString(problem.type)},
                      {"dimensions", std::move(dimensions)},
                      {"inputs", toJSON(problem.inputs)},
                      {"outputs", toJSON(problem.outputs)},
                      {"temporaries", toJSON(problem.temporaries)},
                      {"flops", problem.flops},
                      {"bytes", problem.bytes},
                      {"body", problem.body}};
  if (problem.tolerance)
    object["tolerance"] =
        json::Object{{"relative", problem.tolerance->relative},
                     {"absolute", problem.tolerance->absolute}};
  return object;
}

namespace {

/// Reads fields; the first thing that is wrong stays.
class Reader {
public:
  explicit Reader(const json::Object &json) : json(json) {}
  Expected<Problem> read();

private:
  std::string text(const json::Object &object, StringRef field,
                   bool isRequired = false);
  std::optional<ElementType> type(const json::Object &object);
  void readDimensions(Problem &problem);
  void readTensors(StringRef field, std::vector<ProblemTensor> &tensors,
                   bool isRequired = true);
  void wrong(const Twine &what) {
    if (message.empty())
      message = what.str();
  }

  const json::Object &json;
  std::string message;
};

} // namespace

std::string Reader::text(const json::Object &object, StringRef field,
                         bool isRequired) {
  const json::Value *value = object.get(field);
  if (!value && !isRequired)
    return "";
  if (!value || !value->getAsString()) {
    wrong("'" + field + "' has to be a text");
    return "";
  }
  return value->getAsString()->str();
}

std::optional<ElementType> Reader::type(const json::Object &object) {
  std::string name = text(object, "type");
  if (name.empty())
    return std::nullopt;
  auto type = elementTypeFromString(name);
  if (type)
    return *type;
  wrong("'type': " + toString(type.takeError()));
  return std::nullopt;
}

void Reader::readDimensions(Problem &problem) {
  const json::Array *array = json.getArray("dimensions");
  if (!array)
    return wrong("'dimensions' has to be a list");
  for (const json::Value &value : *array) {
    const json::Object *object = value.getAsObject();
    if (!object)
      return wrong("'dimensions' has to hold objects");
    ProblemDimension dimension;
    dimension.name = text(*object, "name", true);
    dimension.expression = text(*object, "expression");
    std::string kind = text(*object, "kind");
    if (!kind.empty()) {
      auto found = find(kinds, kind);
      if (found == std::end(kinds))
        return wrong("dimension '" + dimension.name + "': kind '" + kind +
                     "' is none of parallel, reduction, parameter");
      dimension.kind =
          static_cast<ProblemDimension::Kind>(found - std::begin(kinds));
    }
    if (const json::Value *size = object->get("default")) {
      dimension.defaultSize = size->getAsInteger();
      if (!dimension.defaultSize)
        return wrong("dimension '" + dimension.name +
                     "': 'default' has to be a whole number");
    }
    problem.dimensions.push_back(std::move(dimension));
  }
}

void Reader::readTensors(StringRef field, std::vector<ProblemTensor> &tensors,
                         bool isRequired) {
  const json::Array *array = json.getArray(field);
  if (!array) {
    if (isRequired || json.get(field))
      wrong("'" + field + "' has to be a list");
    return;
  }
  for (const json::Value &value : *array) {
    const json::Object *object = value.getAsObject();
    if (!object)
      return wrong("'" + field + "' has to hold objects");
    tensors.push_back(
        {text(*object, "name", true), text(*object, "shape"), type(*object)});
  }
}

Expected<Problem> Reader::read() {
  Problem problem;
  if (json.getInteger("version").value_or(1) != 1)
    wrong("it has a version that this Attune does not know");
  problem.name = text(json, "name", true);
  problem.type = type(json).value_or(ElementType::F32);
  readDimensions(problem);
  readTensors("inputs", problem.inputs);
  readTensors("outputs", problem.outputs);
  readTensors("temporaries", problem.temporaries, /*isRequired=*/false);
  problem.flops = text(json, "flops");
  problem.bytes = text(json, "bytes");
  problem.body = text(json, "body", true);
  if (const json::Object *tolerance = json.getObject("tolerance"))
    problem.tolerance = {tolerance->getNumber("relative").value_or(0),
                         tolerance->getNumber("absolute").value_or(0)};
  if (!message.empty())
    return makeError("{0}", message);
  return problem;
}

Expected<Problem> problemFromJSON(const json::Object &json) {
  return Reader(json).read();
}

Expected<Problem> readProblem(StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto json = json::parse(*text);
  if (!json)
    return makeError("{0}: {1}", path, toString(json.takeError()));
  const json::Object *object = json->getAsObject();
  if (!object)
    return makeError("{0}: a problem is a JSON object", path);
  auto problem = problemFromJSON(*object);
  if (!problem)
    return makeError("{0}: {1}", path, toString(problem.takeError()));
  return problem;
}

} // namespace attune
