//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// attune: tune MLIR programs. See docs/commands.

#include "Commands.h"
#include "Flags.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <new>
#include <unistd.h>

using namespace attune;

char cli::SilentFailure::ID = 0;

/// For commands that have nothing to keep: children end with us (the kernel
/// sees to it), files are written under temporary names.
static void endNow(int signal) {
  static constexpr char message[] = "error: interrupted\n";
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  _exit(128 + signal);
}

/// Nothing that needs memory may follow. What was recorded is on disk, children
/// end with us, and the next run removes our temporary folder.
static void endWithoutMemory() {
  static constexpr char message[] =
      "error: out of memory; what was recorded is kept\n";
  (void)!write(STDERR_FILENO, message, sizeof message - 1);
  _exit(1);
}

static int finish(llvm::Error error) {
  if (!error)
    return 0;
  llvm::handleAllErrors(
      std::move(error), [](const cli::SilentFailure &) {},
      [](const llvm::ErrorInfoBase &info) {
        llvm::errs() << "error: " << info.message() << '\n';
      });
  return 1;
}

/// Of a command that went well.
static llvm::Error saveFlags(const CLI::App &app, int argc, char **argv) {
  const CLI::Option *option =
      app.get_subcommands().front()->get_option_no_throw("--save-flags");
  if (!option || option->count() == 0)
    return llvm::Error::success();
  std::vector<std::string> words = {"attune"};
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef word = argv[i];
    if (word == "--save-flags")
      ++i;
    else if (!word.starts_with("--save-flags="))
      words.push_back(word.str());
  }
  return cli::appendToFlagFile(option->as<std::string>(),
                               cli::describeCommand(std::move(words)));
}

int main(int argc, char **argv) {
  std::set_new_handler(endWithoutMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { endWithoutMemory(); });
  // A write to a closed pipe is an error like others, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, endNow); // attune tune has its own way
  std::signal(SIGTERM, endNow);
  CLI::App app{"Tunes MLIR programs: finds the hot parts, searches their "
               "configurations, checks every result.\n"
               "  attune tune model.mlir"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "attune " ATTUNE_VERSION);
  app.get_formatter()->column_width(34);
  cli::Action chosen;
  cli::addTune(app, chosen);
  cli::addCompile(app, chosen);
  cli::addRun(app, chosen);
  cli::addBench(app, chosen);
  cli::addProfile(app, chosen);
  cli::addDispatches(app, chosen);
  cli::addSpec(app, chosen);
  cli::addMatch(app, chosen);
  cli::addRecord(app, chosen);
  cli::addSpace(app, chosen);
  cli::addReplay(app, chosen);
  cli::addDatabase(app, chosen);
  cli::addHarness(app, chosen);
  cli::addDoctor(app, chosen);
  cli::addWorker(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) {
    return app.exit(request); // --help, --version
  } catch (const CLI::ParseError &error) {
    llvm::StringRef first = argc > 1 ? argv[1] : "";
    bool known = !app.get_subcommands([&](const CLI::App *command) {
                       return command->get_name() == first;
                     })
                      .empty();
    if (first.empty() || known || first.starts_with("-"))
      llvm::errs() << "error: " << error.what();
    else
      llvm::errs() << "error: unknown command " << first;
    llvm::errs() << "; see attune " << (known ? first.str() + " " : "")
                 << "--help\n";
    return 2;
  }
  int status = finish(chosen());
  if (status == 0)
    status = finish(saveFlags(app, argc, argv));
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: standard output: " << llvm::outs().error().message()
                 << '\n';
    llvm::outs().clear_error();
    return 1;
  }
  return status;
}
