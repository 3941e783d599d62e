//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Numbers back: a problem with sizes, computed as an expert says, compiled,
// checked and timed.
//
//   auto harness = Harness::create({});
//   auto result = (*harness)->run({*findProblem("matmul"), sizes},
//                                 expert({{"m_tile", 6}}));
//   result->gflops(), result->seconds, result->outcome, ...

#ifndef ATTUNE_HARNESS_HARNESS_H
#define ATTUNE_HARNESS_HARNESS_H

#include "attune/Database/Database.h"
#include "attune/Harness/Expert.h"
#include "attune/Harness/Problem.h"
#include "attune/Schedule/Target.h"
#include "attune/Search/Searcher.h"
#include "attune/Support/Outcome.h"
#include <functional>
#include <memory>

namespace attune {

/// Where candidates are compiled and run.
enum class Isolation {
  Workers,   ///< In processes of their own: a crash is an outcome.
  InProcess, ///< Here: quicker to start and to debug; a crash is yours.
};

struct HarnessOptions {
  /// The installed `attune`, whose workers compile and run; empty: the one
  /// beside this executable, or what $ATTUNE names. Given, it becomes $ATTUNE.
  std::string attune = "";
  int threads = 1; ///< Of compiled programs.
  Isolation isolation = Isolation::Workers;
  Target target = Target::host();
  uint64_t seed = 0; ///< Of input values.
  /// For intermediate files; empty: a temporary folder, removed at the end.
  std::string workFolder = "";
  /// Gets a folder for each failure with all that repeats it (docs: README in
  /// it); empty: nothing is saved.
  std::string reproducerFolder = "";
  uint64_t memoryBytes = 4ull << 30; ///< Of the compiler, and of a run.
};

/// How a case is run.
struct RunOptions {
  unsigned iterations = 100;  ///< Timed samples. 0: compile and check only.
  double timeoutSeconds = 60; ///< Of the run with its checks and iterations.
  double compileTimeoutSeconds = 60;
  /// Results are compared with `references`, or with those of plain loops.
  bool check = true;
  /// Right results, one a result of the problem; empty: made with plain loops.
  std::vector<Tensor> references = {};
  /// Values of the inputs; empty: made from the seed. As long as they are the
  /// same, references are made once.
  std::vector<Tensor> inputs = {};
};

/// What one run gave.
struct HarnessResult {
  std::string problem, label, expert;
  ElementType type = ElementType::F32;
  ProblemSizes sizes; ///< All that can be given, in the problem's order.
  std::vector<std::string> dynamic;
  int threads = 1;
  /// Of the expert; empty where it could not be told.
  Configuration configuration;

  Outcome outcome = Outcome::Ok;
  std::string reason; ///< One line, when not ok.
  std::string detail; ///< What the processes printed.
  /// The folder that repeats the failure; empty: none was saved.
  std::string reproducer;

  bool checked = false;          ///< Against references.
  std::vector<double> maxErrors; ///< One a result, when checked.

  double flops = 0, bytes = 0; ///< Of one run.
  std::vector<double> seconds; ///< Of one run, every iteration.
  double compileSeconds = 0;

  bool ok() const { return outcome == Outcome::Ok; }
  /// The time that `percent` of the iterations were slower than: 0 the slowest,
  /// 50 the median, 100 the fastest. 0 without times. Linear between samples.
  double secondsAt(double percent) const;
  /// At the median by default.
  double gflops(double percent = 50) const;
  double gbytes(double percent = 50) const;
};

/// slowest, p1, p10, p25, p50, p75, p90, p99, fastest, with their percents.
const std::vector<std::pair<std::string, double>> &resultQuantiles();

/// docs/commands/harness.md, results, version 1.
llvm::json::Object toJSON(const HarnessResult &result);
std::string toJSONText(llvm::ArrayRef<HarnessResult> results);
/// One row each, a header first; knobs in one column.
std::string toCSV(llvm::ArrayRef<HarnessResult> results);
/// For a terminal.
std::string toTable(llvm::ArrayRef<HarnessResult> results);

/// What the compiler made of a case.
struct HarnessDumps {
  Outcome outcome =
      Outcome::Ok; ///< Of compiling; the rest is as far as it got.
  std::string reason;
  std::vector<std::pair<std::string, std::string>> stages; ///< Name, MLIR.
  std::string assembly; ///< Of the dispatches' objects.
  std::string object;   ///< Path of the (first) object; in the work folder.
  std::string hotLoop;  ///< The innermost loop, as assembly; empty: none.
  std::string mca;      ///< llvm-mca's summary of it; empty: none.
};

/// The space of an expert for a case.
struct ExpertSpace {
  Space space;
  Configuration defaultConfiguration;
  std::string version; ///< Changes when the schedule does.
};

/// One search.
struct HarnessTuning {
  std::vector<HarnessResult> results; ///< In the order of evaluation.
  std::optional<size_t> best;         ///< Of results, by median time.
  size_t reused = 0;                  ///< Trials the database had.
};

/// Compiles and runs cases; keeps workers, inputs and references between calls.
/// Belongs to one thread at a time.
class Harness {
public:
  static llvm::Expected<std::unique_ptr<Harness>>
  create(HarnessOptions options);
  ~Harness();

  /// What a candidate does wrong is in the result. An error is a case or expert
  /// that makes no sense: sizes, an unknown knob, a value outside its domain,
  /// an expert that does not fit the problem, a machine without the tools.
  llvm::Expected<HarnessResult> run(const ProblemCase &problemCase,
                                    const ExpertValues &expert,
                                    const RunOptions &options = {});
  /// The same without an expert: what Attune does untuned.
  llvm::Expected<HarnessResult> runUntuned(const ProblemCase &problemCase,
                                           const RunOptions &options = {});

  /// Every case with every expert; `each` is told every result (returns false:
  /// stop). An expert that does not fit a case is a result: rejected.
  llvm::Expected<std::vector<HarnessResult>>
  sweep(llvm::ArrayRef<ProblemCase> cases, llvm::ArrayRef<ExpertValues> experts,
        const RunOptions &options = {},
        const std::function<bool(const HarnessResult &)> &each = nullptr);

  llvm::Expected<ExpertSpace> space(const ProblemCase &problemCase,
                                    const Expert &expert);

  /// Asks `searcher` (over `space`), runs, and tells it, `evaluations` times or
  /// until it asks no more. With a database every trial is in it before the
  /// next one starts, and what it knows of this case is told first.
  llvm::Expected<HarnessTuning>
  tune(const ProblemCase &problemCase, const Expert &expert, Searcher &searcher,
       size_t evaluations, const RunOptions &options = {},
       Database *database = nullptr,
       const std::function<bool(const HarnessResult &)> &each = nullptr);

  llvm::Expected<HarnessDumps> dump(const ProblemCase &problemCase,
                                    const ExpertValues &expert);

  /// Results of plain loops for these inputs: the reference.
  llvm::Expected<std::vector<Tensor>>
  computeReference(const ProblemCase &problemCase,
                   const std::vector<Tensor> &inputs);

private:
  struct Impl;
  explicit Harness(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace attune

#endif // ATTUNE_HARNESS_HARNESS_H
