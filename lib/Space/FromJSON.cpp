//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/FromJSON.h"

#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace attune;
namespace json = llvm::json;

namespace {
class Reader {
public:
  Reader(llvm::StringRef text, llvm::StringRef path) : text(text), path(path) {}
  llvm::Expected<Space> read();

private:
  /// `path:line: message`, the line being that of `needle` in the text as JSON
  /// writes it, from `searchFrom` on; without a line if it is not there.
  llvm::Error fail(const llvm::Twine &message, llvm::StringRef needle = "");
  std::string placeOf(llvm::StringRef needle);

  llvm::Error readKnobs(const json::Object &object);
  llvm::Error readKnob(const json::Object &object, size_t number);
  llvm::Error readConstraints(const json::Object &object);
  llvm::Expected<Domain> readDomain(const json::Object &object);
  llvm::Expected<Domain> readValues(const json::Array &values);
  llvm::Expected<Domain> readGrid(const json::Object &grid);
  llvm::Expected<std::vector<int64_t>> readIntegers(const json::Value &value,
                                                    size_t least, size_t most);

  llvm::StringRef text, path;
  size_t searchFrom = 0;
  std::vector<Knob> knobs;
  std::vector<Expression> constraints;
};
} // namespace

std::string Reader::placeOf(llvm::StringRef needle) {
  // llvm::json does not say where a value was. A string is found by its text;
  // what was read before it is passed over.
  std::string quoted = llvm::formatv("{0}", json::Value(needle)).str();
  size_t at =
      needle.empty() ? llvm::StringRef::npos : text.find(quoted, searchFrom);
  if (at == llvm::StringRef::npos)
    return path.str();
  searchFrom = at;
  return llvm::formatv("{0}:{1}", path, text.take_front(at).count('\n') + 1)
      .str();
}

llvm::Error Reader::fail(const llvm::Twine &message, llvm::StringRef needle) {
  return makeError("{0}: {1}", placeOf(needle), message.str());
}

llvm::Expected<std::vector<int64_t>>
Reader::readIntegers(const json::Value &value, size_t least, size_t most) {
  const json::Array *array = value.getAsArray();
  if (!array || array->size() < least || array->size() > most)
    return makeError("{0} is not a list of {1} to {2} integers", value, least,
                     most);
  std::vector<int64_t> numbers;
  for (const json::Value &element : *array) {
    auto number = element.getAsInteger();
    if (!number)
      return makeError("{0} is not an integer of 64 bits", element);
    numbers.push_back(*number);
  }
  return numbers;
}

/// Listed values: all integers, all texts, two booleans, or numbers.
llvm::Expected<Domain> Reader::readValues(const json::Array &values) {
  auto areAll = [&](auto test) { return llvm::all_of(values, test); };
  if (values.empty())
    return makeError("empty domain: \"values\" lists no value");
  if (areAll(
          [](const json::Value &v) { return v.getAsBoolean().has_value(); })) {
    if (values.size() == 1)
      return makeError("the only value is {0}: a boolean knob has two",
                       values[0]);
    if (values.size() > 2 ||
        *values[0].getAsBoolean() == *values[1].getAsBoolean())
      return makeError("the domain lists a boolean twice");
    return Domain::boolean(*values[0].getAsBoolean());
  }
  if (areAll([](const json::Value &v) {
        return v.kind() == json::Value::Number && v.getAsInteger();
      })) {
    std::vector<int64_t> numbers;
    for (const json::Value &value : values)
      numbers.push_back(*value.getAsInteger());
    return Domain::integers(std::move(numbers));
  }
  if (areAll(
          [](const json::Value &v) { return v.getAsString().has_value(); })) {
    std::vector<std::string> texts;
    for (const json::Value &value : values)
      texts.push_back(value.getAsString()->str());
    return Domain::choice(std::move(texts));
  }
  if (areAll([](const json::Value &v) {
        return v.kind() == json::Value::Number;
      })) {
    std::vector<double> numbers;
    for (const json::Value &value : values)
      numbers.push_back(*value.getAsNumber());
    return Domain::floats(std::move(numbers));
  }
  return makeError(
      "the values are not of one kind: integers, numbers, texts or "
      "booleans");
}

llvm::Expected<Domain> Reader::readGrid(const json::Object &grid) {
  auto from = grid.getNumber("from"), to = grid.getNumber("to");
  auto steps = grid.getInteger("steps");
  llvm::StringRef scale = grid.getString("scale").value_or("linear");
  if (!from || !to || !steps)
    return makeError("\"float\" needs \"from\", \"to\" and \"steps\"");
  if (scale == "linear")
    return Domain::linear(*from, *to, *steps);
  if (scale == "log")
    return Domain::logarithmic(*from, *to, *steps);
  return makeError("the scale '{0}' is neither linear nor log", scale);
}

