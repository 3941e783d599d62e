//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matchers.h"
#include "attune/Dialect/Attune.h"
#include "attune/Schedule/ConfigAttr.h"
#include "attune/Spec/Spec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attune;
using namespace mlir;
using llvm::formatv;

int64_t ApplyResult::appliedCount() const {
  return llvm::count_if(entries, [](const AppliedEntry &applied) {
    return !applied.dispatches.empty();
  });
}

std::string SpecEntry::dispatches() const {
  if (matcher.empty())
    return fingerprint;
  StringRef name =
      StringRef(matcher).drop_until([](char c) { return c == '@'; });
  return name.take_until([](char c) { return c == '(' || c == ' '; }).str();
}

static std::string describe(const SpecEntry &entry) {
  std::string text = entry.dispatches();
  for (llvm::StringRef part : {entry.root, entry.shapes})
    if (!part.empty())
      text += " " + part.str();
  return text;
}

void ApplyResult::print(llvm::raw_ostream &out) const {
  size_t dispatches = 0;
  for (const AppliedEntry &applied : entries)
    dispatches += applied.dispatches.size();
  out << formatv("spec: {0} of {1} {2} applied to {3} {4}{5}\n", appliedCount(),
                 entries.size(), entries.size() == 1 ? "entry" : "entries",
                 dispatches, dispatches == 1 ? "dispatch" : "dispatches",
                 isVerified ? ", verified in the code" : "");
  for (const AppliedEntry &applied : entries)
    if (!applied.reason.empty())
      out << formatv("spec: {0}: {1}: {2}\n", describe(*applied.entry),
                     applied.dispatches.empty() ? "not applied"
                                                : "not applied everywhere",
                     applied.reason);
  for (const std::string &warning : warnings)
    out << "spec: warning: " << warning << "\n";
}

void ApplyResult::printAll(llvm::raw_ostream &out) const {
  for (const AppliedEntry &applied : entries)
    if (!applied.dispatches.empty())
      out << formatv("spec: {0}: on {1}\n", describe(*applied.entry),
                     llvm::join(applied.dispatches, ", "));
  print(out);
  if (!untouched.empty())
    out << formatv("spec: no entry is for {0}\n", llvm::join(untouched, ", "));
}

static const CompiledDispatch *
findCompiled(llvm::ArrayRef<CompiledDispatch> dispatches,
             llvm::StringRef name) {
  for (const CompiledDispatch &dispatch : dispatches)
    if (dispatch.name == name)
      return &dispatch;
  return nullptr;
}

void attune::verifyApplied(ApplyResult &result,
                           llvm::ArrayRef<CompiledDispatch> tuned,
                           llvm::ArrayRef<CompiledDispatch> untuned) {
  result.isVerified = true;
  for (AppliedEntry &applied : result.entries) {
    std::string wanted = toString(applied.entry->configuration);
    llvm::erase_if(applied.dispatches, [&](const std::string &name) {
      const CompiledDispatch *made = findCompiled(tuned, name);
      if (made && made->how == wanted)
        return false;
      applied.reason = made ? formatv("{0} was compiled as '{1}' all the same",
                                      name, made->how)
                                  .str()
                            : name + " is not in the library";
      return true;
    });
    for (const std::string &name : applied.dispatches) {
      const CompiledDispatch *before = findCompiled(untuned, name);
      if (before && before->code == findCompiled(tuned, name)->code)
        result.warnings.push_back(
            name + ": the configuration makes the code of the untuned program");
    }
  }
}

/// Dispatch functions by fingerprint, in the order of the module.
static llvm::MapVector<StringRef, SmallVector<func::FuncOp>>
findDispatches(ModuleOp program) {
  llvm::MapVector<StringRef, SmallVector<func::FuncOp>> result;
  for (auto function : program.getOps<func::FuncOp>()) {
    auto dispatch = function->getAttrOfType<DictionaryAttr>(attr::dispatch);
    auto fingerprint =
        dispatch ? dispatch.getAs<StringAttr>("fingerprint") : StringAttr();
    if (fingerprint)
      result[fingerprint.getValue()].push_back(function);
  }
  return result;
}

/// Why no entry of the spec can apply, whatever the dispatches are.
static std::string refuseAll(const Spec &spec, ModuleOp program) {
  auto version = program->getAttrOfType<IntegerAttr>(attr::dispatchVersion);
  if (!version)
    return "the program is not split into dispatches";
  if (version.getInt() != spec.dispatchVersion)
    return formatv("made for version {0} of dispatch formation, and this is "
                   "version {1}; tune again",
                   spec.dispatchVersion, version.getInt());
  return "";
}

