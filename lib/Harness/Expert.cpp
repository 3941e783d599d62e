//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Experts as values: composed, printed, written and read.

#include "attune/Harness/Expert.h"

#include "ExpertText.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/TuneExtension/TuneExtensionOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using transform::NamedSequenceOp;

namespace attune {

Expert Expert::then(Transformation next) const {
  Expert result = *this;
  result.printed.reset();
  result.steps.push_back(std::move(next));
  return result;
}

Expert Expert::then(const Expert &next) const {
  Expert result = *this;
  result.printed.reset();
  llvm::append_range(result.steps, next.steps);
  llvm::append_range(result.requirements, next.requirements);
  return result;
}

Expert Expert::require(std::string expression, std::string why) const {
  Expert result = *this;
  result.printed.reset();
  result.requirements.push_back({std::move(expression), std::move(why)});
  return result;
}

Expert Expert::fits(std::vector<std::string> classes) const {
  Expert result = *this;
  result.printed.reset();
  result.classes = std::move(classes);
  return result;
}

ExpertValues Expert::operator()(
    std::vector<std::pair<std::string, KnobValue>> values) const {
  return ExpertValues(*this, std::move(values));
}

namespace {

/// A module in a context of its own.
struct Parsed {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;

  NamedSequenceOp find(StringRef name) {
    return dyn_cast_or_null<NamedSequenceOp>(
        SymbolTable::lookupSymbolIn(*module, name));
  }
  std::string print() {
    std::string text;
    llvm::raw_string_ostream out(text);
    module->print(out);
    return text + "\n";
  }
};

} // namespace

/// `where` is a file for messages.
static llvm::Expected<OwningOpRef<ModuleOp>>
parseModule(MLIRContext &context, StringRef text, StringRef where) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (!message.empty() ||
        diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    llvm::raw_string_ostream stream(message);
    if (auto location =
            diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
      stream << where << ":" << location.getLine() << ": ";
    stream << diagnostic;
    return success();
  });
  auto module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context), where);
  if (module)
    return module;
  if (message.empty())
    message = (where + ": cannot be parsed").str();
  return makeError("{0}", message);
}

static llvm::Expected<Parsed> parseSchedule(StringRef text, StringRef where) {
  DialectRegistry registry;
  registerAllDialects(registry);
  Parsed parsed;
  parsed.context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  auto module = parseModule(*parsed.context, text, where);
  if (!module)
    return module.takeError();
  parsed.module = std::move(*module);
  if (!parsed.find("schedule") && !(*parsed.module)->hasAttr("attune.extends"))
    return makeError("{0}: there is no named sequence @schedule", where);
  return parsed;
}

//===----------------------------------------------------------------------===//
// Steps after a schedule that was read
//===----------------------------------------------------------------------===//

/// The argument that is bound as an argument of `other` is; added if it is new.
static Value findArgument(NamedSequenceOp sequence, NamedSequenceOp other,
                          unsigned index) {
  auto bound = other.getArgAttrOfType<StringAttr>(index, attr::bind);
  for (unsigned i = 0; i < sequence.getNumArguments(); ++i) {
    auto name = sequence.getArgAttrOfType<StringAttr>(i, attr::bind);
    bool isFunction = i == 0 && !name && bound.getValue() == "func";
    if (name == bound || isFunction)
      return sequence.getArgument(i);
  }
  unsigned last = sequence.getNumArguments();
  (void)sequence.insertArgument(last, other.getArgumentTypes()[index],
                                other.getArgAttrDict(index), sequence.getLoc());
  return sequence.getArgument(last);
}

static void append(NamedSequenceOp sequence, NamedSequenceOp steps) {
  IRMapping mapping;
  for (unsigned i = 0; i < steps.getNumArguments(); ++i)
    mapping.map(steps.getArgument(i), findArgument(sequence, steps, i));
  OpBuilder builder(sequence.getBody().front().getTerminator());
  for (Operation &op : steps.getBody().front().without_terminator())
    builder.clone(op, mapping);
}

/// The name of a knob, or of a choice among regions that is a knob; else empty.
static StringRef knobOf(Operation *op) {
  if (auto knob = dyn_cast<transform::tune::KnobOp>(op))
    return knob.getName();
  if (auto choice = dyn_cast<transform::tune::AlternativesOp>(op);
      choice && !choice.getSelectedRegionAttr() &&
      !choice.getSelectedRegionParam())
    return choice.getName();
  return "";
}

static std::string findDuplicateKnob(NamedSequenceOp sequence) {
  llvm::StringSet<llvm::MallocAllocator> names;
  std::string duplicate;
  if (sequence)
    sequence.walk([&](Operation *op) {
      if (StringRef name = knobOf(op);
          !name.empty() && !names.insert(name).second)
        duplicate = name.str();
    });
  return duplicate;
}