llvm::Expected<Domain> Reader::readDomain(const json::Object &object) {
  static constexpr llvm::StringLiteral kinds[] = {
      "values", "range", "pow2", "divisors", "permutation", "float"};
  llvm::StringRef kind;
  for (llvm::StringRef candidate : kinds) {
    if (!object.get(candidate))
      continue;
    if (!kind.empty())
      return makeError("it has both \"{0}\" and \"{1}\"", kind, candidate);
    kind = candidate;
  }
  if (kind.empty())
    return makeError("it has no domain: give one of {0:$[, ]}",
                     llvm::make_range(std::begin(kinds), std::end(kinds)));
  const json::Value &value = *object.get(kind);
  if (kind == "values") {
    if (const json::Array *array = value.getAsArray())
      return readValues(*array);
    return makeError("\"values\" is not a list");
  }
  if (kind == "float") {
    if (const json::Object *grid = value.getAsObject())
      return readGrid(*grid);
    return makeError("\"float\" is not an object");
  }
  if (kind == "range" || kind == "pow2") {
    auto numbers = readIntegers(value, 2, kind == "range" ? 3 : 2);
    if (!numbers)
      return makeError("\"{0}\": {1}", kind,
                       llvm::toString(numbers.takeError()));
    if (kind == "pow2")
      return Domain::powersOfTwo((*numbers)[0], (*numbers)[1]);
    return Domain::range((*numbers)[0], (*numbers)[1],
                         numbers->size() == 3 ? (*numbers)[2] : 1);
  }
  auto number = value.getAsInteger();
  if (!number)
    return makeError("\"{0}\" is {1}, not an integer", kind, value);
  if (kind == "divisors" && *number < 1)
    return makeError("\"divisors\" of {0}: give a positive number", *number);
  return kind == "divisors" ? Domain::divisors(*number)
                            : Domain::permutation(*number);
}

llvm::Error Reader::readKnob(const json::Object &object, size_t number) {
  auto name = object.getString("name");
  if (!name || name->empty())
    return fail("knob number " + llvm::Twine(number) + " has no \"name\"");
  // So that what follows is searched from here, and a second knob of the same
  // name is reported where it stands.
  std::string place = placeOf(*name);
  ++searchFrom;
  auto domain = readDomain(object);
  if (!domain)
    return makeError("{0}: knob '{1}': {2}", place, *name,
                     llvm::toString(domain.takeError()));
  if (llvm::any_of(knobs, [&](const Knob &k) { return k.name == *name; }))
    return makeError("{0}: duplicate knob '{1}'", place, *name);
  Knob knob{name->str(), std::move(*domain), std::nullopt};
  if (const json::Value *when = object.get("when")) {
    auto source = when->getAsString();
    if (!source)
      return makeError("{0}: knob '{1}': \"when\" is not a text", place, *name);
    auto condition = Expression::parse(*source);
    std::string conditionPlace = placeOf(*source);
    if (!condition)
      return makeError("{0}: knob '{1}': {2}", conditionPlace, *name,
                       llvm::toString(condition.takeError()));
    knob.condition = condition->withPlace(
        llvm::formatv("{0}: knob '{1}'", conditionPlace, *name).str());
  }
  knobs.push_back(std::move(knob));
  return llvm::Error::success();
}

llvm::Error Reader::readKnobs(const json::Object &object) {
  const json::Array *array = object.getArray("knobs");
  if (!array)
    return fail("a space has \"knobs\": a list of objects");
  for (auto [i, value] : llvm::enumerate(*array)) {
    const json::Object *knob = value.getAsObject();
    if (!knob)
      return fail("knob number " + llvm::Twine(i + 1) + " is not an object");
    if (llvm::Error error = readKnob(*knob, i + 1))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error Reader::readConstraints(const json::Object &object) {
  const json::Value *value = object.get("constraints");
  if (!value)
    return llvm::Error::success();
  const json::Array *array = value->getAsArray();
  if (!array)
    return fail("\"constraints\" is not a list of texts", "constraints");
  searchFrom = 0;
  for (auto [i, element] : llvm::enumerate(*array)) {
    auto source = element.getAsString();
    if (!source)
      return fail("constraint " + llvm::Twine(i + 1) + " is not a text");
    std::string place =
        llvm::formatv("{0}: constraint {1}", placeOf(*source), i + 1).str();
    auto expression = Expression::parse(*source);
    if (!expression)
      return makeError("{0}: {1}", place,
                       llvm::toString(expression.takeError()));
    constraints.push_back(expression->withPlace(place));
  }
  return llvm::Error::success();
}

llvm::Expected<Space> Reader::read() {
  auto parsed = parseJson(text);
  if (!parsed)
    return makeError("{0}: not JSON: {1}", path,
                     llvm::toString(parsed.takeError()));
  const json::Object *object = parsed->getAsObject();
  if (!object)
    return fail("a space is an object with \"knobs\" and \"constraints\"");
  if (const json::Value *version = object->get("version"))
    if (version->getAsInteger() != 1)
      return fail("this is version " + llvm::formatv("{0}", *version).str() +
                  " of the format; known is 1");
  if (llvm::Error error = readKnobs(*object))
    return std::move(error);
  if (llvm::Error error = readConstraints(*object))
    return std::move(error);
  auto space = Space::create("", std::move(knobs), std::move(constraints));
  if (!space) {
    std::string message = llvm::toString(space.takeError());
    // Messages about a constraint or condition say where it is themselves.
    if (llvm::StringRef(message).starts_with(path))
      return makeError("{0}", message);
    return makeError("{0}: {1}", path, message);
  }
  if (space->count() == 0)
    return fail("unsatisfiable: " + space->explainEmptiness());
  return space;
}

llvm::Expected<Space> attune::parseSpace(llvm::StringRef text,
                                         llvm::StringRef path) {
  return Reader(text, path).read();
}

llvm::Expected<Space> attune::readSpace(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  return parseSpace((*buffer)->getBuffer(), path);
}
