//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// All that repeats a failure, in a folder.

#include "HarnessImpl.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"

using namespace llvm;

namespace attune {

static std::string describeValues(const ExpertValues &expert) {
  return join(map_range(expert.values,
                        [](const auto &value) {
                          return value.first + "=" + toString(value.second);
                        }),
              ";");
}

/// As a shell reads it back.
static std::string quote(StringRef text) {
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

static std::string commandFor(const ProblemCase &problemCase,
                              const ExpertValues *expert,
                              const RunOptions &options,
                              const HarnessOptions &harness) {
  std::string command = "attune harness problem.json --sizes=" +
                        quote(toString(problemCase.sizes));
  if (!problemCase.dynamic.empty())
    command += " --dynamic=" + quote(join(problemCase.dynamic, ","));
  if (expert) {
    command += " --expert=" + expert->expert.getName() + ".mlir";
    if (!expert->values.empty())
      command += " --set=" + quote(describeValues(*expert));
  } else {
    command += " --untuned";
  }
  command += formatv(" --iterations={0} --timeout={1} --compile-timeout={2} "
                     "--threads={3} --seed={4}",
                     options.iterations, format("%g", options.timeoutSeconds),
                     format("%g", options.compileTimeoutSeconds),
                     harness.threads, harness.seed);
  if (!options.check)
    command += " --no-check";
  return command;
}

/// A folder that is not there yet: `matmul-packed-3`.
static Expected<std::string> newFolder(StringRef parent, const Twine &stem) {
  for (int number = 1;; ++number) {
    std::string path = (parent + "/" + stem + "-" + Twine(number)).str();
    if (sys::fs::exists(path))
      continue;
    if (Error error = createFolder(path))
      return std::move(error);
    return path;
  }
}

Error Harness::Impl::saveReproducer(const ProblemCase &problemCase,
                                    const ExpertValues *expert,
                                    const RunOptions &runOptions,
                                    HarnessResult &result) {
  if (options.reproducerFolder.empty())
    return Error::success();
  auto folder =
      newFolder(options.reproducerFolder,
                Twine(result.problem) + "-" +
                    (result.expert.empty() ? "untuned" : result.expert) + "-" +
                    toString(result.outcome));
  if (!folder)
    return folder.takeError();
  auto module = buildModule(problemCase);
  if (!module)
    return module.takeError();
  std::string command = commandFor(problemCase, expert, runOptions, options);
  std::string values = !runOptions.inputs.empty()
                           ? "The inputs were the caller's own; the command "
                             "makes others.\n"
                           : "";
  std::string readme =
      formatv("{0}: {1}\n\nIn this folder:\n\n  {2}\n\n{3}problem.mlir is the "
              "module, detail.txt what the processes printed.\n",
              toString(result.outcome), result.reason, command, values);
  json::Value json(toJSON(problemCase.problem));
  json::Value row(toJSON(result));
  for (auto [name, text] : {std::pair("README", readme),
                            {"command.sh", command + "\n"},
                            {"problem.mlir", *module},
                            {"problem.json", formatv("{0:2}\n", json).str()},
                            {"result.json", formatv("{0:2}\n", row).str()},
                            {"detail.txt", result.detail}})
    if (Error error = writeFile(*folder + "/" + name, text))
      return error;
  if (expert)
    if (Error error = expert->expert.write(*folder))
      return error;
  result.reproducer = *folder;
  return Error::success();
}

} // namespace attune
