//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Import/Inputs.h"

#include "Random.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace attune;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Reading what was written
//===----------------------------------------------------------------------===//

static constexpr char howTo[] =
    "write 4x16xf32, 4x16xf32=2.0, 4x16xf32=random:7, @file.npy, "
    "?x16xf32:1,8,32, f32=1.5 or random";

static Error parseValue(StringRef value, InputSpec &spec) {
  if (value == "random")
    return Error::success();
  if (value.consume_front("random:")) {
    uint64_t seed;
    if (value.getAsInteger(10, seed))
      return makeError("--input={0}: the seed after random: is a whole number",
                       spec.text);
    spec.seed = seed;
    return Error::success();
  }
  spec.kind = InputSpec::Kind::Fill;
  int64_t whole;
  if (value == "true" || value == "false") {
    spec.wholeFill = value == "true";
    spec.fill = *spec.wholeFill;
    return Error::success();
  }
  if (!value.getAsInteger(0, whole)) {
    spec.wholeFill = whole;
    spec.fill = double(whole);
    return Error::success();
  }
  // strtod knows inf and nan; StringRef::getAsDouble does not.
  std::string text = value.str();
  char *end = nullptr;
  spec.fill = std::strtod(text.c_str(), &end);
  if (text.empty() || *end)
    return makeError("--input={0}: '{1}' is not a number; {2}", spec.text,
                     value, howTo);
  return Error::success();
}

static Error parseSizes(StringRef list, InputSpec &spec) {
  llvm::SmallVector<StringRef> parts;
  list.split(parts, ',');
  for (StringRef part : parts) {
    auto range = parseSizeRange(part.trim());
    if (!range) {
      llvm::consumeError(range.takeError());
      return makeError(
          "--input={0}: '{1}' is not a size; sizes are whole numbers "
          "from 0, or ranges of them (2..8), separated by commas",
          spec.text, part);
    }
    // A range is seen at its ends; nothing can be measured on no elements.
    if (!range->isOne()) {
      spec.sizes.push_back(std::max<int64_t>(1, range->lower));
      spec.ranges.push_back(*range);
    }
    spec.sizes.push_back(range->upper);
    spec.ranges.push_back(*range);
  }
  return Error::success();
}

