//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What tuning commands and tuning with IREE begin with.

#include "Tune.h"

#include "attune/Support/Error.h"

using namespace llvm;

namespace attune::cli {

Expected<Workplace> makeWorkplace(const TuneFlags &flags) {
  auto work = TemporaryFolder::create();
  if (!work)
    return work.takeError();
  auto target = Target::forCPU("host");
  if (!target)
    return target.takeError();
  int threads = flags.model.threads ? flags.model.threads : target->cores;
  return Workplace{std::move(*work), std::move(*target), threads};
}

Error refuseGiven(ArrayRef<std::pair<bool, StringRef>> flags,
                  StringRef reason) {
  for (auto [isGiven, name] : flags)
    if (isGiven)
      return makeError("{0} {1}", name, reason);
  return Error::success();
}

} // namespace attune::cli
