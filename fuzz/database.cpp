//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `attune db import` of a stranger's lines. What is taken is sound, and the
// same when it is exported and imported again.

#include "attune/Database/Database.h"
#include "Fuzz.h"

using namespace attune;
using namespace attune::fuzz;

static Database makeDatabase() {
  return mustWork(Database::inMemory(), "a database in memory");
}

static std::string exported(const Database &database) {
  std::string text;
  auto keep = [&](llvm::StringRef line) {
    text += line.str() + "\n";
    return llvm::Error::success();
  };
  if (llvm::Error error = database.exportLines(keep))
    require(false, "export: " + llvm::toString(std::move(error)));
  return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Database database = makeDatabase();
  if (!accept(database.importLines(textOf(data, size), "lines.jsonl")))
    return 0;
  auto problems = mustWork(database.check(), "check");
  require(problems.empty(), problems.empty() ? "" : "check: " + problems[0]);
  mustWork(database.summarize(), "summary");
  mustWork(database.summarizeDispatches(), "dispatches");
  mustWork(database.sessions(), "sessions");
  std::string lines = exported(database);
  Database copy = makeDatabase();
  mustWork(copy.importLines(lines, "exported.jsonl"), "own export");
  require(exported(copy) == lines, "an export changes: " + lines);
  return 0;
}
