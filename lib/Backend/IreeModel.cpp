//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What is compiled: the program, with weights if it has none, and a spec that
// the user has already.

#include "IreeImpl.h"

#include "attune/Import/Inputs.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cmath>

using namespace llvm;
using namespace attune;

static constexpr StringLiteral specFlag("--iree-codegen-tuning-spec-path=");

/// The spec that --iree-codegen-tuning-spec-path names is put together with
/// ours, and comes first.
Error IreeBackend::Impl::takeUserSpec() {
  llvm::erase_if(options.flags, [&](StringRef flag) {
    bool isSpec = flag.consume_front(specFlag);
    if (isSpec)
      userSpec = flag.str();
    return isSpec;
  });
  if (userSpec.empty())
    return Error::success();
  SmallString<256> path(userSpec);
  sys::fs::make_absolute(path);
  userSpec = path.str().str();
  std::string printed = newPath(".mlir");
  CommandOutcome read = start(
      {options.tools.opt, userSpec, "-o", printed, "--mlir-print-local-scope"},
      120, JobPhase::Compile);
  if (read.outcome != Outcome::Ok)
    return makeError("{0}{1}: {2}", specFlag, userSpec, read.reason);
  auto specText = readFile(printed);
  sys::fs::remove(printed);
  if (!specText)
    return specText.takeError();
  userSpecText = std::move(*specText);
  noteList.push_back("your spec, " + userSpec +
                     ", comes before what is found; other flags, with which "
                     "it may find nothing, are not tried");
  return Error::success();
}

/// Random weights: as large as they are in trained networks; what is one value
/// a channel may be a variance, and is positive.
static Tensor makeWeight(const TensorType &type, uint64_t seed) {
  if (!isFloat(type.type))
    return Tensor::zeros(type.type, type.shape);
  Tensor tensor = makeRandom(type.type, type.shape, seed);
  double inputs = 1;
  for (int64_t size : ArrayRef(type.shape).drop_front(!type.shape.empty()))
    inputs *= size;
  for (int64_t i = 0, e = tensor.elementCount(); i < e; ++i)
    tensor.set(i, type.shape.size() < 2 ? 0.5 + 0.1 * std::abs(tensor.at(i))
                                        : tensor.at(i) / std::sqrt(inputs));
  return tensor;
}

/// The resources of a module, as text.
static Expected<std::string>
printWeights(ArrayRef<std::pair<std::string, std::string>> missing) {
  std::vector<std::string> resources;
  for (const auto &[name, typeText] : missing) {
    auto shape = iree::parseShape(typeText);
    if (!shape)
      return makeError("{0}: the type {1} of a missing weight", name, typeText);
    auto element = elementTypeFromString(shape->second);
    if (!element)
      return element.takeError();
    Tensor weight =
        makeWeight({*element, shape->first}, hash_value(StringRef(name)));
    resources.push_back(
        "      " + name + ": \"0x40000000" +
        toHex(StringRef(weight.bytes.data(), weight.bytes.size())) + "\"");
  }
  return "{-#\n  dialect_resources: {\n    builtin: {\n" +
         join(resources, ",\n") + "\n    }\n  }\n#-}\n";
}

/// IREE refuses programs whose weights were left out when they were written.
Error IreeBackend::Impl::addMissingWeights() {
  SmallString<256> path(options.model);
  sys::fs::make_absolute(path);
  modelPath = path.str().str();
  auto missing = iree::findMissingResources(text);
  if (missing.empty())
    return Error::success();
  if (StringRef(text).contains(": \"0x"))
    return makeError("{0}: the data of some dense_resource constants is there, "
                     "and of others it is not, such as {1}",
                     options.model, missing.front().first);
  auto weights = printWeights(missing);
  if (!weights)
    return weights.takeError();
  std::string filled = newPath(".mlir"), bytecode = newPath(".mlirbc");
  StringRef body = StringRef(text).split("{-#").first;
  if (Error error = writeFile(filled, body.str() + *weights))
    return error;
  // It is read again for each candidate, which takes long as text.
  CommandOutcome made =
      start({options.tools.opt, filled, "--emit-bytecode", "-o", bytecode}, 600,
            JobPhase::Compile);
  sys::fs::remove(filled);
  if (made.outcome != Outcome::Ok)
    return makeError("{0}: iree-opt: {1}", options.model, made.reason);
  modelPath = bytecode;
  noteList.push_back(formatv("{0} weights whose values are not in {1} are "
                             "random",
                             missing.size(), options.model)
                         .str());
  return Error::success();
}

/// What comes before specs is the same for all candidates.
void IreeBackend::Impl::makeSources() {
  std::string path = newPath("-sources.mlirbc");
  std::vector<std::string> arguments = {options.tools.compile, modelPath, "-o",
                                        path,
                                        "--compile-to=executable-sources"};
  append_range(arguments, iree::allFlags(sets[specBase].flags, options.flags));
  CommandOutcome made =
      start(std::move(arguments), compileLimit(), JobPhase::Compile);
  // Without, each candidate is compiled from the start.
  if (made.outcome == Outcome::Ok && sys::fs::exists(path))
    sources = path;
}
