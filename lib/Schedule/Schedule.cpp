//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Bind.h"
#include "Constraints.h"
#include "Form.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>

using namespace mlir;
using namespace attune;
using transform::NamedSequenceOp;
using transform::tune::AlternativesOp;
using transform::tune::KnobOp;

namespace {

/// A knob, or an unresolved choice among alternatives, as a domain.
struct Choice {
  std::string name;
  Attribute domain;
  Attribute selected; ///< The file's default; null if it has none.
};

SmallVector<Choice> collectChoices(NamedSequenceOp sequence) {
  SmallVector<Choice> choices;
  Builder builder(sequence.getContext());
  sequence.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto knob = dyn_cast<KnobOp>(op))
      choices.push_back(
          {knob.getName().str(), knob.getOptions(), knob.getSelectedAttr()});
    auto alternatives = dyn_cast<AlternativesOp>(op);
    if (alternatives && !alternatives.getSelectedRegionAttr() &&
        !alternatives.getSelectedRegionParam()) {
      auto indices = llvm::to_vector(
          llvm::seq<int64_t>(0, alternatives.getAlternatives().size()));
      choices.push_back({alternatives.getName().str(),
                         builder.getI64ArrayAttr(indices),
                         builder.getI64IntegerAttr(0)});
    }
  });
  return choices;
}

NamedSequenceOp findSequence(ModuleOp module, StringRef name) {
  return dyn_cast_or_null<NamedSequenceOp>(
      SymbolTable::lookupSymbolIn(module, name));
}

/// Constraints see a choice by the index of its option.
llvm::Expected<int64_t> constraintValue(Value operand,
                                        const Configuration &configuration,
                                        const Bindings &bindings) {
  if (auto argument = dyn_cast<BlockArgument>(operand)) {
    auto sequence =
        dyn_cast<NamedSequenceOp>(argument.getOwner()->getParentOp());
    auto name = sequence ? sequence.getArgAttrOfType<StringAttr>(
                               argument.getArgNumber(), attr::bind)
                         : StringAttr();
    if (name && bindings.contains(name.getValue()))
      return bindings.lookup(name.getValue());
    return makeError("a constraint uses an argument that is not bound");
  }
  auto knob = operand.getDefiningOp<KnobOp>();
  if (!knob)
    return makeError("a constraint may use knobs and bound arguments only");
  const KnobValue *value = configuration.find(knob.getName());
  if (!value)
    return makeError("knob '{0}' has no value", knob.getName());
  if (auto integer = std::get_if<int64_t>(value))
    return *integer;
  if (auto boolean = std::get_if<bool>(value))
    return int64_t(*boolean);
  auto values = listDomain(knob.getOptions(), bindings);
  if (!values)
    return values.takeError();
  return llvm::find(*values, *value) - values->begin();
}

llvm::Error checkValues(ArrayRef<Choice> choices,
                        const Configuration &configuration,
                        const Bindings &bindings) {
  for (const Choice &choice : choices) {
    const KnobValue *value = configuration.find(choice.name);
    if (!value)
      return makeError("knob '{0}' of schedule '{1}' has no value", choice.name,
                       configuration.schedule);
    auto inside = isInDomain(choice.domain, *value, bindings);
    if (!inside)
      return inside.takeError();
    std::string domain;
    llvm::raw_string_ostream(domain) << choice.domain;
    if (!*inside)
      return makeError("knob '{0}': {1} is not in {2}", choice.name,
                       toString(*value), domain);
  }
  llvm::StringSet<llvm::MallocAllocator> seen;
  for (auto &[name, value] : configuration.values) {
    if (llvm::none_of(choices, [&](const Choice &c) { return c.name == name; }))
      return makeError("schedule '{0}' has no knob '{1}'",
                       configuration.schedule, name);
    if (!seen.insert(name).second)
      return makeError("knob '{0}' is given twice", name);
  }
  return llvm::Error::success();
}

