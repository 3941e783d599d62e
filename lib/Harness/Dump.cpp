//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What the compiler made of a case: IR after each stage, code, and what
// llvm-mca thinks of the loop that counts.

#include "HarnessImpl.h"
#include "HotLoop.h"

#include "attune/Support/Error.h"
#include "attune/Support/Subprocess.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace attune {

/// One of LLVM's tools on a file; what it printed.
static Expected<std::string> runTool(StringRef name,
                                     std::vector<std::string> arguments) {
  std::string path = std::string(ATTUNE_LLVM_BINDIR) + "/" + name.str();
  if (!sys::fs::exists(path))
    return makeError("{0} not found: install llvm-22 and llvm-22-tools", path);
  ProcessOptions process;
  process.arguments = {path};
  append_range(process.arguments, arguments);
  process.capturedBytes = 64 << 20;
  auto result = runProcess(process, /*seconds=*/60);
  if (!result)
    return result.takeError();
  if (result->timedOut || !result->end.succeeded())
    return makeError("{0}: {1}: {2}", name,
                     result->timedOut ? "does not end" : result->end.describe(),
                     StringRef(result->output).take_front(400));
  return std::move(result->output);
}

/// The object of a dispatch in the compiler's cache: the library knows the hash
/// of the code it was made of.
static Expected<std::string>
findObject(StringRef cache, const Signature &signature, StringRef dispatch) {
  auto lowered = find_if(signature.lowered, [&](const Signature::Lowered &one) {
    return one.name == dispatch;
  });
  std::error_code failed;
  for (sys::fs::directory_iterator entry(cache, failed), end;
       entry != end && !failed; entry.increment(failed)) {
    StringRef path = entry->path();
    if (!path.ends_with(".o"))
      continue;
    auto hash = hashFileHex(path);
    if (!hash)
      return hash.takeError();
    if (lowered != signature.lowered.end() && *hash == lowered->code)
      return path.str();
  }
  return makeError("{0}: the compiler left no object of {1}", cache, dispatch);
}

static Error readStages(StringRef folder, StringRef dispatch,
                        HarnessDumps &dumps) {
  for (StringRef stage :
       {"schedule", "bufferize", "buffers", "loops", "llvm"}) {
    SmallString<128> path(folder);
    sys::path::append(path, dispatch + "." + stage + ".mlir");
    if (!sys::fs::exists(path))
      continue;
    auto text = readFile(path);
    if (!text)
      return text.takeError();
    dumps.stages.push_back({stage.str(), std::move(*text)});
  }
  return Error::success();
}

/// llvm-mca's summary, without the tables below it.
static Expected<std::string> analyzeLoop(const std::string &loop,
                                         const Target &target,
                                         const std::string &path) {
  if (Error error = writeFile(path, loop))
    return std::move(error);
  auto text = runTool("llvm-mca",
                      {"-mcpu=" + target.cpu, "-mtriple=" + target.triple,
                       "-instruction-info=false", "-resource-pressure=false",
                       "-iterations=100", path});
  return text;
}

Expected<HarnessDumps> Harness::dump(const ProblemCase &problemCase,
                                     const ExpertValues &expert) {
  auto prepared = impl->prepare(problemCase);
  if (!prepared)
    return prepared.takeError();
  auto space = impl->space(**prepared, expert.expert, problemCase.problem.name);
  if (!space)
    return space.takeError();
  std::string rejected;
  auto configuration = impl->complete(**space, expert, rejected);
  if (!configuration)
    return configuration.takeError();
  if (!rejected.empty())
    return makeError("expert '{0}', {1}: {2}", expert.expert.getName(),
                     toString(*configuration), rejected);
  auto loaded = impl->load(expert.expert);
  if (!loaded)
    return loaded.takeError();
  auto job = impl->jobFor(**prepared, *loaded, &*configuration);
  if (!job)
    return job.takeError();
  std::string folder = impl->file("dump-" + Twine(impl->next++));
  job->cacheFolder = folder + "/objects";
  for (const std::string &path : {folder + "/ir", job->cacheFolder})
    if (Error error = createFolder(path))
      return std::move(error);
  auto compiled =
      impl->compile({*job, 600, {"ATTUNE_DUMP_IR=" + folder + "/ir"}});
  if (!compiled)
    return compiled.takeError();
  HarnessDumps dumps;
  for (auto [stage, path] :
       {std::pair("problem", (*prepared)->problemPath),
        std::pair("dispatched", (*prepared)->dispatchedPath)}) {
    auto text = readFile(path);
    if (!text)
      return text.takeError();
    dumps.stages.push_back({stage, std::move(*text)});
  }
  if (Error error =
          readStages(folder + "/ir", (*prepared)->dispatch.name, dumps))
    return std::move(error);
  dumps.outcome = compiled->outcome;
  dumps.reason = compiled->reason;
  if (compiled->outcome != Outcome::Ok)
    return dumps;
  auto signature = impl->executor().signature(job->output);
  if (!signature)
    return signature.takeError();
  if (Error error =
          findObject(job->cacheFolder, *signature, (*prepared)->dispatch.name)
              .moveInto(dumps.object))
    return std::move(error);
  if (Error error =
          runTool("llvm-objdump", {"-d", "--no-show-raw-insn", dumps.object})
              .moveInto(dumps.assembly))
    return std::move(error);
  dumps.hotLoop = findHotLoop(dumps.assembly);
  if (!dumps.hotLoop.empty())
    if (Error error =
            analyzeLoop(dumps.hotLoop, impl->options.target, folder + "/loop.s")
                .moveInto(dumps.mca))
      return std::move(error);
  return dumps;
}

} // namespace attune
