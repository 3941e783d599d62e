//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Support/Error.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct CompileFlags {
  ModelFlags model;
  std::string spec, output;
  bool requireSpec = false;
};

Error compile(const CompileFlags &flags) {
  Spec spec;
  if (!flags.spec.empty()) {
    auto read = readSpec(flags.spec);
    if (!read)
      return read.takeError();
    spec = std::move(*read);
  }
  auto loaded = loadModel(flags.model);
  if (!loaded)
    return loaded.takeError();
  printNotes(loaded->backend->notes());
  ApplyResult applied;
  SmallString<256> output(flags.output);
  if (std::error_code code = sys::fs::make_absolute(output))
    return makeError("{0}: {1}", flags.output, code.message());
  auto library = loaded->backend->buildTuned(spec, applied, output);
  if (!library)
    return library.takeError();
  if (!flags.spec.empty()) {
    if (Error error = verifyInCode(*loaded, *library, "", applied))
      return error;
    applied.print(errs());
  }
  if (flags.requireSpec && !applied.appliedAll()) {
    sys::fs::remove(output);
    return makeError("not every entry of {0} applied (--require-spec)",
                     flags.spec);
  }
  if (flags.model.json) {
    json::Object object = toJSON(applied);
    object["output"] = flags.output;
    outs() << json::Value(std::move(object)) << '\n';
  } else
    outs() << flags.output << '\n';
  return Error::success();
}

} // namespace

void addCompile(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "compile", "compile a program to a shared library with a C interface\n"
                 "  attune compile model.mlir --spec=spec.mlir -o model.so");
  auto flags = std::make_shared<CompileFlags>();
  flags->model.addTo(*command);
  command->add_option("--spec", flags->spec, "configurations to apply");
  command->add_flag("--require-spec", flags->requireSpec,
                    "fail when an entry of the spec does not apply");
  command->add_option("-o,--output", flags->output, "the library to write")
      ->required();
  command->callback(
      [&chosen, flags] { chosen = [flags] { return compile(*flags); }; });
}

} // namespace attune::cli
