//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Objects to a shared library, with LLVM's linker.

#include "Stages.h"
#include "attune/Support/Error.h"
#include "attune/Support/Installation.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <csignal>
#include <cstring>

using namespace llvm;

namespace attune {

Expected<Toolchain> Toolchain::find(int threads) {
  Toolchain tools;
  auto linker =
      findInstalled({"/usr/lib/llvm-22/bin/ld.lld", "/usr/bin/ld.lld-22"},
                    "the linker ld.lld", "install the package lld-22");
  if (!linker)
    return linker.takeError();
  tools.linker = *linker;
  auto runtime = findInstalled(
      {"../../lib/Runtime/libattune_rt.a",
       "../../../lib/Runtime/libattune_rt.a", "../lib/libattune_rt.a"},
      "Attune's runtime libattune_rt.a", "install Attune again");
  if (!runtime)
    return runtime.takeError();
  tools.runtime = *runtime;
  if (threads != 1) {
    auto openmp = findInstalled(
        {"/usr/lib/llvm-22/lib/libomp.so"}, "the OpenMP library libomp.so",
        "install the package libomp-22-dev, or use --threads=1");
    if (!openmp)
      return openmp.takeError();
    tools.openmp = *openmp;
  }
  return tools;
}

namespace codegen {

Error link(ArrayRef<std::string> objects, const Toolchain &tools, int threads,
           StringRef outputPath) {
  std::string temporary = (outputPath + ".tmp").str();
  std::vector<std::string> arguments = {
      tools.linker,  "-shared", "--gc-sections", "--build-id=none", "-z",
      "noexecstack", "-o",      temporary};
  arguments.insert(arguments.end(), objects.begin(), objects.end());
  // All of it: a program without dispatches calls nothing of the runtime.
  arguments.insert(arguments.end(),
                   {"--whole-archive", tools.runtime, "--no-whole-archive"});
  if (threads != 1) {
    arguments.push_back(tools.openmp);
    arguments.push_back("-rpath");
    arguments.push_back(std::string(sys::path::parent_path(tools.openmp)));
  }
  for (const char *library : {"libm.so.6", "libc.so.6"})
    for (const char *folder :
         {"/lib/x86_64-linux-gnu/", "/lib/aarch64-linux-gnu/", "/lib64/"})
      if (sys::fs::exists(Twine(folder) + library)) {
        arguments.push_back(std::string(folder) + library);
        break;
      }

  SmallVector<StringRef> views(arguments.begin(), arguments.end());
  SmallString<128> log;
  if (std::error_code code =
          sys::fs::createTemporaryFile("attune-link", "log", log))
    return makeError("cannot make a temporary file: {0}", code.message());
  FileRemover removeLog(log);
  FileRemover removeOutput(temporary);
  std::string message;
  int status = 0;
  // A SIGKILL comes from outside (a full memory, a person): an accident, once.
  for (int attempt = 0; attempt < 2; ++attempt) {
    message.clear();
    status = sys::ExecuteAndWait(tools.linker, views, std::nullopt,
                                 {StringRef(), StringRef(), StringRef(log)},
                                 /*SecondsToWait=*/120, 0, &message);
    if (status != -2 || !StringRef(message).starts_with(strsignal(SIGKILL)))
      break;
  }
  if (status != 0) {
    auto text = MemoryBuffer::getFile(log);
    StringRef first =
        text ? (*text)->getBuffer().split('\n').first : StringRef();
    // The linker maps its output: on a full disk it dies of SIGBUS.
    auto space = sys::fs::disk_space(sys::path::parent_path(outputPath));
    if (space && space->available < (16u << 20))
      return makeError("{0}: no space left on the disk", outputPath);
    return makeError("linking {0} failed: {1}{2}", outputPath, message, first);
  }
  removeOutput.releaseFile();
  if (std::error_code code = sys::fs::rename(temporary, outputPath)) {
    sys::fs::remove(temporary);
    return makeError("{0}: {1}", outputPath, code.message());
  }
  return Error::success();
}

} // namespace codegen
} // namespace attune