Expected<InputSpec> attune::parseInputSpec(StringRef text) {
  InputSpec spec;
  spec.text = text.str();
  text = text.trim();
  if (text == "random") {
    spec.kind = InputSpec::Kind::AllRandom;
    return spec;
  }
  if (text.consume_front("@")) {
    if (text.empty())
      return makeError("--input=@: the name of a .npy file is missing");
    spec.kind = InputSpec::Kind::File;
    spec.path = text.str();
    return spec;
  }

  StringRef type = text.take_until([](char c) { return c == '=' || c == ':'; });
  StringRef rest = text.drop_front(type.size());
  auto parsed = tensorTypeFromString(type.trim());
  if (!parsed)
    return makeError("--input={0}: {1}; {2}", spec.text,
                     llvm::toString(parsed.takeError()), howTo);
  spec.type = std::move(*parsed);
  // Sizes and a value may both be there, in either order: ?xf32:1,8=2.0.
  while (!rest.empty()) {
    char mark = rest.front();
    rest = rest.drop_front();
    StringRef part = rest;
    if (mark == ':')
      part = rest.take_until([](char c) { return c == '='; });
    else if (rest.starts_with("random:"))
      part = rest.take_front(rest.find_first_of(":=", strlen("random:")));
    else
      part = rest.take_until([](char c) { return c == ':'; });
    rest = rest.drop_front(part.size());
    if (Error error = mark == ':' ? parseSizes(part, spec)
                                  : parseValue(part.trim(), spec))
      return std::move(error);
  }
  if (!spec.sizes.empty() && spec.type.isStatic())
    return makeError("--input={0}: sizes are given, but no dimension is `?`",
                     spec.text);
  if (spec.sizes.empty() && !spec.type.isStatic())
    return makeError(
        "--input={0}: a dimension is `?` without a size; give it, or a "
        "list to tune for: --input={1}:1,8,32",
        spec.text, toString(spec.type));
  return spec;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Tensor attune::makeRandom(ElementType type, ArrayRef<int64_t> shape,
                          uint64_t seed) {
  Tensor tensor = Tensor::zeros(type, shape.vec());
  Random random(seed);
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    if (isFloat(type))
      tensor.set(i, random.normal());
    else
      tensor.set(i, double(random.below(type == ElementType::I1 ? 2 : 8)));
  return tensor;
}

/// Writes a whole number without going through double, which has 53 bits.
static void setWhole(Tensor &tensor, int64_t index, int64_t value) {
  int64_t width = byteWidth(tensor.type);
  memcpy(tensor.bytes.data() + index * width, &value, width);
}

static bool fits(int64_t value, ElementType type) {
  switch (type) {
  case ElementType::I1:
    return value == 0 || value == 1;
  // Both readings of the bits: -8..15, -128..255, ...
  case ElementType::I4:
    return value >= -8 && value < 16;
  case ElementType::I8:
    return value >= -128 && value < 256;
  case ElementType::I16:
    return value >= -32768 && value < 65536;
  case ElementType::I32:
    return value >= INT32_MIN && value <= int64_t(UINT32_MAX);
  default:
    return true;
  }
}

static Expected<Tensor> makeFilled(const InputSpec &spec, ElementType type,
                                   ArrayRef<int64_t> shape) {
  Tensor tensor = Tensor::zeros(type, shape.vec());
  bool whole = !isFloat(type);
  if (whole && (!spec.wholeFill || !fits(*spec.wholeFill, type)))
    return makeError("--input={0}: the value does not fit the type {1}",
                     spec.text, toString(type));
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    if (whole)
      setWhole(tensor, i, *spec.wholeFill);
    else
      tensor.set(i, spec.fill);
  return tensor;
}

//===----------------------------------------------------------------------===//
// Against the entry
//===----------------------------------------------------------------------===//

static bool shapeFits(ArrayRef<int64_t> shape, ArrayRef<int64_t> wanted) {
  return shape.size() == wanted.size() &&
         llvm::all_of(llvm::zip(shape, wanted), [](auto pair) {
           auto [size, want] = pair;
           return want < 0 || size == want || size < 0;
         });
}

namespace {

/// Makes the sets of one entry from its specs.
class Maker {
public:
  Maker(const EntrySignature &entry, uint64_t seed)
      : entry(entry), seed(seed) {}

  Expected<std::vector<InputSet>> make(ArrayRef<std::string> texts);

private:
  Error parse(ArrayRef<std::string> texts);
  Error checkDynamic() const;
  Error check(size_t input) const;
  Expected<size_t> countSets() const;
  Expected<Tensor> makeOne(size_t input, size_t set) const;
  Expected<Tensor> readOne(const InputSpec &spec,
                           const TensorType &wanted) const;
  std::string name(size_t input) const {
    return llvm::formatv("input {0} of @{1}", input, entry.name).str();
  }

  const EntrySignature &entry;
  uint64_t seed;
  std::vector<InputSpec> specs;
};

} // namespace

/// `--input=?x784xf32:32` for every dynamic input, to paste.
static std::string suggestion(const EntrySignature &entry) {
  std::string text;
  for (const ValueSignature &input : entry.inputs)
    text += (text.empty() ? "--input=" : " --input=") + toString(input.type) +
            (input.type.isStatic() ? "" : ":32");
  return text;
}

static std::string listTypes(const EntrySignature &entry) {
  std::string text;
  for (const ValueSignature &input : entry.inputs)
    text += (text.empty() ? "" : ", ") + toString(input.type);
  return text.empty() ? "none" : text;
}

Error Maker::checkDynamic() const {
  for (auto [i, input] : llvm::enumerate(entry.inputs))
    if (!input.type.isStatic() && input.file.empty())
      return makeError("{0} is {1}; give its size with {2}", name(i),
                       toString(input.type), suggestion(entry));
  return Error::success();
}

Error Maker::parse(ArrayRef<std::string> texts) {
  for (const std::string &text : texts) {
    auto spec = parseInputSpec(text);
    if (!spec)
      return spec.takeError();
    specs.push_back(std::move(*spec));
  }
  bool allRandom = llvm::any_of(specs, [](const InputSpec &spec) {
    return spec.kind == InputSpec::Kind::AllRandom;
  });
  if (allRandom && specs.size() > 1)
    return makeError("--input=random stands for every input; remove the other "
                     "--input");
  if (allRandom || specs.empty()) {
    if (Error error = checkDynamic())
      return error;
    specs.clear();
    for (const ValueSignature &input : entry.inputs) {
      InputSpec spec;
      spec.type = input.type;
      if (!input.file.empty()) {
        spec.kind = InputSpec::Kind::File;
        spec.path = input.file;
        spec.text = "@" + input.file;
      }
      specs.push_back(std::move(spec));
    }
  }
  if (specs.size() != entry.inputs.size())
    return makeError("@{0} has {1} input{2} ({3}), but {4} --input {5} given",
                     entry.name, entry.inputs.size(),
                     entry.inputs.size() == 1 ? "" : "s", listTypes(entry),
                     specs.size(), specs.size() == 1 ? "is" : "are");
  for (size_t i = 0; i < specs.size(); ++i)
    if (Error error = check(i))
      return error;
  return Error::success();
}

Error Maker::check(size_t input) const {
  const InputSpec &spec = specs[input];
  const TensorType &wanted = entry.inputs[input].type;
  if (spec.kind == InputSpec::Kind::File)
    return Error::success();
  if (spec.type.type != wanted.type)
    return makeError("--input={0}: {1} has element type {2}, not {3}; write "
                     "--input={4}",
                     spec.text, name(input), toString(wanted.type),
                     toString(spec.type.type), toString(wanted));
  if (!shapeFits(spec.type.shape, wanted.shape))
    return makeError("--input={0}: {1} is {2}", spec.text, name(input),
                     toString(wanted));
  for (auto [size, want] : llvm::zip(spec.type.shape, wanted.shape))
    if (size < 0 && want >= 0)
      return makeError("--input={0}: {1} is {2}; write {3} where you wrote `?`",
                       spec.text, name(input), toString(wanted), want);
  return Error::success();
}

Expected<size_t> Maker::countSets() const {
  size_t sets = 1;
  const InputSpec *longest = nullptr;
  for (const InputSpec &spec : specs) {
    if (spec.sizes.size() <= 1)
      continue;
    if (longest && longest->sizes.size() != spec.sizes.size())
      return makeError(
          "--input={0} lists {1} sizes and --input={2} lists {3}; give "
          "as many in both, or one",
          longest->text, longest->sizes.size(), spec.text, spec.sizes.size());
    longest = &spec;
    sets = spec.sizes.size();
  }
  return sets;
}

Expected<Tensor> Maker::readOne(const InputSpec &spec,
                                const TensorType &wanted) const {
  auto tensor = readNpy(spec.path);
  if (!tensor)
    return tensor.takeError();
  // Our tools write scalars as 0-d arrays; others write one element.
  if (wanted.shape.empty() && tensor->elementCount() == 1)
    tensor->shape.clear();
  if (!shapeFits(tensor->shape, wanted.shape))
    return makeError("{0}: is {1}, where {2} is needed", spec.path,
                     toString(TensorType{tensor->type, tensor->shape}),
                     toString(wanted));
  if (tensor->type == wanted.type)
    return tensor;
  std::string found = toString(tensor->type).str();
  auto same = reinterpretAs(std::move(*tensor), wanted.type);
  if (same)
    return same;
  llvm::consumeError(same.takeError());
  return makeError("{0}: its elements are {1}, where {2} is needed; convert it "
                   "with numpy's astype",
                   spec.path, found, toString(wanted));
}

Expected<Tensor> Maker::makeOne(size_t input, size_t set) const {
  const InputSpec &spec = specs[input];
  const TensorType &wanted = entry.inputs[input].type;
  if (spec.kind == InputSpec::Kind::File)
    return readOne(spec, wanted);
  std::vector<int64_t> shape = spec.type.shape;
  for (int64_t &size : shape)
    if (size < 0)
      size = spec.sizes.size() == 1 ? spec.sizes[0] : spec.sizes[set];
  double bytes = byteWidth(wanted.type);
  for (int64_t size : shape)
    bytes *= size;
  if (bytes > 0x1p40)
    return makeError("--input={0}: would need {1:f0} GB of memory", spec.text,
                     bytes / 0x1p30);
  if (spec.kind == InputSpec::Kind::Fill)
    return makeFilled(spec, wanted.type, shape);
  // Inputs of one command differ from each other, and keep their values when
  // another is added.
  uint64_t own = Random(seed * 1000003 + input).next();
  return makeRandom(wanted.type, shape, spec.seed.value_or(own));
}

Expected<std::vector<InputSet>> Maker::make(ArrayRef<std::string> texts) {
  if (Error error = parse(texts))
    return std::move(error);
  auto count = countSets();
  if (!count)
    return count.takeError();
  std::vector<InputSet> sets(*count);
  for (size_t set = 0; set < *count; ++set)
    for (size_t input = 0; input < specs.size(); ++input) {
      auto tensor = makeOne(input, set);
      if (!tensor)
        return tensor.takeError();
      const InputSpec &spec = specs[input];
      size_t chosen = spec.sizes.size() == 1 ? 0 : set;
      if (!spec.sizes.empty() && sets[set].label.empty())
        sets[set].label = llvm::formatv("?={0}", spec.sizes[chosen]);
      for (auto [dim, wanted] :
           llvm::enumerate(entry.inputs[input].type.shape)) {
        bool isListed = wanted < 0 && dim < spec.type.shape.size() &&
                        spec.type.shape[dim] < 0;
        int64_t size = tensor->shape[dim];
        if (wanted < 0)
          sets[set].sizes.push_back(isListed ? spec.ranges[chosen]
                                             : SizeRange{size, size});
      }
      sets[set].tensors.push_back(std::move(*tensor));
    }
  return sets;
}

Expected<std::vector<InputSet>> attune::makeInputs(const EntrySignature &entry,
                                                   ArrayRef<std::string> specs,
                                                   uint64_t seed) {
  return Maker(entry, seed).make(specs);
}
