//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Database/Commands.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <ctime>

namespace attune::cli {
namespace {

struct DatabaseFlags {
  std::string file, from;
  std::vector<std::string> others;
  std::string before;
  bool outdated = false, json = false;

  db::Format format() const {
    return json ? db::Format::Json : db::Format::Text;
  }
};

using Operation = llvm::Error (*)(const DatabaseFlags &);

CLI::App *add(CLI::App &parent, Action &chosen, const char *name,
              const char *help, std::shared_ptr<DatabaseFlags> flags,
              Operation operation) {
  auto *command = parent.add_subcommand(name, help);
  command->add_option("FILE", flags->file, "trials.db of a result folder")
      ->required();
  command->add_flag("--json", flags->json, "as JSON on stdout");
  command->callback([&chosen, flags, operation] {
    chosen = [flags, operation] { return operation(*flags); };
  });
  return command;
}

/// `30d`, `12h`, `90m`, `30s` before now, in seconds since 1970.
llvm::Expected<double> parseAge(llvm::StringRef text) {
  double seconds = 0;
  llvm::StringRef number = text.drop_back(text.empty() ? 0 : 1);
  double unit = llvm::StringSwitch<double>(text.take_back(1))
                    .Case("d", 86400)
                    .Case("h", 3600)
                    .Case("m", 60)
                    .Case("s", 1)
                    .Default(0);
  if (!unit || number.getAsDouble(seconds) || !std::isfinite(seconds) ||
      seconds < 0)
    return makeError("--before={0}: an age like 30d, 12h or 90m is needed",
                     text);
  return static_cast<double>(std::time(nullptr)) - seconds * unit;
}

llvm::Error prune(const DatabaseFlags &flags) {
  PruneOptions options;
  if (!flags.before.empty()) {
    auto before = parseAge(flags.before);
    if (!before)
      return before.takeError();
    options.before = *before;
  }
  if (flags.outdated)
    options.keepOnly = currentVersions();
  if (!options.before && !options.keepOnly)
    return makeError("say what to remove: --before=30d, --outdated, or both");
  return db::prune(flags.file, options, flags.format(), llvm::outs());
}

} // namespace

void addDatabase(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "db", "look at recorded trials\n  attune db show model.attune/trials.db");
  command->require_subcommand(1);
  auto flags = std::make_shared<DatabaseFlags>();
  add(*command, chosen, "show", "counts, outcomes, the last trial", flags,
      [](const DatabaseFlags &f) {
        return db::show(f.file, f.format(), llvm::outs());
      });
  add(*command, chosen, "list", "sessions and dispatches", flags,
      [](const DatabaseFlags &f) {
        return db::list(f.file, f.format(), llvm::outs());
      });
  add(*command, chosen, "check", "whether the file is sound", flags,
      [](const DatabaseFlags &f) {
        return db::check(f.file, f.format(), llvm::outs());
      });
  add(*command, chosen, "export", "everything as JSON lines on stdout", flags,
      [](const DatabaseFlags &f) {
        return db::exportTo(f.file, llvm::outs());
      });
  add(*command, chosen, "import", "add exported lines", flags,
      [](const DatabaseFlags &f) {
        return db::importFrom(f.file, f.from, f.format(), llvm::outs());
      })
      ->add_option("LINES", flags->from, "exported file, - for standard input")
      ->required();
  add(*command, chosen, "merge", "add other databases", flags,
      [](const DatabaseFlags &f) {
        return db::merge(f.file, f.others, f.format(), llvm::outs());
      })
      ->add_option("OTHERS", flags->others, "databases to add")
      ->required();
  auto *pruning = add(*command, chosen, "prune", "remove trials", flags, prune);
  pruning->add_option("--before", flags->before,
                      "those older than this: 30d, 12h, 90m");
  pruning->add_flag("--outdated", flags->outdated,
                    "those of another version of Attune or of the compiler");
}

} // namespace attune::cli
