//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Flags.h"

#include "attune/Support/Error.h"
#include "attune/Support/Subprocess.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct RecordFlags {
  std::string output = "attune-flags.json";
  std::vector<std::string> command;
};

/// The first line that has a digit of what `program --version` says; empty if
/// it says nothing of the kind.
std::string askVersion(const std::string &program) {
  ProcessOptions options;
  options.arguments = {program, "--version"};
  auto result = runProcess(options, 20);
  if (!result) {
    consumeError(result.takeError());
    return "";
  }
  for (StringRef line : llvm::split(result->output, '\n'))
    if (line.find_first_of("0123456789") != StringRef::npos)
      return line.trim().take_front(200).str();
  return "";
}

Error record(const RecordFlags &flags) {
  auto program = sys::findProgramByName(flags.command.front());
  if (!program)
    return makeError("{0}: no such program", flags.command.front());
  RecordedCommand recorded = describeCommand(flags.command);
  CommandMeaning meaning = interpret(recorded);
  if (!meaning.tool.empty() && meaning.tool != "attune")
    recorded.versions[meaning.tool] = askVersion(*program);
  SmallVector<StringRef> arguments(flags.command.begin(), flags.command.end());
  std::string message;
  recorded.status = sys::ExecuteAndWait(*program, arguments, std::nullopt, {},
                                        0, 0, &message);
  if (recorded.status < 0)
    return makeError("{0}: {1}; nothing was recorded", flags.command.front(),
                     message.empty() ? "it could not be run" : message);
  // A command that failed would fail again.
  if (recorded.status != 0)
    return makeError("{0} ended with {1}; nothing was recorded",
                     flags.command.front(), recorded.status);
  if (Error error = appendToFlagFile(flags.output, recorded))
    return error;
  errs() << "recorded in " << flags.output
         << (meaning.tool.empty() ? " (a tool that Attune does not know: only "
                                    "the command is kept)\n"
                                  : "\n");
  return Error::success();
}

} // namespace

void addRecord(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "record", "run a command and keep how, to tune it later\n"
                "  attune record -- iree-run-module --module=m.vmfb "
                "--input=@x.npy");
  auto flags = std::make_shared<RecordFlags>();
  command->add_option("-o,--output", flags->output,
                      "flag file; a command is added to those in it (default: "
                      "attune-flags.json)");
  command->add_option("COMMAND", flags->command, "the command, after --")
      ->required();
  command->positionals_at_end();
  command->callback(
      [&chosen, flags] { chosen = [flags] { return record(*flags); }; });
}

} // namespace attune::cli
