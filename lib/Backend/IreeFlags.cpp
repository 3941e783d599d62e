//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Program-level flags: a small space that is measured whole, before specs. Each
// step adds something to the best so far.

#include "IreeImpl.h"

#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include <thread>

using namespace llvm;
using namespace attune;

static constexpr StringLiteral optLevel("--iree-opt-level=O3"),
    fusion("--iree-dispatch-creation-enable-aggressive-fusion"),
    convolutionsAsProducts("--iree-global-opt-use-im2col-for-convs"),
    // Matrices are packed where no matcher finds their products any more, or
    // early enough for specs.
    lateTiling("--iree-opt-data-tiling"),
    earlyTiling("--iree-global-opt-data-tiling"),
    ukernels("--iree-llvmcpu-enable-ukernels=all"),
    tiles1MB("--iree-llvmcpu-matmul-tile-bytes=1048576"),
    tiles4MB("--iree-llvmcpu-matmul-tile-bytes=4194304");

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
  if (!is_contained(user, "--mlir-disable-threading"))
    flags.push_back("--mlir-disable-threading");
  append_range(flags, chosen);
  append_range(flags, user);
  return flags;
}

bool iree::takesSpecs(ArrayRef<std::string> flags) {
  return none_of(flags, [](StringRef flag) {
    return flag.starts_with(lateTiling) ||
           flag.starts_with("--iree-dispatch-creation-data-tiling");
  });
}

//===----------------------------------------------------------------------===//
// What is remembered
//===----------------------------------------------------------------------===//

std::string IreeBackend::Impl::choiceKey() const {
  std::string key = text + options.tools.version + entry.name +
                    join(options.flags, " ") + join(options.runFlags, " ") +
                    userSpecText + std::to_string(options.threads);
  for (const std::string &file : inputFiles) {
    auto hash = hashFileHex(file);
    key += hash ? *hash : llvm::toString(hash.takeError());
  }
  return hashHex(key);
}

static std::optional<iree::FlagSet> readSet(const json::Value &value) {
  iree::FlagSet set;
  const json::Object *object = value.getAsObject();
  const json::Array *flags = object ? object->getArray("flags") : nullptr;
  if (!flags)
    return std::nullopt;
  for (const json::Value &flag : *flags) {
    auto text = flag.getAsString();
    if (!text)
      return std::nullopt;
    set.flags.push_back(text->str());
  }
  set.seconds = object->getNumber("seconds").value_or(0);
  return set;
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
  if (!object || object->getInteger("version") != 2 ||
      object->getString("key") != choiceKey())
    return false;
  auto bestRead = object->getInteger("best"),
       baseRead = object->getInteger("specBase");
  const json::Array *list = object->getArray("sets");
  std::vector<iree::FlagSet> read;
  for (const json::Value &value : list ? *list : json::Array()) {
    auto set = readSet(value);
    if (!set)
      return false;
    read.push_back(std::move(*set));
  }
  int64_t count = read.size();
  if (!bestRead || !baseRead || *bestRead < 0 || *bestRead >= count ||
      *baseRead < 0 || *baseRead >= count)
    return false;
  sets = std::move(read);
  best = *bestRead;
  specBase = *baseRead;
  return true;
}

Error IreeBackend::Impl::writeChoice() const {
  if (options.choiceFile.empty())
    return Error::success();
  json::Array list;
  for (const iree::FlagSet &set : sets)
    list.push_back(json::Object{{"flags", json::Array(set.flags)},
                                {"seconds", set.seconds}});
  json::Value file = json::Object{{"version", 2},
                                  {"key", choiceKey()},
                                  {"best", static_cast<int64_t>(best)},
                                  {"specBase", static_cast<int64_t>(specBase)},
                                  {"sets", std::move(list)}};
  return writeFile(options.choiceFile, formatv("{0:2}\n", file).str());
}

//===----------------------------------------------------------------------===//
// Sets
//===----------------------------------------------------------------------===//

