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

/// What a first version does not do is said, not done wrongly.
static Error refuseFlags(ArrayRef<std::string> flags) {
  for (StringRef flag : flags) {
    if (!flag.starts_with("-"))
      return makeError("'{0}' is no flag of iree-compile; each begins with --",
                       flag);
    if (flag.contains("iree-codegen-tuning-spec-path"))
      return makeError("{0}: tuning beside a spec of your own is not possible "
                       "yet; leave the flag out",
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
  impl->sets = ireeFlagSets();
  impl->libraries.resize(impl->sets.size());
  impl->setSeconds.resize(impl->sets.size());
  impl->dumps.resize(impl->sets.size());
  for (const Tensor &tensor : inputs) {
    impl->inputFiles.push_back(impl->newPath(".npy"));
    if (Error error = writeNpy(impl->inputFiles.back(), tensor))
      return error;
  }
  if (Error error = impl->chooseFlags())
    return error;
  impl->findDispatches();
  return Error::success();
}

void IreeBackend::Impl::findDispatches() {
  size_t others = 0;
  for (const std::string &dump : dumps[specBase]) {
    std::vector<iree::Contraction> alone;
    iree::findContractions(dump, alone);
    others += alone.empty();
    iree::findContractions(dump, contractions);
  }
  for (auto [number, contraction] : enumerate(contractions)) {
    BackendDispatch &dispatch = dispatchList.emplace_back();
    dispatch.name = "contraction_" + std::to_string(number + 1);
    dispatch.fingerprint =
        hashHex(choiceKey() + join(sets[specBase].flags, " ") +
                join(sets[best].flags, " ") + contraction.key());
    dispatch.rootOp = "contraction";
    dispatch.shapes = contraction.shapes();
    dispatch.calls = contraction.dispatches.size();
    dispatch.number = number;
    dispatch.reductionLength = std::max<int64_t>(contraction.extent('k'), 1);
    dispatch.location = contraction.dispatches.front();
    dispatch.operations = contraction.operations();
    dispatch.isProgram = true; // A candidate is measured in all of it.
    if (contraction.dispatches.size() > 1)
      noteList.push_back(formatv("{0}: one matcher finds {1} dispatches, which "
                                 "get one configuration: {2}",
                                 dispatch.name, contraction.dispatches.size(),
                                 join(contraction.dispatches, ", "))
                             .str());
  }
  if (others)
    noteList.push_back(formatv("{0} of {1} executables have no contraction, "
                               "and nothing is tried on them",
                               others, dumps[specBase].size())
                           .str());
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
  auto made = iree::contractionSpace(impl->contractions[dispatch.number]);
  if (!made)
    return made.takeError();
  std::vector<CandidateSpace> spaces;
  std::string name = made->first.getSchedule();
  spaces.push_back({name, "1", std::move(made->first), made->second});
  return spaces;
}

Expected<std::string> IreeBackend::buildProgram(Build build) {
  return impl->libraries[build == Build::Reference ? 0 : impl->best];
}

Expected<std::string> IreeBackend::buildDispatch(const BackendDispatch &,
                                                 Build build) {
  return buildProgram(build);
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
    const iree::Contraction &contraction = contractions[dispatch->number];
    rows.push_back(
        {&contraction, iree::loweringConfig(contraction, entry.configuration)});
  }
  return rows;
}

Expected<std::string> IreeBackend::buildTuned(const Spec &spec,
                                              ApplyResult &applied, StringRef) {
  if (spec.entries.empty())
    return buildProgram(Build::Baseline);
  auto rows = impl->rowsOf(spec);
  if (!rows)
    return rows.takeError();
  std::string path = impl->newPath(".mlir");
  if (Error error = writeFile(path, iree::printTuningSpec(*rows)))
    return std::move(error);
  CommandOutcome checked = impl->start(
      {impl->options.tools.opt, path, "-o", "/dev/null"}, 120, JobPhase::Run);
  sys::fs::remove(path);
  if (checked.outcome != Outcome::Ok)
    return makeError("the merged spec: iree-opt: {0}", checked.reason);
  Impl::Compiled compiled = impl->compileWith(*rows);
  if (compiled.outcome.outcome != Outcome::Ok)
    return makeError("the program with the merged spec: {0}",
                     compiled.outcome.reason);
  for (auto [entry, row] : zip_equal(spec.entries, *rows))
    applied.entries.push_back({&entry, row.contraction->dispatches, ""});
  return compiled.library;
}

/// Each thread lives as long as what it starts.
Expected<std::vector<CompiledCandidate>>
IreeBackend::compileCandidates(const BackendDispatch &dispatch,
                               ArrayRef<Configuration> configurations) {
  const iree::Contraction &contraction = impl->contractions[dispatch.number];
  std::vector<CompiledCandidate> results(configurations.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i; (i = next++) < results.size();) {
      std::string config = iree::loweringConfig(contraction, configurations[i]);
      Impl::Compiled compiled = impl->compileWith({{&contraction, config}});
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
  if (rows->empty()) {
    // One of an earlier session, which did not win this time.
    sys::fs::remove(specPath);
  } else {
    if (Error error = writeFile(specPath, iree::printTuningSpec(*rows)))
      return error;
    flags.push_back(
        ("--iree-codegen-tuning-spec-path=" + specPath.str()).str());
  }
  return writeFile(path, join(flags, "\n") + "\n");
}
