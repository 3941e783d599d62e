//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Schedule/Library.h"

#include "Bind.h"
#include "Constraints.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace attune;

/// Every argument says what is bound to it, and it is something known.
static llvm::Error checkArguments(StringRef path,
                                  transform::NamedSequenceOp sequence) {
  for (unsigned i = 0; i < sequence.getNumArguments(); ++i) {
    auto name = sequence.getArgAttrOfType<StringAttr>(i, attr::bind);
    bool isHandle = isa<transform::TransformHandleTypeInterface>(
        sequence.getArgumentTypes()[i]);
    if (!name && isHandle && i == 0)
      continue;
    if (!name)
      return makeError("{0}: argument {1} of @{2} has no attune.bind", path, i,
                       sequence.getName());
    if (isHandle ? !isHandleName(name.getValue())
                 : !isParamName(name.getValue()))
      return makeError("{0}: argument {1} of @{2} is bound to '{3}', which is "
                       "no known {4}",
                       path, i, sequence.getName(), name.getValue(),
                       isHandle ? "handle" : "number");
  }
  return llvm::Error::success();
}

static llvm::Error checkKnobs(StringRef path,
                              transform::NamedSequenceOp sequence) {
  llvm::StringSet<llvm::MallocAllocator> names;
  std::string duplicate;
  sequence.walk([&](Operation *op) {
    StringRef name;
    if (auto knob = dyn_cast<transform::tune::KnobOp>(op))
      name = knob.getName();
    else if (auto choice = dyn_cast<transform::tune::AlternativesOp>(op);
             choice && !choice.getSelectedRegionParam())
      name = choice.getName();
    if (!name.empty() && !names.insert(name).second)
      duplicate = name.str();
  });
  if (!duplicate.empty())
    return makeError("{0}: two knobs are called '{1}'", path, duplicate);
  return llvm::Error::success();
}

static llvm::Error checkModule(StringRef path, ModuleOp module) {
  bool hasSchedule = false;
  for (auto sequence : module.getOps<transform::NamedSequenceOp>()) {
    StringRef name = sequence.getName();
    hasSchedule |= name == "schedule";
    if (name != "schedule" && name != "fits" && name != "lower" &&
        name != "default" && name != "priority")
      continue;
    if (llvm::Error error = checkArguments(path, sequence))
      return error;
    if (llvm::Error error = checkKnobs(path, sequence))
      return error;
  }
  if (!hasSchedule)
    return makeError("{0}: there is no named sequence @schedule", path);
  return llvm::Error::success();
}

static llvm::Expected<OwningOpRef<ModuleOp>> parse(MLIRContext *context,
                                                   StringRef path) {
  std::string message;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream stream(message);
    if (message.empty())
      stream << diagnostic.getLocation() << ": " << diagnostic;
    return success();
  });
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(path, ParserConfig(context));
  if (!module)
    return makeError("{0}: {1}", path,
                     message.empty() ? "cannot be parsed" : message);
  return module;
}

llvm::Expected<ScheduleLibrary> ScheduleLibrary::load(MLIRContext *context,
                                                      StringRef folder) {
  ScheduleLibrary library;
  std::error_code error;
  std::vector<std::string> paths;
  for (llvm::sys::fs::directory_iterator entry(folder, error), end;
       entry != end && !error; entry.increment(error))
    if (llvm::sys::path::extension(entry->path()) == ".mlir")
      paths.push_back(entry->path());
  if (error)
    return makeError("{0}: cannot read the folder of schedules: {1}", folder,
                     error.message());
  if (paths.empty())
    return makeError("{0}: there are no schedules (*.mlir)", folder);
  llvm::sort(paths);
  for (const std::string &path : paths) {
    auto module = parse(context, path);
    if (!module)
      return module.takeError();
    auto schedule = std::make_unique<Schedule>();
    schedule->scheduleName = llvm::sys::path::stem(path).str();
    if (auto priority =
            (**module)->getAttrOfType<IntegerAttr>("attune.priority"))
      schedule->priority = priority.getInt();
    schedule->module = std::move(*module);
    library.all.push_back(std::move(schedule));
  }
  for (auto [path, schedule] : llvm::zip_equal(paths, library.all)) {
    if (llvm::Error error = library.extend(path, *schedule->module))
      return std::move(error);
    if (llvm::Error error = checkModule(path, *schedule->module))
      return std::move(error);
  }
  return library;
}

llvm::Error ScheduleLibrary::extend(StringRef path, ModuleOp module) const {
  auto name = module->getAttrOfType<StringAttr>("attune.extends");
  if (!name)
    return llvm::Error::success();
  const Schedule *base = find(name.getValue());
  if (!base)
    return makeError("{0}: there is no schedule '{1}' to extend", path,
                     name.getValue());
  if ((*base->module)->hasAttr("attune.extends"))
    return makeError("{0}: '{1}' extends another schedule itself", path,
                     name.getValue());
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (auto sequence : base->module.get().getOps<transform::NamedSequenceOp>())
    if (!SymbolTable::lookupSymbolIn(module, sequence.getNameAttr()))
      builder.clone(*sequence);
  return llvm::Error::success();
}

const Schedule *ScheduleLibrary::find(StringRef name) const {
  for (const auto &schedule : all)
    if (schedule->name() == name)
      return schedule.get();
  return nullptr;
}

std::vector<const Schedule *> ScheduleLibrary::fitting(func::FuncOp dispatch,
                                                       const Target &target,
                                                       int64_t threads) const {
  std::vector<std::pair<int64_t, const Schedule *>> fitting;
  for (const auto &schedule : all) {
    // That one does not fit is an ordinary answer.
    if (llvm::Error misfit = schedule->fits(dispatch, target, threads)) {
      llvm::consumeError(std::move(misfit));
      continue;
    }
    auto configuration =
        schedule->defaultConfiguration(dispatch, target, threads);
    if (!configuration) {
      llvm::consumeError(configuration.takeError());
      continue;
    }
    auto priority = schedule->priorityFor(dispatch, target, threads);
    if (!priority)
      llvm::consumeError(priority.takeError());
    fitting.push_back(
        {priority ? *priority : schedule->priority, schedule.get()});
  }
  llvm::stable_sort(
      fitting, [](const auto &a, const auto &b) { return a.first > b.first; });
  auto second = llvm::make_second_range(fitting);
  return {second.begin(), second.end()};
}