llvm::Error checkConstraints(NamedSequenceOp sequence,
                             const Configuration &configuration,
                             const Bindings &bindings) {
  SmallVector<transform::smt::ConstrainParamsOp> constraints;
  sequence.walk(
      [&](transform::smt::ConstrainParamsOp op) { constraints.push_back(op); });
  for (transform::smt::ConstrainParamsOp constraint : constraints)
    if (llvm::Error error = evaluateConstraint(constraint, [&](Value operand) {
          return constraintValue(operand, configuration, bindings);
        }))
      return error;
  return llvm::Error::success();
}

/// Puts the values in and takes the constraints, which were checked, out.
void resolve(NamedSequenceOp sequence, const Configuration &configuration) {
  MLIRContext *context = sequence.getContext();
  sequence.walk([&](Operation *op) {
    if (auto knob = dyn_cast<KnobOp>(op)) {
      if (const KnobValue *value = configuration.find(knob.getName()))
        knob.setSelectedAttr(toKnobAttr(context, *value));
    } else if (auto alternatives = dyn_cast<AlternativesOp>(op)) {
      const KnobValue *value = configuration.find(alternatives.getName());
      if (value && !alternatives.getSelectedRegionAttr() &&
          !alternatives.getSelectedRegionParam())
        alternatives.setSelectedRegionAttrAttr(
            Builder(context).getIndexAttr(std::get<int64_t>(*value)));
    } else if (isa<transform::smt::ConstrainParamsOp>(op)) {
      op->erase();
    }
  });
}

/// The value of the domain that is nearest to the wanted one.
llvm::Expected<KnobValue> clampToDomain(const Choice &choice,
                                        const KnobValue &wanted,
                                        const Bindings &bindings) {
  auto inside = isInDomain(choice.domain, wanted, bindings);
  if (!inside)
    return inside.takeError();
  if (*inside)
    return wanted;
  auto values = listDomain(choice.domain, bindings);
  if (!values)
    return values.takeError();
  if (values->empty())
    return makeError("knob '{0}' has an empty domain", choice.name);
  KnobValue best = values->front();
  auto number = std::get_if<int64_t>(&wanted);
  if (number && std::holds_alternative<bool>(best))
    return KnobValue(*number != 0);
  for (const KnobValue &value : *values) {
    auto candidate = std::get_if<int64_t>(&value);
    auto current = std::get_if<int64_t>(&best);
    if (number && candidate && current &&
        std::abs(*candidate - *number) < std::abs(*current - *number))
      best = value;
  }
  return best;
}

constexpr StringLiteral defaultPrefix = "attune.default.";

/// What `@default` says, by knob.
llvm::Expected<llvm::StringMap<KnobValue>>
computeDefaults(ModuleOp module, func::FuncOp dispatch,
                const Bindings &bindings) {
  llvm::StringMap<KnobValue> defaults;
  NamedSequenceOp sequence = findSequence(module, "default");
  if (!sequence)
    return defaults;
  DispatchParts parts = analyzeDispatch(dispatch);
  if (llvm::Error error = runSequence(sequence, dispatch, parts, bindings))
    return std::move(error);
  SmallVector<StringAttr> written;
  for (NamedAttribute attribute : dispatch->getDiscardableAttrs())
    if (attribute.getName().getValue().starts_with(defaultPrefix))
      written.push_back(attribute.getName());
  for (StringAttr name : written) {
    auto value = fromKnobAttr(dispatch->getAttr(name));
    if (!value)
      return value.takeError();
    defaults[name.getValue().drop_front(defaultPrefix.size())] = *value;
    dispatch->removeAttr(name);
  }
  return defaults;
}

/// Where there is nothing to compute there is nothing to tile.
llvm::Error rejectEmpty(func::FuncOp dispatch) {
  bool empty = false;
  dispatch.walk([&](linalg::LinalgOp op) {
    empty |= llvm::is_contained(loopExtents(op), 0);
  });
  return empty ? makeError("dispatch '{0}' has a loop without iterations",
                           dispatch.getName())
               : llvm::Error::success();
}