static AppliedEntry applyEntry(const SpecEntry &entry,
                               ArrayRef<func::FuncOp> functions,
                               const ConfigurationCheck &check) {
  AppliedEntry applied;
  applied.entry = &entry;
  if (functions.empty())
    applied.reason = entry.matcher.empty()
                         ? "no dispatch of this program has this fingerprint"
                         : "it takes no dispatch of this program that no other "
                           "entry is for";
  for (func::FuncOp function : functions) {
    std::string reason =
        check ? check(entry.configuration, function) : std::string();
    if (!reason.empty()) {
      applied.reason = (function.getSymName() + ": " + reason).str();
      continue;
    }
    function->setAttr(attr::config,
                      toAttr(function.getContext(), entry.configuration));
    applied.dispatches.push_back(function.getSymName().str());
  }
  return applied;
}

static std::vector<std::string> compareWith(const Spec &spec,
                                            const ApplyOptions &options) {
  std::vector<std::string> warnings;
  if (spec.target && options.target) {
    Target made = *spec.target;
    made.triple = options.target->triple;
    if (made.cpu != options.target->cpu)
      warnings.push_back(formatv("tuned on {0}, compiled for {1}", made.cpu,
                                 options.target->cpu));
    else if (made != *options.target)
      warnings.push_back(formatv("tuned on another {0}: features, cores or "
                                 "caches differ",
                                 made.cpu));
  }
  if (spec.threads > 0 && options.threads > 0 &&
      spec.threads != options.threads)
    warnings.push_back(formatv("tuned with {0} thread{1}, compiled for {2}",
                               spec.threads, spec.threads == 1 ? "" : "s",
                               options.threads));
  return warnings;
}

/// Sizes that the program has no variant for.
static void findMissingSizes(const Spec &spec, ModuleOp program,
                             std::vector<std::string> &warnings) {
  for (const EntrySizes &sizes : spec.sizes) {
    std::string text = toString(sizes.sizes);
    bool isThere =
        llvm::any_of(program.getOps<func::FuncOp>(), [&](func::FuncOp func) {
          auto of = func->getAttrOfType<StringAttr>(attr::variantOf);
          auto have = func->getAttrOfType<StringAttr>(attr::sizes);
          return of && have && of.getValue() == sizes.entry &&
                 have.getValue() == text;
        });
    if (!isThere)
      warnings.push_back(formatv("this program is not compiled for sizes {0} "
                                 "of '{1}': it has no such entry, or other "
                                 "open dimensions",
                                 text, sizes.entry));
  }
}

/// What each entry is for: a fingerprint's dispatches, and of the others those
/// that a matcher takes.
using Assignment = llvm::DenseMap<const SpecEntry *, SmallVector<func::FuncOp>>;

static Assignment assignDispatches(const Spec &spec, ModuleOp program,
                                   std::vector<std::string> &untouched) {
  Assignment assignment;
  auto dispatches = findDispatches(program);
  std::vector<std::pair<const SpecEntry *, Matcher>> matchers;
  for (const SpecEntry &entry : spec.entries)
    if (!entry.matcher.empty()) {
      matchers.emplace_back(&entry,
                            makeMatcher(program.getContext(), entry.matcher));
    } else {
      assignment[&entry] = dispatches.lookup(entry.fingerprint);
      dispatches.erase(entry.fingerprint);
    }
  auto gain = [](const SpecEntry *entry) {
    return entry->isMeasured() ? entry->baselineSeconds / entry->tunedSeconds
                               : 0;
  };
  for (auto &[fingerprint, functions] : dispatches)
    for (func::FuncOp function : functions) {
      const SpecEntry *best = nullptr;
      for (auto &[entry, matcher] : matchers)
        if ((!best || gain(entry) > gain(best)) &&
            takesDispatch(matcher, function))
          best = entry;
      if (best)
        assignment[best].push_back(function);
      else
        untouched.push_back(function.getSymName().str());
    }
  return assignment;
}

ApplyResult attune::applySpec(const Spec &spec, ModuleOp program,
                              const ApplyOptions &options) {
  ApplyResult result;
  std::string refusal = refuseAll(spec, program);
  Assignment assignment = assignDispatches(spec, program, result.untouched);
  for (const SpecEntry &entry : spec.entries)
    result.entries.push_back(
        refusal.empty()
            ? applyEntry(entry, assignment.lookup(&entry), options.check)
            : AppliedEntry{&entry, {}, refusal});
  result.warnings = compareWith(spec, options);
  findMissingSizes(spec, program, result.warnings);
  return result;
}
