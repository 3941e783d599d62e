//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Sizes that dispatches of open shapes were called with.

#include "Formats.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"

#include "llvm/ADT/StringExtras.h"

using namespace attune;
using llvm::StringRef;

llvm::Expected<std::vector<SizedCalls>>
attune::readSizes(StringRef path,
                  llvm::function_ref<bool(int64_t, int64_t)> isOpen) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  std::vector<SizedCalls> calls;
  int64_t lastDispatch = -1, lastArgument = -1;
  for (StringRef line : llvm::split(StringRef(*text).trim(), '\n')) {
    if (line.empty())
      continue;
    auto [dispatchText, rest] = line.split(' ');
    auto [argumentText, sizes] = rest.split(' ');
    int64_t dispatch = 0, argument = 0;
    if (dispatchText.getAsInteger(10, dispatch) ||
        argumentText.getAsInteger(10, argument))
      return makeError("{0}: not sizes of a call: {1}", path, line);
    // Arguments of a call come in order.
    bool isNewCall = dispatch != lastDispatch || argument <= lastArgument;
    lastDispatch = dispatch;
    lastArgument = argument;
    if (isNewCall)
      calls.push_back({dispatch, ""});
    if (!isOpen(dispatch, argument))
      continue;
    std::string &all = calls.back().sizes;
    all += (all.empty() ? "" : ", ") + sizes.str();
  }
  llvm::erase_if(calls,
                 [](const SizedCalls &call) { return call.sizes.empty(); });
  return calls;
}

void attune::addSizes(Profile &profile, StringRef entry,
                      llvm::ArrayRef<DispatchFacts> facts,
                      llvm::ArrayRef<SizedCalls> calls) {
  for (const SizedCalls &call : calls) {
    if (call.dispatch < 0 ||
        call.dispatch >= static_cast<int64_t>(facts.size()))
      continue;
    const DispatchFacts &fact = facts[call.dispatch];
    attune::profile::rowOf(profile, {fact.name, fact.fingerprint, fact.rootOp,
                                     fact.shapes, fact.location, entry.str()})
        .sizes[call.sizes] += 1;
  }
}

std::string profile::describeSizes(const ProfileRow &row) {
  std::string text;
  for (const auto &[sizes, calls] : row.sizes)
    text += llvm::formatv("{0}{1} ({2})", text.empty() ? "" : "; ", sizes,
                          llvm::formatv("{0:f0}", calls).str())
                .str();
  return text;
}
