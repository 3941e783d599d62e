//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Dispatches as programs of their own, with values for their inputs.

#include "Commands.h"

#include "attune/Support/Error.h"

using namespace llvm;

namespace attune::cli {

Error captureInputs(LoadedModel &loaded, const ModelFlags &model,
                    StringRef folder, function_ref<Error(StringRef)> afterRun) {
  if (Error error = createFolder(folder))
    return error;
  auto library = loaded.backend->buildProgram(Build::Capture);
  if (!library)
    return library.takeError();
  auto runner = findRunner();
  if (!runner)
    return runner.takeError();
  LocalExecutor executor(*runner, {"ATTUNE_CAPTURE=" + folder.str()});
  for (const EntrySignature &entry : loaded.backend->signatures()) {
    auto sets = makeInputs(entry, model.inputs, model.seed);
    if (!sets)
      return sets.takeError();
    for (const InputSet &set : *sets) {
      auto inputs = writeTensors(set.tensors, loaded.work.getPath(), "capture");
      if (!inputs)
        return inputs.takeError();
      RunJob job;
      job.library = *library;
      job.entry = entry.name;
      job.inputs = *inputs;
      job.threads = loaded.threads;
      Limits limits;
      limits.wallSeconds = 3600;
      auto result = executor.run(job, limits);
      if (!result)
        return result.takeError();
      if (result->outcome != Outcome::Ok)
        return makeError("capturing inputs: {0}", result->reason);
      if (afterRun)
        if (Error error = afterRun(entry.name))
          return error;
    }
  }
  return Error::success();
}

bool needsCapture(const BackendDispatch &dispatch) {
  return any_of(dispatch.inputs, [](const TensorType &type) {
    return !isFloat(type.type) || !type.isStatic() || type.shape.empty();
  });
}

/// What an input gets: the captured values, random ones of the captured shape,
/// or nothing (random when it is tuned).
static Error writeInput(const TensorType &type, StringRef captured,
                        StringRef path, bool asCaptured, uint64_t seed) {
  auto tensor = readNpy(captured);
  if (!tensor)
    return tensor.takeError();
  auto typed = reinterpretAs(std::move(*tensor), type.type);
  if (!typed)
    return typed.takeError();
  if (!asCaptured && isFloat(type.type) && !typed->shape.empty())
    *typed = makeRandom(type.type, typed->shape, seed);
  return writeNpy(path, *typed);
}

Expected<json::Object> dumpWithInputs(LoadedModel &loaded,
                                      const BackendDispatch &dispatch,
                                      StringRef folder, StringRef captures,
                                      bool asCaptured, uint64_t seed) {
  std::vector<std::string> files;
  json::Array inputs;
  for (auto [index, type] : enumerate(dispatch.inputs)) {
    bool isRandom = isFloat(type.type) && !type.shape.empty() && !asCaptured;
    bool isFile = !captures.empty() && (!isRandom || !type.isStatic());
    files.push_back(
        isFile ? formatv("{0}.in{1}.npy", dispatch.name, index).str() : "");
    if (isFile)
      if (Error error = writeInput(
              type,
              formatv("{0}/d{1}.a{2}.npy", captures, dispatch.number, index)
                  .str(),
              (folder + "/" + files.back()).str(), asCaptured, seed + index))
        return std::move(error);
    inputs.push_back(json::Object{
        {"type", toString(type)},
        {"file", isFile ? json::Value(files.back()) : json::Value(nullptr)},
        {"values", isRandom ? "random"
                   : isFile ? "captured"
                            : "random"},
        {"isConstant", bool(dispatch.isConstant[index])}});
  }
  std::string file = dispatch.name + ".mlir";
  if (Error error = loaded.backend->dumpDispatch(
          dispatch, (folder + "/" + file).str(), files))
    return std::move(error);
  return json::Object{{"name", dispatch.name},
                      {"file", file},
                      {"fingerprint", dispatch.fingerprint},
                      {"rootOp", dispatch.rootOp},
                      {"shapes", dispatch.shapes},
                      {"location", dispatch.location},
                      {"inputs", std::move(inputs)}};
}

} // namespace attune::cli