/// What the program gives with the default flags is what others must give.
Error IreeBackend::Impl::makeReferences() {
  std::vector<std::string> files;
  for (size_t i = 0; i < entry.outputs.size(); ++i)
    files.push_back(newPath("-reference.npy"));
  CommandOutcome ran = run(sets[0].library, files, 1800);
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

void IreeBackend::Impl::addSet(ArrayRef<std::string> base,
                               ArrayRef<std::string> added) {
  iree::FlagSet set;
  for (ArrayRef<std::string> flags : {base, added})
    for (StringRef flag : flags) {
      StringRef name = flag.split('=').first;
      bool isUsers = any_of(options.flags, [&](StringRef one) {
        return one.split('=').first == name;
      });
      if (!isUsers)
        set.flags.push_back(flag.str());
    }
  if (none_of(sets, [&](const iree::FlagSet &other) {
        return other.flags == set.flags;
      }))
    sets.push_back(std::move(set));
}

void IreeBackend::Impl::buildSet(iree::FlagSet &set) {
  Compiled compiled = compile(modelPath, set.flags, "", compileLimit());
  if (compiled.outcome.outcome != Outcome::Ok ||
      check(compiled.library, 600).outcome != Outcome::Ok)
    return;
  set.library = std::move(compiled.library);
  set.dumps = std::move(compiled.dumps);
}

void IreeBackend::Impl::buildSets(size_t begin) {
  std::atomic<size_t> next = begin;
  auto work = [&] {
    for (size_t i; (i = next++) < sets.size();)
      buildSet(sets[i]);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(options.builders, sets.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

/// Interleaved, so that what else the machine does hits all of them. One that
/// is far behind after the first round is not measured on.
void IreeBackend::Impl::measureSets(ArrayRef<size_t> which, int rounds) {
  std::vector<std::vector<double>> seconds(sets.size());
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round)
    for (size_t i : which) {
      if (sets[i].library.empty())
        continue;
      if (i != 0 && round > 0 && seconds[i].front() > 2 * least)
        continue;
      double value = 0;
      if (time(sets[i].library, 0.1, 600, value).outcome != Outcome::Ok) {
        sets[i].library.clear();
        continue;
      }
      seconds[i].push_back(value);
      least = std::min(least, value);
    }
  for (size_t i : which)
    sets[i].seconds = sets[i].library.empty() ? 0 : *min_element(seconds[i]);
}

size_t IreeBackend::Impl::fastest(
    function_ref<bool(const iree::FlagSet &)> fits) const {
  size_t found = 0;
  for (auto [index, set] : enumerate(sets))
    if (set.seconds > 0 && fits(set) &&
        (set.seconds < sets[found].seconds || !(sets[found].seconds > 0) ||
         !fits(sets[found])))
      found = index;
  return found;
}

/// Matrix products that are packed are more than half of what makes a program
/// of IREE fast; how else, depends on them.
void IreeBackend::Impl::searchFlags() {
  auto all = [](const iree::FlagSet &) { return true; };
  auto withSpecs = [&](const iree::FlagSet &set) {
    return iree::takesSpecs(set.flags);
  };
  auto isTiled = [](const iree::FlagSet &set) {
    return any_of(set.flags, [](StringRef flag) {
      return flag == lateTiling || flag == earlyTiling;
    });
  };
  auto step = [&](ArrayRef<StringRef> additions, size_t begin) {
    if (interruptRequested() != Interrupt::None)
      return;
    std::vector<std::string> base = sets[best].flags;
    std::vector<size_t> which = {best};
    for (StringRef added : additions)
      addSet(base, added.str());
    buildSets(begin);
    for (size_t i = begin; i < sets.size(); ++i)
      which.push_back(i);
    measureSets(which, 3);
    best = fastest(all);
  };
  addSet({"--iree-opt-level=O1"}, {});
  SmallVector<StringRef> first = {fusion};
  if (StringRef(text).contains_insensitive("conv"))
    first.push_back(convolutionsAsProducts);
  step(first, 1);
  step({lateTiling, earlyTiling}, sets.size());
  if (isTiled(sets[best]))
    step({ukernels, tiles1MB, tiles4MB}, sets.size());
  if (!withSpecs(sets[best])) { // The same so that specs can find something.
    size_t begin = sets.size();
    std::vector<std::string> flags = sets[best].flags;
    for (std::string &flag : flags)
      if (flag == lateTiling)
        flag = earlyTiling.str();
    addSet(flags, {});
    buildSets(begin);
    if (begin < sets.size())
      measureSets({best, begin}, 3);
  }
  // Those that are near to the best again, next to each other.
  std::vector<size_t> order, contenders = {0};
  for (size_t i = 1; i < sets.size(); ++i)
    if (sets[i].seconds > 0)
      order.push_back(i);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return sets[a].seconds < sets[b].seconds;
  });
  for (size_t i : order)
    if (contenders.size() < 5 ||
        i == fastest(withSpecs)) // It is the base of all candidates.
      contenders.push_back(i);
  measureSets(contenders, 5);
  auto isContender = [&](const iree::FlagSet &set) {
    return is_contained(contenders, &set - sets.data());
  };
  best = fastest(isContender);
  specBase = fastest([&](const iree::FlagSet &set) {
    return isContender(set) && withSpecs(set);
  });
}

/// Each library may hold all weights.
void IreeBackend::Impl::dropOthers() {
  for (auto [index, set] : enumerate(sets)) {
    if (index == 0 || index == best || index == specBase)
      continue;
    if (!set.library.empty())
      sys::fs::remove(std::exchange(set.library, ""));
    set.dumps.clear();
  }
}

void IreeBackend::Impl::describeFlags() {
  std::vector<std::string> texts;
  for (auto [index, set] : enumerate(sets)) {
    std::string flags = set.flags.empty() ? "yours" : join(set.flags, " ");
    texts.push_back(set.seconds > 0
                        ? formatv("{0}: {1:f3} ms{2}", flags, 1e3 * set.seconds,
                                  index == best ? " (best)" : "")
                              .str()
                        : flags + ": failed or wrong");
  }
  noteList.push_back("IREE " + options.tools.version +
                     ", flags without a spec: " + join(texts, "; "));
}

/// Great models take iree-compile minutes, and nothing is known of them yet.
static constexpr double programLimitSeconds = 3600;

Error IreeBackend::Impl::chooseFlags() {
  bool isKnown = readChoice();
  if (!isKnown) {
    sets.clear();
    addSet(optLevel.str(), {});
  }
  Compiled compiled =
      compile(modelPath, sets[0].flags, "", programLimitSeconds);
  programCompileSeconds = compiled.outcome.wallSeconds;
  if (compiled.outcome.outcome != Outcome::Ok)
    return makeError("{0}: iree-compile {1}: {2}", options.model,
                     join(sets[0].flags, " "), compiled.outcome.reason);
  sets[0].library = std::move(compiled.library);
  sets[0].dumps = std::move(compiled.dumps);
  if (Error error = makeReferences())
    return error;
  CommandOutcome checked = check(sets[0].library, 1800);
  if (checked.outcome != Outcome::Ok)
    return makeError("{0}: two runs of the same program differ: {1}",
                     options.model, checked.reason);
  if (isKnown) {
    for (size_t index : {best, specBase})
      if (sets[index].library.empty())
        buildSet(sets[index]);
    if (sets[best].library.empty() || sets[specBase].library.empty())
      return makeError("{0}: the flags in {1} do not work any more; remove "
                       "the file",
                       options.model, options.choiceFile);
  } else {
    measureSets({0}, 3);
    if (!(sets[0].seconds > 0))
      return makeError("{0}: iree-benchmark-module fails with the default "
                       "flags",
                       options.model);
    // A spec is for what its user's flags make of the program.
    if (userSpec.empty())
      searchFlags();
    if (interruptRequested() != Interrupt::None)
      return makeError("interrupted while flags were compared; the same "
                       "command begins again");
    dropOthers();
    if (Error error = writeChoice())
      return error;
  }
  makeSources();
  describeFlags();
  return Error::success();
}
