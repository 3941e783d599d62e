//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// `attune doctor`: is this machine fit for tuning?

#ifndef ATTUNE_REPORT_DOCTOR_H
#define ATTUNE_REPORT_DOCTOR_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace attune {

/// One thing that was looked at.
struct Finding {
  enum class Status {
    Ok,
    Warn,  ///< Tuning works, but slower or with more noise.
    Error, ///< Tuning does not work.
  };
  std::string name; ///< `lld`, `governor`: stable, for programs.
  Status status = Status::Ok;
  std::string found;  ///< What is there: `LLD 22.1.0 (/usr/lib/...)`.
  std::string advice; ///< What to do; empty when ok.
};

struct DoctorOptions {
  /// Put before /proc, /sys, /dev and /etc: tests give a made-up machine.
  std::string root;
  /// Folders with LLVM's tools, looked in before PATH. Empty: the one that
  /// Attune was built with.
  std::vector<std::string> toolFolders;
  /// Where results would be written.
  std::string resultFolder = ".";
  /// How long steal time is watched.
  double watchSeconds = 0.2;
};

std::vector<Finding> examineMachine(const DoctorOptions &options = {});

enum class DoctorFormat { Text, Json };

/// Examines, prints a line each; returns the exit status: 1 if there is an
/// error, 0 otherwise (warnings do not count).
int runDoctor(const DoctorOptions &options, DoctorFormat format,
              llvm::raw_ostream &out);
/// The same for findings that are there already.
int printFindings(const std::vector<Finding> &findings, DoctorFormat format,
                  llvm::raw_ostream &out);

} // namespace attune

#endif // ATTUNE_REPORT_DOCTOR_H