/// How much of a change it is: doublings between sizes, much for what is none.
double knobDistance(const KnobValue &a, const KnobValue &b) {
  auto *from = std::get_if<int64_t>(&a), *to = std::get_if<int64_t>(&b);
  constexpr double otherKind = 100;
  if (!from || !to || *from < 0 || *to < 0)
    return a == b ? 0 : otherKind;
  return std::abs(std::log2(double(*from + 1) / double(*to + 1)));
}

func::FuncOp functionOf(ModuleOp module) {
  return *module.getOps<func::FuncOp>().begin();
}

} // namespace

llvm::Error Schedule::reform(func::FuncOp dispatch) const {
  auto form = (*module)->getAttrOfType<StringAttr>("attune.form");
  return form ? convolutionToProduct(dispatch) : llvm::Error::success();
}

llvm::Expected<OwningOpRef<ModuleOp>>
Schedule::reformed(func::FuncOp dispatch) const {
  OwningOpRef<ModuleOp> copy = ModuleOp::create(dispatch.getLoc());
  auto func = cast<func::FuncOp>(dispatch->clone());
  copy->push_back(func);
  if (llvm::Error error = reform(func))
    return std::move(error);
  return copy;
}

llvm::Expected<Schedule::Bound> Schedule::bind(func::FuncOp dispatch,
                                               const Target &target,
                                               int64_t threads) const {
  auto copy = reformed(dispatch);
  if (!copy)
    return copy.takeError();
  func::FuncOp func = functionOf(**copy);
  auto bindings = bindDispatch(func, target, threads);
  if (!bindings)
    return bindings.takeError();
  return Bound{std::move(*copy), func, std::move(*bindings)};
}

llvm::Expected<Bindings> Schedule::bindProblem(func::FuncOp dispatch,
                                               const Target &target,
                                               int64_t threads) const {
  auto bound = bind(dispatch, target, threads);
  if (!bound)
    return bound.takeError();
  return std::move(bound->bindings);
}

NamedSequenceOp Schedule::sequence() const {
  return findSequence(module.get(), "schedule");
}

llvm::Error Schedule::fits(func::FuncOp dispatch, const Target &target,
                           int64_t threads) const {
  NamedSequenceOp matcher = findSequence(module.get(), "fits");
  if (!matcher)
    return llvm::Error::success();
  if (llvm::Error error = rejectEmpty(dispatch))
    return error;
  auto bound = bind(dispatch, target, threads);
  if (!bound)
    return bound.takeError();
  auto &[copy, func, bindings] = *bound;
  DispatchParts parts = analyzeDispatch(func);
  return runSequence(matcher, func, parts, bindings);
}

llvm::Expected<int64_t> Schedule::priorityFor(func::FuncOp dispatch,
                                              const Target &target,
                                              int64_t threads) const {
  NamedSequenceOp sequence = findSequence(module.get(), "priority");
  if (!sequence)
    return priority;
  auto bound = bind(dispatch, target, threads);
  if (!bound)
    return bound.takeError();
  auto &[copy, func, bindings] = *bound;
  DispatchParts parts = analyzeDispatch(func);
  if (llvm::Error error = runSequence(sequence, func, parts, bindings))
    return std::move(error);
  auto found = func->getAttrOfType<IntegerAttr>("attune.priority");
  return found ? found.getInt() : priority;
}

llvm::Error Schedule::check(const Configuration &configuration,
                            const Bindings &bindings) const {
  if (configuration.schedule != scheduleName)
    return makeError("a configuration of schedule '{0}' for schedule '{1}'",
                     configuration.schedule, scheduleName);
  if (llvm::Error error =
          checkValues(collectChoices(sequence()), configuration, bindings))
    return error;
  return checkConstraints(sequence(), configuration, bindings);
}

