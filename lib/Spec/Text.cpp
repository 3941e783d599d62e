//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A spec as text: out and in.

#include "attune/Spec/Spec.h"

#include "Matchers.h"
#include "attune/Dialect/Attune.h"
#include "attune/Schedule/ConfigAttr.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Nesting.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <map>

using namespace attune;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Names in the file
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral specVersionName = "attune.spec_version";
static constexpr llvm::StringLiteral targetName = "attune.target";
static constexpr llvm::StringLiteral threadsName = "attune.threads";
static constexpr llvm::StringLiteral rootName = "root";
static constexpr llvm::StringLiteral shapesName = "shapes";
static constexpr llvm::StringLiteral baselineName = "baseline_seconds";
static constexpr llvm::StringLiteral tunedName = "tuned_seconds";

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

/// By what a person looks for; the fingerprint makes the order total. Matchers
/// come last, in the order they have: the first of several counts.
static bool comesBefore(const SpecEntry &a, const SpecEntry &b) {
  bool isMatcher = !a.matcher.empty();
  if (isMatcher || !b.matcher.empty())
    return !isMatcher;
  return std::tie(a.root, a.shapes, a.fingerprint) <
         std::tie(b.root, b.shapes, b.fingerprint);
}

static bool isFaster(const SpecEntry &a, const SpecEntry &b) {
  return a.baselineSeconds * b.tunedSeconds >
         b.baselineSeconds * a.tunedSeconds;
}

Spec attune::makeSpec(int64_t dispatchVersion, const Target &target,
                      int64_t threads, std::vector<SpecEntry> results) {
  std::map<std::string, SpecEntry> best;
  for (SpecEntry &entry : results) {
    if (!entry.isMeasured() || !std::isfinite(entry.baselineSeconds) ||
        !(entry.tunedSeconds < entry.baselineSeconds))
      continue;
    auto [known, isNew] = best.try_emplace(entry.fingerprint, entry);
    if (!isNew && isFaster(entry, known->second))
      known->second = entry;
  }
  Spec spec{dispatchVersion, target, threads, {}, {}};
  for (auto &[fingerprint, entry] : best)
    spec.entries.push_back(std::move(entry));
  llvm::sort(spec.entries, comesBefore);
  return spec;
}

static Attribute toAttribute(MLIRContext *context, const Target &target) {
  return TargetMachineAttr::get(context, target.cpu, target.features,
                                target.vectorBytes, target.vectorRegisters,
                                target.cores, target.l1Bytes, target.l2Bytes,
                                target.l3Bytes);
}

static void addEntry(OpBuilder &builder, const SpecEntry &entry) {
  Attribute dispatches = builder.getStringAttr(entry.fingerprint);
  if (!entry.matcher.empty())
    dispatches = FlatSymbolRefAttr::get(
        builder.getContext(), StringRef(entry.dispatches()).drop_front());
  auto apply = ApplyOp::create(
      builder, builder.getUnknownLoc(),
      toAttr(builder.getContext(), entry.configuration), dispatches);
  apply->setDiscardableAttr(rootName, builder.getStringAttr(entry.root));
  apply->setDiscardableAttr(shapesName, builder.getStringAttr(entry.shapes));
  if (!entry.isMeasured())
    return;
  apply->setDiscardableAttr(baselineName,
                            builder.getF64FloatAttr(entry.baselineSeconds));
  apply->setDiscardableAttr(tunedName,
                            builder.getF64FloatAttr(entry.tunedSeconds));
}

static void addSizes(OpBuilder &builder, const EntrySizes &sizes) {
  SmallVector<Attribute> ranges;
  for (SizeRange range : sizes.sizes)
    ranges.push_back(
        RangeAttr::get(builder.getContext(), range.lower, range.upper, 1));
  SizesOp::create(builder, builder.getUnknownLoc(),
                  builder.getStringAttr(sizes.entry),
                  builder.getArrayAttr(ranges));
}

