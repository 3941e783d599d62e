//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Steps.h"
#include "attune/Support/Nesting.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace attune;
using namespace attune::import;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Diagnostics as one line
//===----------------------------------------------------------------------===//

static FileLineColLoc findFileLocation(Location location) {
  FileLineColLoc found;
  location->walk([&](Location inner) {
    if (auto file = dyn_cast<FileLineColLoc>(inner)) {
      found = file;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

std::string import::placeOf(Operation *op, StringRef file) {
  // Locations written into the file (a Python source, say) are not places in
  // it.
  FileLineColLoc found = findFileLocation(op->getLoc());
  if (found && found.getFilename() == file)
    return llvm::formatv("{0}:{1}", file, found.getLine()).str();
  return file.str();
}

FirstError::FirstError(MLIRContext &context, StringRef file)
    : file(file), handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error || any())
          return success();
        std::string text = diagnostic.str();
        message = StringRef(text).split('\n').first.trim().str();
        if (FileLineColLoc at = findFileLocation(diagnostic.getLocation());
            at && at.getFilename() == this->file && at.getLine())
          place = llvm::formatv("{0}:{1}", this->file, at.getLine()).str();
        return success();
      }) {}

std::string FirstError::text() const {
  return (place.empty() ? file : place) + ": " + message;
}

Error import::runPasses(ModuleOp module, StringRef file, StringRef doing,
                        llvm::function_ref<void(OpPassManager &)> passes) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  passes(manager);
  FirstError first(*module.getContext(), file);
  if (succeeded(manager.run(module)))
    return Error::success();
  if (!first.any())
    return makeError("{0}: {1} failed without a reason", file, doing);
  return makeError("{0} ({1} failed)", first.text(), doing);
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// The op's name in the messages that MLIR's parser has for dialects and ops
/// that it does not know; empty for other messages.
static std::string unknownName(StringRef message) {
  static const char *const shapes[] = {
      "not found for custom op '([^']+)'",
      "custom op '([^']+)' is unknown",
      "unregistered operation '([^']+)' found in dialect",
      "unregistered dialect: '?([A-Za-z_0-9]+)",
  };
  for (const char *shape : shapes) {
    llvm::SmallVector<StringRef> groups;
    if (llvm::Regex(shape).match(message, &groups))
      return groups[1].str();
  }
  return "";
}

static Error explainParseError(const FirstError &first, MLIRContext &context,
                               StringRef file) {
  StringRef message = first.message;
  std::string place = first.place.empty() ? file.str() : first.place;
  std::string name = unknownName(message);
  if (!name.empty()) {
    StringRef dialect = StringRef(name).split('.').first;
    if (context.getDialectRegistry().getDialectAllocator(dialect))
      return makeError(
          "{0}: {1} is not an op of MLIR 22; the file was written by "
          "another version, export it again with a matching one",
          place, name);
    return makeError("{0}: {1} is not an op that Attune knows; {2}", place,
                     name, wayOutOf(dialect));
  }
  if (message.contains("is newer than the current version") ||
      message.contains("unknown attribute code") ||
      message.contains("unknown type code"))
    return makeError(
        "{0}: this bytecode was written by a newer MLIR ({1}); export "
        "the program as text (.mlir) instead",
        file, message);
  return makeError("{0}: {1}", place, message);
}

/// An error for what is no program at all, before the parser sees it.
static Error checkContents(StringRef contents, StringRef file) {
  if (contents.starts_with("ML\xEFR"))
    return Error::success();
  if (contents.trim().empty())
    return makeError(
        "{0}: the file is empty; a program is MLIR text or bytecode", file);
  if (contents.starts_with("version https://git-lfs"))
    return makeError(
        "{0}: this is a Git LFS pointer, not the file itself; run `git "
        "lfs pull`",
        file);
  StringRef head = contents.take_front(4096);
  if (head.contains('\0') || head.starts_with("BC\xC0\xDE") ||
      head.starts_with("PK\x03\x04")) {
    bool isImported =
        llvm::any_of(ArrayRef<StringRef>{".onnx", ".pt2", ".jax"},
                     [&](StringRef end) { return file.ends_with(end); });
    return makeError(
        "{0}: neither MLIR text nor MLIR bytecode; {1}", file,
        isImported ? llvm::formatv("`python -m attune.import {0} -o "
                                   "model.mlir` makes it so (docs/inputs.md)",
                                   file)
                         .str()
                   : "export the model to linalg or TOSA first "
                     "(docs/inputs.md)");
  }
  if (isNestedDeeper(contents, maxMlirDepth, Syntax::Mlir))
    return makeError("{0}: nested more than {1} deep", file, maxMlirDepth);
  return Error::success();
}

/// Ops of dialects that nobody registered, in generic form.
static Error checkRegistered(ModuleOp module, StringRef file) {
  Operation *unknown = nullptr;
  Type foreign;
  module->walk([&](Operation *op) {
    if (!op->isRegistered()) {
      unknown = op;
      return WalkResult::interrupt();
    }
    for (Type type : op->getResultTypes())
      if (isa<OpaqueType>(type))
        unknown = op, foreign = type;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          if (isa<OpaqueType>(type))
            unknown = op, foreign = type;
    return unknown ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!unknown)
    return Error::success();
  if (foreign) {
    StringRef dialect = cast<OpaqueType>(foreign).getDialectNamespace();
    return errorAt(unknown, file,
                   "{0} has values of a type of dialect {1}, which "
                   "Attune does not know; {2}",
                   unknown->getName(), dialect, wayOutOf(dialect));
  }
  StringRef dialect = unknown->getName().getDialectNamespace();
  return errorAt(unknown, file, "{0} is not an op that Attune knows; {1}",
                 unknown->getName(), wayOutOf(dialect));
}

/// Our ops refer to weights by number and rely on what Dispatch made sure of.
static Error refuseOwnOps(ModuleOp module, StringRef file) {
  Operation *own = nullptr;
  module->walk([&](Operation *op) {
    if (isa_and_nonnull<AttuneDialect>(op->getDialect()))
      own = op;
    return own ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!own)
    return Error::success();
  return errorAt(own, file,
                 "{0} is in files that Attune wrote itself; give the program "
                 "that they were made of",
                 own->getName());
}

/// `module { module { ... } }` around everything, as some exporters write.
static OwningOpRef<ModuleOp> unwrap(OwningOpRef<ModuleOp> module) {
  while (llvm::hasSingleElement(*module->getBody())) {
    auto inner = dyn_cast<ModuleOp>(module->getBody()->front());
    if (!inner)
      break;
    inner->remove();
    module = OwningOpRef<ModuleOp>(inner);
  }
  return module;
}

Expected<OwningOpRef<ModuleOp>>
import::parseModule(MLIRContext &context,
                    std::unique_ptr<llvm::MemoryBuffer> buffer,
                    StringRef file) {
  if (Error error = checkContents(buffer->getBuffer(), file))
    return std::move(error);

  // Unknown ops are let in, so that the message can name one and its line.
  bool allowed = context.allowsUnregisteredDialects();
  context.allowUnregisteredDialects(true);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBuffer(buffer->getMemBufferRef()),
      llvm::SMLoc());
  FirstError first(context, file);
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, config);
  context.allowUnregisteredDialects(allowed);
  if (!module)
    return explainParseError(first, context, file);
  if (Error error = checkRegistered(*module, file))
    return std::move(error);
  if (Error error = refuseOwnOps(*module, file))
    return std::move(error);
  module = unwrap(std::move(module));
  if (failed(verify(*module)))
    return makeError("{0}", first.text());
  return std::move(module);
}
