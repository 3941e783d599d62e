//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Support/Error.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct DispatchFlags {
  ModelFlags model;
  std::string dumpTo;
};

json::Object toJSON(const BackendDispatch &dispatch) {
  json::Array inputs, outputs;
  for (const TensorType &type : dispatch.inputs)
    inputs.push_back(toString(type));
  for (const TensorType &type : dispatch.outputs)
    outputs.push_back(toString(type));
  return json::Object{
      {"name", dispatch.name},        {"fingerprint", dispatch.fingerprint},
      {"rootOp", dispatch.rootOp},    {"shapes", dispatch.shapes},
      {"count", dispatch.calls},      {"inputs", std::move(inputs)},
      {"outputs", std::move(outputs)}};
}

Error list(const DispatchFlags &flags) {
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  json::Array rows;
  if (!flags.model.json)
    outs() << formatv("{0,-44} {1,-12} {2,-28} {3,5}\n", "dispatch", "root op",
                      "shape", "calls");
  for (const BackendDispatch &dispatch : loaded->backend->dispatches()) {
    if (!flags.dumpTo.empty()) {
      if (Error error = createFolder(flags.dumpTo))
        return error;
      std::string path = flags.dumpTo + "/" + dispatch.name + ".mlir";
      if (Error error = loaded->backend->dumpDispatch(dispatch, path))
        errs() << "warning: " << toString(std::move(error)) << '\n';
    }
    if (flags.model.json)
      rows.push_back(toJSON(dispatch));
    else
      outs() << formatv("{0,-44} {1,-12} {2,-28} {3,5}\n", dispatch.name,
                        dispatch.rootOp, dispatch.shapes, dispatch.calls);
  }
  if (flags.model.json)
    outs() << json::Value(
                  json::Object{{"version", 1}, {"dispatches", std::move(rows)}})
           << '\n';
  return Error::success();
}

} // namespace

void addDispatches(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "dispatches", "list the dispatches of a program\n"
                    "  attune dispatches model.mlir --dump-to=dispatches/");
  auto flags = std::make_shared<DispatchFlags>();
  flags->model.addTo(*command);
  command->add_option("--dump-to", flags->dumpTo,
                      "write each as a program of its own into this folder");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return list(*flags); }; });
}

} // namespace attune::cli