std::string attune::printSpec(const Spec &spec) {
  auto context = makeSpecContext();
  OpBuilder builder(context.get());
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  (*module)->setAttr(specVersionName, builder.getI64IntegerAttr(specVersion));
  (*module)->setAttr(attr::dispatchVersion,
                     builder.getI64IntegerAttr(spec.dispatchVersion));
  if (spec.target)
    (*module)->setAttr(targetName, toAttribute(context.get(), *spec.target));
  if (spec.threads > 0)
    (*module)->setAttr(threadsName, builder.getI64IntegerAttr(spec.threads));
  std::vector<SpecEntry> sorted = spec.entries;
  llvm::stable_sort(sorted, comesBefore);
  builder.setInsertionPointToStart(module->getBody());
  for (const SpecEntry &entry : sorted) {
    addMatcher(*module, entry);
    addEntry(builder, entry);
  }
  std::vector<EntrySizes> sizes = spec.sizes;
  sortSizes(sizes);
  for (const EntrySizes &one : sizes)
    addSizes(builder, one);

  std::string text = "// A tuning spec of Attune. To use it:\n"
                     "//   attune compile MODEL --spec=THIS_FILE -o model.so\n";
  llvm::raw_string_ostream out(text);
  module->print(out);
  return text;
}

llvm::Error attune::writeSpec(const Spec &spec, llvm::StringRef path) {
  return writeFile(path, printSpec(spec));
}

//===----------------------------------------------------------------------===//
// In
//===----------------------------------------------------------------------===//

namespace {

/// Turns a module into a spec; errors have the place.
class Reader {
public:
  explicit Reader(llvm::StringRef name) : name(name) {}
  llvm::Expected<Spec> read(ModuleOp module);

private:
  llvm::Error errorAt(Location location, const llvm::Twine &message) const;
  llvm::Expected<int64_t> readVersion(ModuleOp module,
                                      llvm::StringRef attribute) const;
  llvm::Expected<SpecEntry> readEntry(ApplyOp apply) const;
  llvm::Expected<double> readSeconds(ApplyOp apply,
                                     llvm::StringRef attribute) const;

  llvm::StringRef name;
};

} // namespace

/// `file:line`, as far as known.
static std::string placeOf(llvm::StringRef name, Location location) {
  if (auto place = location->findInstanceOf<FileLineColLoc>())
    return (name + ":" + llvm::Twine(place.getLine())).str();
  return name.str();
}

llvm::Error Reader::errorAt(Location location,
                            const llvm::Twine &message) const {
  return makeError("{0}: {1}", placeOf(name, location), message.str());
}

llvm::Expected<int64_t> Reader::readVersion(ModuleOp module,
                                            llvm::StringRef attribute) const {
  auto version = module->getAttrOfType<IntegerAttr>(attribute);
  if (!version || !version.getType().isSignlessInteger(64))
    return errorAt(module.getLoc(), "not a spec: the module has no '" +
                                        attribute +
                                        "' (an i64; `attune tune` writes it)");
  return version.getInt();
}

llvm::Expected<double> Reader::readSeconds(ApplyOp apply,
                                           llvm::StringRef attribute) const {
  Attribute value = apply->getAttr(attribute);
  if (!value)
    return 0;
  auto seconds = dyn_cast<FloatAttr>(value);
  double number = seconds ? seconds.getValueAsDouble() : 0;
  if (!std::isfinite(number) || number <= 0)
    return errorAt(apply.getLoc(),
                   "'" + attribute + "' is not a positive number of seconds");
  return number;
}

