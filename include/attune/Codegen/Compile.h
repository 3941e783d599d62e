//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// From a program to a shared library with the C interface of
// attune/Runtime/program.h. The stages are those of docs/architecture.md.

#ifndef ATTUNE_CODEGEN_COMPILE_H
#define ATTUNE_CODEGEN_COMPILE_H

#include "attune/Import/Program.h"
#include "attune/Schedule/Library.h"
#include "attune/Schedule/Target.h"
#include <functional>
#include <string>

namespace attune {

struct CodegenOptions {
  Target target;
  /// Threads that parallel loops use; 1 makes code without OpenMP.
  int threads = 1;
  /// Schedules for dispatches, loaded into the program's context; null: every
  /// dispatch becomes loops. A dispatch without `attune.config` gets the
  /// default configuration of the first schedule that fits and compiles.
  const ScheduleLibrary *library = nullptr;
  /// Plain loops at -O2 without contraction or reassociation, floating-point
  /// reductions accumulated in a wider type: what other code is compared with.
  bool reference = false;
  /// The first inputs of every dispatch are handed to the runtime, which writes
  /// them as .npy files `d<dispatch>.a<argument>.npy` to the folder in the
  /// environment variable ATTUNE_CAPTURE.
  bool capture = false;
  /// Names of dispatches that get no schedule unless they are configured.
  std::vector<std::string> asLoops;
  /// Folder in which objects of dispatches are kept by content; empty: none.
  std::string cacheFolder;
  /// Called with a stage's name and the module after it. Unless it is set, the
  /// environment variable ATTUNE_DUMP_IR=FOLDER writes all stages to files.
  std::function<void(llvm::StringRef, mlir::Operation *)> afterStage;
};

/// Where the tools and libraries are that a compiled library needs.
struct Toolchain {
  std::string linker;  ///< ld.lld
  std::string runtime; ///< libattune_rt.a
  std::string openmp;  ///< libomp.so

  /// Looks beside this executable (build and install tree) and in LLVM's
  /// folders; an error names what is missing and the package that has it.
  static llvm::Expected<Toolchain> find(int threads);
};

/// Compiles every `parts`-th dispatch, from number `part` on, into the cache
/// folder, and makes no library: several processes share the work so, and
/// compileProgram finds the objects.
llvm::Error compileDispatches(Program &program, const CodegenOptions &options,
                              int64_t part, int64_t parts);

/// Compiles an imported or dispatched program. `program` is consumed: its
/// module is lowered in place. The library is written under a temporary name
/// first. Errors are one line; what MLIR had to say is in the line.
llvm::Error compileProgram(Program &program, const CodegenOptions &options,
                           llvm::StringRef outputPath);

} // namespace attune

#endif // ATTUNE_CODEGEN_COMPILE_H