llvm::Expected<Configuration>
Schedule::defaultConfiguration(func::FuncOp dispatch, const Target &target,
                               int64_t threads) const {
  auto bound = bind(dispatch, target, threads);
  if (!bound)
    return bound.takeError();
  auto &[copy, func, bindings] = *bound;
  auto defaults = computeDefaults(module.get(), func, bindings);
  if (!defaults)
    return defaults.takeError();
  SmallVector<Choice> choices = collectChoices(sequence());
  Configuration configuration{scheduleName, {}};
  for (const Choice &choice : choices) {
    KnobValue wanted = int64_t(0);
    if (auto found = defaults->find(choice.name); found != defaults->end()) {
      wanted = found->second;
    } else if (choice.selected) {
      auto value = fromKnobAttr(choice.selected);
      if (!value)
        return value.takeError();
      wanted = *value;
    }
    auto value = clampToDomain(choice, wanted, bindings);
    if (!value)
      return value.takeError();
    configuration.values.push_back({choice.name, *value});
  }
  llvm::Error violated = check(configuration, bindings);
  if (!violated)
    return configuration;
  auto repaired = repair(configuration, bindings);
  if (!repaired)
    return llvm::joinErrors(std::move(violated), repaired.takeError());
  if (!*repaired)
    return std::move(violated);
  llvm::consumeError(std::move(violated));
  return std::move(**repaired);
}

llvm::Expected<std::optional<Configuration>>
Schedule::repair(const Configuration &configuration,
                 const Bindings &bindings) const {
  std::optional<Configuration> nearest;
  double least = 0;
  for (auto [index, choice] : llvm::enumerate(collectChoices(sequence()))) {
    auto values = listDomain(choice.domain, bindings);
    if (!values)
      return values.takeError();
    for (const KnobValue &value : *values) {
      double change = knobDistance(configuration.values[index].second, value);
      if (nearest && change >= least)
        continue;
      Configuration other = configuration;
      other.values[index].second = value;
      if (llvm::Error error = check(other, bindings)) {
        llvm::consumeError(std::move(error));
        continue;
      }
      nearest = std::move(other);
      least = change;
    }
  }
  return nearest;
}

llvm::Error Schedule::apply(func::FuncOp dispatch,
                            const Configuration &configuration,
                            const Target &target, int64_t threads) const {
  if (llvm::Error error = reform(dispatch))
    return error;
  auto bindings = bindDispatch(dispatch, target, threads);
  if (!bindings)
    return bindings.takeError();
  if (llvm::Error error = check(configuration, *bindings))
    return error;
  if (findSequence(module.get(), "fits"))
    if (llvm::Error error = rejectEmpty(dispatch))
      return error;
  OwningOpRef<ModuleOp> clone = cast<ModuleOp>((*module)->clone());
  NamedSequenceOp resolved = findSequence(*clone, "schedule");
  resolve(resolved, configuration);
  DispatchParts parts = analyzeDispatch(dispatch);
  annotateOps(parts);
  if (llvm::Error error = runSequence(resolved, dispatch, parts, *bindings))
    return error;
  eraseAnnotations(dispatch);
  if (failed(verify(dispatch)))
    return makeError("schedule '{0}' made invalid IR of '{1}'", scheduleName,
                     dispatch.getName());
  return llvm::Error::success();
}

llvm::Error Schedule::applyLower(func::FuncOp dispatch,
                                 const Configuration &configuration,
                                 const Bindings &bindings) const {
  if (!findSequence(module.get(), "lower"))
    return llvm::Error::success();
  OwningOpRef<ModuleOp> clone = cast<ModuleOp>((*module)->clone());
  NamedSequenceOp resolved = findSequence(*clone, "lower");
  resolve(resolved, configuration);
  DispatchParts none; // there is no root op on buffers
  return runSequence(resolved, dispatch, none, bindings);
}
