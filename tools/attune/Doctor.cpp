//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Report/Doctor.h"

#include "llvm/Support/raw_ostream.h"

namespace attune::cli {

void addDoctor(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "doctor", "check what this machine has and what disturbs measurements\n"
                "  attune doctor");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "findings as JSON on stdout");
  command->callback([&chosen, json] {
    chosen = [json]() -> llvm::Error {
      int status = runDoctor(
          {}, *json ? DoctorFormat::Json : DoctorFormat::Text, llvm::outs());
      if (status == 0)
        return llvm::Error::success();
      return llvm::make_error<SilentFailure>();
    };
  });
}

} // namespace attune::cli
