//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Program-level flags: a small space that is measured whole, before specs.

#include "IreeImpl.h"

#include "attune/Measure/Statistics.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace attune;

std::vector<IreeFlagSet> attune::ireeFlagSets() {
  const std::string level = "--iree-opt-level=O3",
                    tiling = "--iree-opt-data-tiling";
  return {{{level}},
          {{"--iree-opt-level=O1"}},
          {{level, "--iree-dispatch-creation-enable-aggressive-fusion"}},
          {{level, tiling}, /*takesSpecs=*/false},
          {{level, tiling, "--iree-llvmcpu-enable-ukernels=all"},
           /*takesSpecs=*/false}};
}

std::vector<std::string> iree::allFlags(ArrayRef<std::string> chosen,
                                        ArrayRef<std::string> user) {
  std::vector<std::string> flags;
  bool hasTarget = any_of(user, [](StringRef flag) {
    return flag.contains("-target-device") || flag.contains("-target-backend");
  });
  if (!hasTarget)
    flags = {"--iree-hal-target-device=local",
             "--iree-hal-local-target-device-backends=llvm-cpu"};
  if (!any_of(user, [](StringRef flag) {
        return flag.starts_with("--iree-llvmcpu-target-cpu");
      }))
    flags.push_back("--iree-llvmcpu-target-cpu=host");
  flags.push_back("--mlir-disable-threading");
  append_range(flags, chosen);
  append_range(flags, user);
  return flags;
}

std::string IreeBackend::Impl::choiceKey() const {
  std::string key = text + options.tools.version + entry.name +
                    join(options.flags, " ") + std::to_string(options.threads);
  for (const std::string &file : inputFiles) {
    auto hash = hashFileHex(file);
    key += hash ? *hash : llvm::toString(hash.takeError());
  }
  return hashHex(key);
}

/// A session that goes on must come to the same flags: its trials are of them.
bool IreeBackend::Impl::readChoice() {
  auto file = readFile(options.choiceFile);
  if (!file) {
    consumeError(file.takeError()); // The first session here.
    return false;
  }
  auto json = parseJson(*file);
  if (!json) {
    consumeError(json.takeError());
    return false;
  }
  const json::Object *object = json->getAsObject();
  if (!object || object->getInteger("version") != 1 ||
      object->getString("key") != choiceKey())
    return false;
  auto bestRead = object->getInteger("best"),
       baseRead = object->getInteger("specBase");
  const json::Array *seconds = object->getArray("seconds");
  int64_t count = sets.size();
  if (!bestRead || !baseRead || !seconds || *bestRead < 0 ||
      *bestRead >= count || *baseRead < 0 || *baseRead >= count ||
      static_cast<int64_t>(seconds->size()) != count)
    return false;
  best = *bestRead;
  specBase = *baseRead;
  for (auto [value, mine] : zip_equal(*seconds, setSeconds))
    mine = value.getAsNumber().value_or(0);
  return true;
}

Error IreeBackend::Impl::writeChoice() const {
  if (options.choiceFile.empty())
    return Error::success();
  json::Value file = json::Object{{"version", 1},
                                  {"key", choiceKey()},
                                  {"best", static_cast<int64_t>(best)},
                                  {"specBase", static_cast<int64_t>(specBase)},
                                  {"seconds", json::Array(setSeconds)}};
  return writeFile(options.choiceFile, formatv("{0:2}\n", file).str());
}

/// What the program gives with the default flags is what others must give.
Error IreeBackend::Impl::makeReferences() {
  std::vector<std::string> files;
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    files.push_back(newPath("-reference.npy"));
  CommandOutcome ran = run(libraries[0], files, 1800);
  if (ran.outcome != Outcome::Ok)
    return makeError("{0}: iree-run-module: {1}", options.model, ran.reason);
  for (auto [file, value] : zip_equal(files, entry.outputs)) {
    auto tensor = readNpy(file);
    if (!tensor)
      return tensor.takeError();
    auto typed = reinterpretAs(std::move(*tensor), value.type.type);
    if (!typed)
      return typed.takeError();
    // Sums of a program follow one another; their lengths are not known yet.
    tolerances.push_back(toleranceFor(value.type.type, 4096, *typed));
    references.push_back(std::move(*typed));
  }
  return Error::success();
}

/// Interleaved, so that what else the machine does hits all of them.
static void measureSets(IreeBackend::Impl &impl) {
  std::vector<std::vector<double>> seconds(impl.sets.size());
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < impl.sets.size(); ++i) {
      if (impl.libraries[i].empty())
        continue;
      double value = 0;
      CommandOutcome timed = impl.time(impl.libraries[i], 0.1, 600, value);
      if (timed.outcome == Outcome::Ok)
        seconds[i].push_back(value);
      else
        impl.libraries[i].clear();
    }
  for (size_t i = 0; i < impl.sets.size(); ++i)
    impl.setSeconds[i] = impl.libraries[i].empty() ? 0 : median(seconds[i]);
}

void IreeBackend::Impl::describeFlags() {
  std::vector<std::string> texts;
  for (auto [index, set] : enumerate(sets)) {
    std::string flags = join(set.flags, " ");
    texts.push_back(setSeconds[index] > 0
                        ? formatv("{0}: {1:f3} ms{2}", flags,
                                  1e3 * setSeconds[index],
                                  index == best ? " (best)" : "")
                              .str()
                        : flags + ": failed or wrong");
  }
  noteList.push_back("IREE " + options.tools.version +
                     ", flags without a "
                     "spec: " +
                     join(texts, "; "));
}

Error IreeBackend::Impl::chooseFlags() {
  bool isKnown = readChoice();
  for (auto [index, set] : enumerate(sets)) {
    if (isKnown && index != 0 && index != best && index != specBase)
      continue;
    Compiled compiled = compile(set, "");
    bool isNeeded = index == 0 || isKnown;
    if (compiled.outcome.outcome != Outcome::Ok && isNeeded)
      return makeError("{0}: iree-compile {1}: {2}", options.model,
                       join(set.flags, " "), compiled.outcome.reason);
    libraries[index] = std::move(compiled.library);
    dumps[index] = std::move(compiled.dumps);
    if (index == 0)
      if (Error error = makeReferences())
        return error;
    if (!libraries[index].empty() &&
        check(libraries[index], 600).outcome != Outcome::Ok) {
      if (isNeeded)
        return makeError("{0}: with {1} its results are not those of a run "
                         "before",
                         options.model, join(set.flags, " "));
      libraries[index].clear();
    }
  }
  if (!isKnown) {
    measureSets(*this);
    if (!(setSeconds[0] > 0))
      return makeError("{0}: iree-benchmark-module fails with the default "
                       "flags",
                       options.model);
    for (size_t i = 1; i < sets.size(); ++i) {
      auto isFaster = [&](size_t than) {
        return setSeconds[i] > 0 && setSeconds[i] < setSeconds[than];
      };
      if (isFaster(best))
        best = i;
      if (sets[i].takesSpecs && isFaster(specBase))
        specBase = i;
    }
    if (Error error = writeChoice())
      return error;
  }
  describeFlags();
  return Error::success();
}
