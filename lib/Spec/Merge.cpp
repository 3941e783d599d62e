//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Matchers.h"
#include "attune/Spec/Spec.h"
#include "attune/Support/Error.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace attune;
using llvm::formatv;

/// The name of the machine is not enough: the numbers count.
static bool sameTarget(Target a, Target b) {
  a.triple.clear();
  b.triple.clear();
  return a == b;
}

/// The parts that all entries share.
static llvm::Error mergeHeader(Spec &into, const Spec &from) {
  if (into.dispatchVersion != from.dispatchVersion)
    return makeError("specs of different versions of dispatch formation ({0} "
                     "and {1}) do not merge; tune again with one Attune",
                     into.dispatchVersion, from.dispatchVersion);
  if (into.target && from.target && !sameTarget(*into.target, *from.target))
    return makeError("specs of different machines ({0} and {1}) do not merge; "
                     "compile for each with its own",
                     into.target->cpu, from.target->cpu);
  if (into.threads && from.threads && into.threads != from.threads)
    return makeError("specs for {0} and {1} threads do not merge; compile for "
                     "each with its own",
                     into.threads, from.threads);
  if (!into.target)
    into.target = from.target;
  if (!into.threads)
    into.threads = from.threads;
  return llvm::Error::success();
}

static double gainOf(const SpecEntry &entry) {
  return entry.baselineSeconds / entry.tunedSeconds;
}

/// The same schedule with the same values, and values of other knobs besides.
static bool saysMore(const Configuration &a, const Configuration &b) {
  return a.schedule == b.schedule && a.values.size() > b.values.size() &&
         llvm::all_of(b.values, [&](const auto &knob) {
           return llvm::is_contained(a.values, knob);
         });
}

/// Decides between two entries for one dispatch; the result is the kept one.
static llvm::Error mergeEntry(SpecEntry &known, const SpecEntry &other,
                              std::vector<MergeNote> *notes) {
  const bool bothMeasured = known.isMeasured() && other.isMeasured();
  const bool same = known.configuration == other.configuration;
  const bool noneMeasured = !known.isMeasured() && !other.isMeasured();
  const bool otherSaysMore =
      noneMeasured && saysMore(other.configuration, known.configuration);
  if (noneMeasured && !same && !otherSaysMore &&
      !saysMore(known.configuration, other.configuration))
    return makeError("two entries for {0} and no times to choose by: '{1}' and "
                     "'{2}'; remove one",
                     known.dispatches(), toString(known.configuration),
                     toString(other.configuration));
  bool takeOther = bothMeasured ? gainOf(other) > gainOf(known)
                                : otherSaysMore || (other.isMeasured() &&
                                                    !known.isMeasured());
  // The order of the files must not matter.
  if (bothMeasured && gainOf(other) == gainOf(known))
    takeOther = toString(other.configuration) < toString(known.configuration);
  MergeNote note{takeOther ? other : known, takeOther ? known : other, ""};
  note.reason = bothMeasured ? formatv("gains {0:f2}x, the other {1:f2}x",
                                       gainOf(note.kept), gainOf(note.dropped))
                                   .str()
                : noneMeasured ? "says more"
                               : "was measured, the other was not";
  known = note.kept;
  if (notes && !same)
    notes->push_back(std::move(note));
  return llvm::Error::success();
}

/// Matchers of different specs may have one name.
static void separateNames(SpecEntry &entry, llvm::StringSet<> &names) {
  if (entry.matcher.empty())
    return;
  std::string name = entry.dispatches().substr(1), unique = name;
  for (int i = 2; !names.insert(unique).second; ++i)
    unique = name + "_" + std::to_string(i);
  if (unique != name)
    entry.matcher = renameMatcher(entry.matcher, unique);
}

llvm::Expected<Spec> attune::mergeSpecs(llvm::ArrayRef<Spec> specs,
                                        std::vector<MergeNote> *notes) {
  if (specs.empty())
    return makeError("no specs to merge");
  Spec result = specs.front();
  result.entries.clear();
  result.sizes.clear();
  std::map<std::string, SpecEntry> entries;
  for (const Spec &spec : specs) {
    if (llvm::Error error = mergeHeader(result, spec))
      return error;
    llvm::append_range(result.sizes, spec.sizes);
    for (const SpecEntry &entry : spec.entries) {
      // A matcher is what it says.
      auto [known, isNew] = entries.try_emplace(
          entry.matcher.empty() ? entry.fingerprint : entry.matcher, entry);
      if (isNew)
        continue;
      if (llvm::Error error = mergeEntry(known->second, entry, notes))
        return error;
    }
  }
  llvm::StringSet<> names;
  for (auto &[key, entry] : entries) {
    result.entries.push_back(std::move(entry));
    separateNames(result.entries.back(), names);
  }
  sortSizes(result.sizes);
  return result;
}

llvm::Error attune::mergeSpecFiles(llvm::ArrayRef<std::string> paths,
                                   llvm::StringRef outputPath,
                                   llvm::raw_ostream &out) {
  std::vector<Spec> specs;
  for (const std::string &path : paths) {
    llvm::Expected<Spec> spec = readSpec(path);
    if (!spec)
      return spec.takeError();
    specs.push_back(std::move(*spec));
  }
  std::vector<MergeNote> notes;
  llvm::Expected<Spec> merged = mergeSpecs(specs, &notes);
  if (!merged)
    return merged.takeError();
  if (llvm::Error error = writeSpec(*merged, outputPath))
    return error;
  for (const MergeNote &note : notes)
    out << formatv("{0}: kept '{1}', which {2} ('{3}')\n",
                   note.kept.dispatches(), toString(note.kept.configuration),
                   note.reason, toString(note.dropped.configuration));
  out << formatv("{0}: {1} {2} from {3} {4}\n", outputPath,
                 merged->entries.size(),
                 merged->entries.size() == 1 ? "entry" : "entries",
                 paths.size(), paths.size() == 1 ? "spec" : "specs");
  return llvm::Error::success();
}

llvm::Error attune::explainSpec(llvm::StringRef path, llvm::raw_ostream &out) {
  llvm::Expected<Spec> spec = readSpec(path);
  if (!spec)
    return spec.takeError();
  out << formatv(
      "{0}: {1} {2} for dispatch formation {3}", path, spec->entries.size(),
      spec->entries.size() == 1 ? "entry" : "entries", spec->dispatchVersion);
  if (spec->target)
    out << ", tuned on " << spec->target->cpu;
  if (spec->threads)
    out << formatv(" with {0} thread{1}", spec->threads,
                   spec->threads == 1 ? "" : "s");
  out << "\n";
  for (const SpecEntry &entry : spec->entries) {
    if (entry.matcher.empty())
      out << formatv("{0} {1} ({2})", entry.root, entry.shapes,
                     entry.fingerprint);
    else
      out << formatv("what {0} takes and no fingerprint names",
                     entry.dispatches());
    out << formatv(": schedule '{0}'", entry.configuration.schedule);
    for (const auto &[knob, value] : entry.configuration.values)
      out << formatv(", {0} = {1}", knob, toString(value));
    if (entry.isMeasured())
      out << formatv("; {0:e3} s became {1:e3} s, {2:f2}x as fast",
                     entry.baselineSeconds, entry.tunedSeconds, gainOf(entry));
    out << "\n";
  }
  for (const EntrySizes &sizes : spec->sizes)
    out << formatv("{0} is compiled for sizes {1}, too: it has entries of its "
                   "own for them\n",
                   sizes.entry, toString(sizes.sizes));
  return llvm::Error::success();
}
