//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Database/Commands.h"

#include "llvm/Support/raw_ostream.h"

namespace attune::cli {
namespace {

struct DatabaseFlags {
  std::string file, from;
  std::vector<std::string> others;
  bool json = false;

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
}

} // namespace attune::cli
