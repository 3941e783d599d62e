//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The file of the command backend: knobs and constraints, how a candidate is
// built and run, where its time is read, and what is right. The format is
// docs/command-backend.md. Errors are one line that begins with the file.

#ifndef ATTUNE_BACKEND_COMMANDFILE_H
#define ATTUNE_BACKEND_COMMANDFILE_H

#include "attune/Space/Space.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>
#include <vector>

namespace attune {

/// A text with `{knob}` in it; `{{` and `}}` are braces.
class Template {
public:
  /// `known`: what may stand in braces.
  static llvm::Expected<Template> parse(llvm::StringRef text,
                                        llvm::ArrayRef<std::string> known);

  /// A name without a value (a knob that does not exist here) is nothing.
  std::string fill(const llvm::StringMap<std::string> &values) const;
  bool isConstant() const;

private:
  struct Part {
    std::string text;
    bool isName = false;
  };
  std::vector<Part> parts;
};

/// A program and its arguments; no shell reads them. What becomes empty is left
/// out, so that a choice can be "no such argument".
struct CommandLine {
  std::vector<Template> arguments;
  std::vector<std::string>
  fill(const llvm::StringMap<std::string> &values) const;
};

/// A regular expression with one group, looked for in the lines of an output;
/// the last line that matches counts. POSIX extended, and `\d \s \w (?:`.
class LinePattern {
public:
  static llvm::Expected<LinePattern> parse(llvm::StringRef pattern);
  std::optional<std::string> find(llvm::StringRef output) const;
  /// `seconds` of `(?<seconds>...)`; empty: the group has no name.
  const std::string &getName() const { return name; }

private:
  std::string posix, name;
  unsigned group = 1;
};

/// Where the time of a run is.
struct Metric {
  enum class Kind { WallSeconds, CpuSeconds, Pattern, Field };
  Kind kind = Kind::WallSeconds;
  std::optional<LinePattern> pattern;
  std::string field; ///< `times.kernel`: members of the JSON in the output.
  double scale = 1;  ///< Seconds of one unit; of rates: operations of a unit.
  bool isRate = false;
  double operations = 1e9; ///< Of a run, for rates.

  /// Seconds, finite and positive, or what is wrong with the output.
  llvm::Expected<double> read(llvm::StringRef output, double wallSeconds,
                              double cpuSeconds) const;
};

struct CommandFile {
  std::string path;   ///< As given.
  std::string folder; ///< Absolute; `{source}`.
  std::string name;
  Space space;
  Configuration defaults; ///< In the space.
  CommandLine build;      ///< No arguments: nothing is built.
  CommandLine run;
  CommandLine check; ///< Exit status 0 is right; no arguments: none.
  std::vector<std::pair<std::string, Template>> environment;
  Metric metric;
  std::vector<std::string> expected; ///< Lines that the output has.
  /// What it finds is the same as in the output of the defaults.
  std::optional<LinePattern> same;
  double limitSeconds = 60;      ///< Of one run.
  double buildLimitSeconds = 60; ///< Of one build.
  uint64_t limitBytes = 8ull << 30;
  /// Of all that decides what a configuration takes: commands, defaults, and
  /// the files and programs that they name.
  std::string fingerprint;

  /// The names in braces and their texts.
  llvm::StringMap<std::string> valuesOf(const Configuration &configuration,
                                        llvm::StringRef workFolder,
                                        int threads) const;
};

llvm::Expected<CommandFile> readCommandFile(llvm::StringRef path);

/// As a person types it into a shell.
std::string quoteForShell(llvm::ArrayRef<std::string> arguments);

} // namespace attune

#endif // ATTUNE_BACKEND_COMMANDFILE_H
