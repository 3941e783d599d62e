//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// session.json: the command of a session, for --resume.

#include "Tune.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Json.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace attune::cli {

Error writeSessionFile(const TuneFlags &flags, StringRef folder) {
  SmallString<256> here;
  if (std::error_code code = sys::fs::current_path(here))
    return makeError("the current folder: {0}", code.message());
  json::Value file = json::Object{{"version", 1},
                                  {"folder", here.str()},
                                  {"arguments", json::Array(flags.arguments)}};
  return writeFile((folder + "/session.json").str(),
                   formatv("{0:2}\n", file).str());
}

Expected<std::vector<std::string>> readSessionFile(StringRef folder) {
  std::string path = (folder + "/session.json").str();
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  auto json = parseJson(*text);
  if (!json)
    return makeError("{0}: {1}", path, toString(json.takeError()));
  const json::Object *object = json->getAsObject();
  if (!object || object->getInteger("version") != 1)
    return makeError("{0}: not a session of this version of Attune", path);
  auto here = object->getString("folder");
  const json::Array *list = object->getArray("arguments");
  if (!here || !list)
    return makeError("{0}: 'folder' or 'arguments' is missing", path);
  std::vector<std::string> arguments;
  for (const json::Value &value : *list) {
    auto argument = value.getAsString();
    if (!argument)
      return makeError("{0}: an argument is not text", path);
    if (!argument->starts_with("--output="))
      arguments.push_back(argument->str());
  }
  SmallString<256> output(folder);
  sys::fs::make_absolute(output);
  arguments.push_back(("--output=" + output).str());
  if (std::error_code code = sys::fs::set_current_path(*here))
    return makeError("{0}: the folder the command was given in: {1}", *here,
                     code.message());
  return arguments;
}

} // namespace attune::cli
