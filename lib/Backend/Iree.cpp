//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IreeImpl.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <thread>

using namespace llvm;
using namespace attune;

IreeBackend::IreeBackend(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
IreeBackend::~IreeBackend() = default;

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static Error refuseFlags(ArrayRef<std::string> flags) {
  for (StringRef flag : flags) {
    if (!flag.starts_with("-"))
      return makeError("'{0}' is no flag of iree-compile; each begins with --",
                       flag);
    if (flag == "-o" || flag.starts_with("--compile-to") ||
        flag.starts_with("--iree-hal-dump-"))
      return makeError("{0}: where the result goes is for Attune to say", flag);
  }
  return Error::success();
}

/// The only public function, or the one that is named.
static Expected<EntrySignature> chooseEntry(std::vector<EntrySignature> entries,
                                            const IreeOptions &options) {
  std::vector<std::string> names;
  for (EntrySignature &entry : entries) {
    if (options.entry == entry.name ||
        (options.entry.empty() && entries.size() == 1))
      return std::move(entry);
    names.push_back(entry.name);
  }
  if (options.entry.empty())
    return makeError("{0} has several public functions; choose one with "
                     "--entry: {1}",
                     options.model, join(names, ", "));
  return makeError("{0} has no public function '{1}'; it has {2}",
                   options.model, options.entry, join(names, ", "));
}

Expected<std::unique_ptr<IreeBackend>>
IreeBackend::create(IreeOptions options) {
  if (Error error = refuseFlags(options.flags))
    return std::move(error);
  auto text = readFile(options.model);
  if (!text)
    return text.takeError();
  if (StringRef(*text).starts_with("ML\xefR"))
    return makeError("{0} is bytecode; the IREE backend reads text: iree-opt "
                     "{0} -o program.mlir",
                     options.model);
  auto entries = iree::parseEntries(*text, options.model);
  if (!entries)
    return entries.takeError();
  auto entry = chooseEntry(std::move(*entries), options);
  if (!entry)
    return entry.takeError();
  auto impl = std::make_unique<Impl>();
  impl->options = std::move(options);
  impl->text = std::move(*text);
  impl->entry = std::move(*entry);
  BackendEntry &shown = impl->entryList.emplace_back();
  shown.name = impl->entry.name;
  for (const ValueSignature &value : impl->entry.inputs)
    shown.inputs.push_back(value.type);
  for (const ValueSignature &value : impl->entry.outputs)
    shown.outputs.push_back(value.type);
  return std::unique_ptr<IreeBackend>(new IreeBackend(std::move(impl)));
}

Error IreeBackend::prepare(ArrayRef<Tensor> inputs) {
  for (const Tensor &tensor : inputs) {
    impl->inputFiles.push_back(impl->newPath(".npy"));
    if (Error error = writeNpy(impl->inputFiles.back(), tensor))
      return error;
  }
  if (Error error = impl->takeUserSpec())
    return error;
  if (Error error = impl->addMissingWeights())
    return error;
  if (Error error = impl->chooseFlags())
    return error;
  impl->findDispatches();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Dispatches
//===----------------------------------------------------------------------===//

void IreeBackend::Impl::addDispatch(const iree::RootOp &root) {
  size_t number = dispatchList.size();
  BackendDispatch &dispatch = dispatchList.emplace_back();
  dispatch.name = root.rootOp + "_" + std::to_string(number + 1);
  dispatch.fingerprint =
      hashHex(choiceKey() + join(sets[specBase].flags, " ") + root.key());
  dispatch.rootOp = root.rootOp;
  dispatch.shapes = root.shapes();
  dispatch.calls = root.dispatches.size();
  dispatch.number = number;
  dispatch.reductionLength =
      std::max<int64_t>({root.extent('k'), root.extent('r'), 1});
  dispatch.location = root.dispatches.front();
  dispatch.operations = root.operations();
  dispatch.isProgram = true; // A candidate is measured in all of it.
  if (root.dispatches.size() > 1)
    noteList.push_back(formatv("{0}: one matcher finds {1} dispatches, which "
                               "get one configuration: {2}",
                               dispatch.name, root.dispatches.size(),
                               join(root.dispatches, ", "))
                           .str());
}

static std::string describeUntuned(const iree::Untuned &untuned) {
  unsigned total = 0;
  std::vector<std::string> texts;
  for (const auto &[what, count] : untuned) {
    total += count;
    texts.push_back(formatv("{0} of {1}", count, what));
  }
  return formatv("{0} dispatches are left as they are: {1}", total,
                 join(texts, ", "));
}

void IreeBackend::Impl::findDispatches() {
  iree::Untuned untuned;
  std::vector<iree::RootOp> found;
  for (const std::string &dump : sets[specBase].dumps)
    iree::findRoots(dump, found, &untuned);
  if (!iree::takesSpecs(options.flags)) {
    noteList.push_back("with data tiling among your flags IREE leaves nothing "
                       "that a spec could find; only flags are compared "
                       "(--iree-global-opt-data-tiling would do)");
    return;
  }
  for (iree::RootOp &root : found) {
    bool isConfigured = all_of(root.configs, [&](StringRef config) {
      return StringRef(userSpecText).contains(config);
    });
    // Before its configuration is chosen, such an op gets the dimension back
    // that was folded away, and what a spec said is lost (3.11 to 3.13).
    bool isBatchless = root.rootOp == "convolution" && root.sizes.front() == 1;
    if (isConfigured)
      untuned["what your spec configures"] += root.dispatches.size();
    else if (isBatchless)
      untuned["convolutions of batch 1, where IREE drops what specs say"] +=
          root.dispatches.size();
    else
      roots.push_back(std::move(root));
  }
  for (const iree::RootOp &root : roots)
    addDispatch(root);
  if (!untuned.empty())
    noteList.push_back(describeUntuned(untuned));
}

const EntrySignature &IreeBackend::signature() const { return impl->entry; }
const std::vector<BackendEntry> &IreeBackend::entries() const {
  return impl->entryList;
}
const std::vector<BackendDispatch> &IreeBackend::dispatches() const {
  return impl->dispatchList;
}
const std::vector<std::string> &IreeBackend::notes() const {
  return impl->noteList;
}
std::string IreeBackend::programHash() const { return impl->choiceKey(); }

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

Expected<std::vector<CandidateSpace>>
IreeBackend::spaces(const BackendDispatch &dispatch) {
  auto made = iree::rootSpace(impl->roots[dispatch.number]);
  if (!made)
    return made.takeError();
  std::vector<CandidateSpace> spaces;
  std::string name = made->first.getSchedule();
  spaces.push_back({name, "2", std::move(made->first), made->second});
  return spaces;
}

Expected<std::string> IreeBackend::buildProgram(Build build) {
  return impl->sets[build == Build::Reference ? 0 : impl->best].library;
}

/// Candidates have the flags of specBase, and so has what is next to them.
Expected<std::string> IreeBackend::buildDispatch(const BackendDispatch &,
                                                 Build build) {
  return impl->sets[build == Build::Reference ? 0 : impl->specBase].library;
}

Expected<std::vector<iree::SpecRow>>
IreeBackend::Impl::rowsOf(const Spec &spec) const {
  std::vector<iree::SpecRow> rows;
  for (const SpecEntry &entry : spec.entries) {
    auto dispatch = find_if(dispatchList, [&](const BackendDispatch &one) {
      return one.fingerprint == entry.fingerprint;
    });
    if (dispatch == dispatchList.end())
      return makeError("the spec's entry {0} ({1}) is of another program",
                       entry.fingerprint, entry.shapes);
    const iree::RootOp &root = roots[dispatch->number];
    rows.push_back({&root, iree::loweringConfig(root, entry.configuration),
                    iree::translationInfo(root, entry.configuration)});
  }
  return rows;
}

Expected<std::string> IreeBackend::buildTuned(const Spec &spec,
                                              ApplyResult &applied, StringRef) {
  impl->tuned.clear();
  if (spec.entries.empty())
    return buildProgram(Build::Baseline);
  auto rows = impl->rowsOf(spec);
  if (!rows)
    return rows.takeError();
  // All of it, as the user will compile it.
  Impl::Compiled compiled = impl->compileWith(*rows, impl->modelPath);
  if (compiled.outcome.outcome != Outcome::Ok)
    return makeError("the program with the merged spec: {0}",
                     compiled.outcome.reason);
  for (auto [entry, row] : zip_equal(spec.entries, *rows))
    applied.entries.push_back({&entry, row.root->dispatches, ""});
  return impl->tuned = compiled.library;
}

/// Each thread lives as long as what it starts.
Expected<std::vector<CompiledCandidate>>
IreeBackend::compileCandidates(const BackendDispatch &dispatch,
                               ArrayRef<Configuration> configurations) {
  const iree::RootOp &root = impl->roots[dispatch.number];
  StringRef from = impl->sources.empty() ? impl->modelPath : impl->sources;
  std::vector<CompiledCandidate> results(configurations.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < results.size();) {
      Impl::Compiled compiled = impl->compileWith(
          {{&root, iree::loweringConfig(root, configurations[i]),
            iree::translationInfo(root, configurations[i])}},
          from);
      CompiledCandidate &result = results[i];
      result.outcome = compiled.outcome.outcome;
      result.reason = std::move(compiled.outcome.reason);
      result.detail = std::move(compiled.outcome.output);
      result.compileSeconds = compiled.outcome.wallSeconds;
      result.library = std::move(compiled.library);
    }
  };
  std::vector<std::thread> threads;
  size_t count = std::min<size_t>(impl->options.builders, results.size());
  for (size_t i = 1; i < count; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  for (const CompiledCandidate &result : results)
    if (result.outcome == Outcome::Ok)
      impl->compileTimes.push_back(result.compileSeconds);
  return results;
}

Error IreeBackend::dumpDispatch(const BackendDispatch &dispatch, StringRef path,
                                ArrayRef<std::string>) {
  return makeError("{0}: dispatches of IREE ({1}) cannot be written yet", path,
                   dispatch.name);
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

std::string IreeBackend::specName() const { return "flags.txt"; }

Error IreeBackend::writeSpec(const Spec &spec, StringRef path) const {
  auto rows = impl->rowsOf(spec);
  if (!rows)
    return rows.takeError();
  SmallString<256> specPath(path);
  sys::fs::make_absolute(specPath);
  sys::path::remove_filename(specPath);
  sys::path::append(specPath, "spec.mlir");
  std::vector<std::string> flags = iree::allFlags(
      impl->sets[rows->empty() ? impl->best : impl->specBase].flags,
      impl->options.flags);
  std::string flagged = impl->userSpec;
  if (rows->empty()) {
    // One of an earlier session, which did not win this time.
    sys::fs::remove(specPath);
  } else {
    CommandOutcome written = impl->writeSpecFile(*rows, specPath);
    if (written.outcome != Outcome::Ok)
      return makeError("{0}: {1}", specPath, written.reason);
    flagged = specPath.str().str();
  }
  if (!flagged.empty())
    flags.push_back("--iree-codegen-tuning-spec-path=" + flagged);
  return writeFile(path, join(flags, "\n") + "\n");
}