static llvm::Expected<std::string> goOn(StringRef name, StringRef base,
                                        const std::string &steps) {
  auto parsed = parseSchedule(base, name);
  if (!parsed)
    return parsed.takeError();
  auto more = parseModule(*parsed->context, steps, name);
  if (!more)
    return more.takeError();
  for (StringRef which : {"schedule", "lower"}) {
    auto next = dyn_cast_or_null<NamedSequenceOp>(
        SymbolTable::lookupSymbolIn(**more, which));
    if (!next)
      continue;
    if (NamedSequenceOp sequence = parsed->find(which))
      append(sequence, next);
    else
      parsed->module->push_back(next->clone());
  }
  if (std::string twice = findDuplicateKnob(parsed->find("schedule"));
      !twice.empty())
    return makeError("expert '{0}': the schedule that was read has a knob "
                     "'{1}' already",
                     name, twice);
  return parsed->print();
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> Expert::str() const {
  if (!printed) {
    auto text = print();
    if (!text)
      return text.takeError();
    printed = std::make_shared<const std::string>(std::move(*text));
  }
  return *printed;
}

llvm::Expected<std::string> Expert::print() const {
  if (!base.empty() && !classes.empty())
    return makeError("expert '{0}' was read from a schedule, which says itself "
                     "what it fits",
                     name);
  if (!base.empty() && steps.empty() && requirements.empty())
    return base;
  auto text = writeSchedule({name, classes, steps, requirements,
                             /*continues=*/!base.empty()});
  if (!text)
    return text.takeError();
  if (!base.empty())
    return goOn(name, base, *text);
  auto parsed = parseSchedule(*text, "expert '" + name + "'");
  if (!parsed)
    return parsed.takeError();
  return parsed->print();
}

static llvm::Expected<KnobValue> toValue(Attribute attribute) {
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return KnobValue(boolean.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute))
    return KnobValue(integer.getInt());
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return KnobValue(real.getValueAsDouble());
  if (auto text = dyn_cast<StringAttr>(attribute))
    return KnobValue(text.getValue().str());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return KnobValue(std::vector<int64_t>(list.asArrayRef()));
  return makeError("a knob's value is of no type that knobs have");
}

llvm::Expected<std::vector<ExpertKnob>> Expert::knobs() const {
  auto text = str();
  if (!text)
    return text.takeError();
  auto parsed = parseSchedule(*text, name);
  if (!parsed)
    return parsed.takeError();
  NamedSequenceOp sequence = parsed->find("schedule");
  std::vector<ExpertKnob> knobs;
  llvm::Error error = llvm::Error::success();
  if (sequence)
    sequence.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto choice = dyn_cast<transform::tune::AlternativesOp>(op);
          choice && !knobOf(op).empty()) {
        std::string domain = "[";
        for (size_t i = 0; i < choice.getAlternatives().size(); ++i)
          domain += (i ? ", " : "") + std::to_string(i);
        knobs.push_back({choice.getName().str(), domain + "]", int64_t(0)});
      }
      auto knob = dyn_cast<transform::tune::KnobOp>(op);
      if (!knob || error)
        return;
      std::string domain;
      llvm::raw_string_ostream(domain) << knob.getOptions();
      ExpertKnob entry{knob.getName().str(), std::move(domain), int64_t(0)};
      if (Attribute selected = knob.getSelectedAttr()) {
        auto value = toValue(selected);
        if (!value) {
          error = value.takeError();
          return;
        }
        entry.selected = std::move(*value);
      }
      knobs.push_back(std::move(entry));
    });
  if (error)
    return std::move(error);
  return knobs;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

llvm::Error Expert::write(StringRef folder) const {
  auto text = str();
  if (!text)
    return text.takeError();
  SmallString<128> path(folder);
  llvm::sys::path::append(path, name + ".mlir");
  return writeFile(path, *text);
}

static llvm::Expected<Expert> fromText(StringRef name, StringRef text,
                                       StringRef where, std::string &base) {
  auto parsed = parseSchedule(text, where);
  if (!parsed)
    return parsed.takeError();
  base = parsed->print();
  return Expert(name.str());
}

llvm::Expected<Expert> Expert::parse(StringRef name, StringRef text) {
  std::string base;
  auto expert = fromText(name, text, name, base);
  if (expert)
    expert->base = std::move(base);
  return expert;
}

llvm::Expected<Expert> Expert::read(StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  std::string base;
  auto expert = fromText(llvm::sys::path::stem(path), *text, path, base);
  if (expert)
    expert->base = std::move(base);
  return expert;
}

} // namespace attune