llvm::Expected<SpecEntry> Reader::readEntry(ApplyOp apply) const {
  SpecEntry entry;
  entry.fingerprint = apply.getFingerprint().str();
  if (FlatSymbolRefAttr name = apply.getMatcher()) {
    llvm::Expected<std::string> matcher =
        readMatcher(apply->getParentOfType<ModuleOp>(), name.getValue());
    if (!matcher)
      return errorAt(apply.getLoc(), llvm::toString(matcher.takeError()));
    entry.matcher = std::move(*matcher);
  } else if (entry.fingerprint.empty()) {
    return errorAt(apply.getLoc(), "an entry without a fingerprint");
  }
  auto configuration = toConfiguration(apply.getConfig());
  if (!configuration)
    return errorAt(apply.getLoc(), llvm::toString(configuration.takeError()));
  entry.configuration = std::move(*configuration);
  if (auto root = apply->getAttrOfType<StringAttr>(rootName))
    entry.root = root.str();
  if (auto shapes = apply->getAttrOfType<StringAttr>(shapesName))
    entry.shapes = shapes.str();
  for (auto [attribute, field] :
       {std::pair(baselineName, &entry.baselineSeconds),
        std::pair(tunedName, &entry.tunedSeconds)}) {
    llvm::Expected<double> seconds = readSeconds(apply, attribute);
    if (!seconds)
      return seconds.takeError();
    *field = *seconds;
  }
  return entry;
}

static EntrySizes readSizes(SizesOp op) {
  EntrySizes sizes{op.getEntry().str(), {}};
  for (auto range : op.getRanges().getAsRange<RangeAttr>())
    sizes.sizes.push_back({range.getLower(), range.getUpper()});
  return sizes;
}

llvm::Expected<Spec> Reader::read(ModuleOp module) {
  llvm::Expected<int64_t> version = readVersion(module, specVersionName);
  if (!version)
    return version.takeError();
  if (*version < 1 || *version > specVersion)
    return errorAt(module.getLoc(), "spec version " + llvm::Twine(*version) +
                                        "; this Attune reads 1 to " +
                                        llvm::Twine(specVersion) +
                                        ": update Attune, or tune again");
  Spec spec;
  llvm::Expected<int64_t> dispatch = readVersion(module, attr::dispatchVersion);
  if (!dispatch)
    return dispatch.takeError();
  spec.dispatchVersion = *dispatch;
  if (auto target = module->getAttrOfType<TargetMachineAttr>(targetName))
    spec.target = Target{"",
                         target.getCpu().str(),
                         target.getFeatures().str(),
                         target.getVectorBytes(),
                         target.getVectorRegisters(),
                         target.getCores(),
                         target.getL1(),
                         target.getL2(),
                         target.getL3()};
  if (auto threads = module->getAttrOfType<IntegerAttr>(threadsName))
    spec.threads = threads.getInt();
  llvm::StringMap<Location> places;
  for (Operation &op : *module.getBody()) {
    if (auto sizes = dyn_cast<SizesOp>(op)) {
      spec.sizes.push_back(readSizes(sizes));
      continue;
    }
    if (isMatcher(&op))
      continue; // read with the entry that uses it
    auto apply = dyn_cast<ApplyOp>(op);
    if (!apply)
      return errorAt(op.getLoc(), "'" + op.getName().getStringRef() +
                                      "' is not an entry of a spec");
    llvm::Expected<SpecEntry> entry = readEntry(apply);
    if (!entry)
      return entry.takeError();
    std::string dispatches = entry->dispatches();
    auto [known, isNew] = places.try_emplace(dispatches, op.getLoc());
    if (!isNew)
      return errorAt(op.getLoc(), "a second entry for " + dispatches +
                                      "; the first is at " +
                                      placeOf(name, known->second));
    spec.entries.push_back(std::move(*entry));
  }
  return spec;
}

llvm::Expected<Spec> attune::parseSpec(llvm::StringRef text,
                                       llvm::StringRef name) {
  if (isNestedDeeper(text, maxMlirDepth, Syntax::Mlir))
    return makeError("{0}: nested more than {1} deep", name, maxMlirDepth);
  auto context = makeSpecContext();
  std::string message;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message =
          placeOf(name, diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
  ParserConfig config(context.get());
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, config, name);
  if (!module)
    return makeError("{0}", message.empty()
                                ? (name + ": not an MLIR module").str()
                                : llvm::StringRef(message).split('\n').first);
  return Reader(name).read(*module);
}

llvm::Expected<Spec> attune::readSpec(llvm::StringRef path) {
  llvm::Expected<std::string> text = readFile(path);
  if (!text)
    return text.takeError();
  return parseSpec(*text, path);
}
