//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/FromSchedule.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Error.h"
#include "mlir/Dialect/SMT/IR/SMTOps.h"
#include "mlir/Dialect/Transform/IR/TransformOps.h"
#include "mlir/Dialect/Transform/SMTExtension/SMTExtensionOps.h"
#include "mlir/Dialect/Transform/TuneExtension/TuneExtensionOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attune;
using Kind = Expression::Op;

namespace {

/// `file:line`, of the place where the op was written.
std::string placeOf(Operation *op) {
  if (auto location = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return llvm::formatv("{0}:{1}", location.getFilename().getValue(),
                         location.getLine())
        .str();
  return op->getName().getStringRef().str();
}

template <typename... Args>
llvm::Error errorAt(Operation *op, const char *format, Args &&...args) {
  return makeError("{0}: {1}", placeOf(op),
                   llvm::formatv(format, std::forward<Args>(args)...).str());
}

std::string print(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

class Reader {
public:
  explicit Reader(const llvm::StringMap<int64_t> &bindings)
      : bindings(bindings) {}
  llvm::Expected<ScheduleSpace> read(StringRef schedule, Operation *root);

private:
  using Values = DenseMap<Value, Expression>;

  /// `when` is the choice of regions that leads here; nothing: always.
  llvm::Error visit(Region &region, std::optional<Expression> when);
  llvm::Error visit(Operation &op, std::optional<Expression> when);
  llvm::Error readKnob(transform::tune::KnobOp op,
                       std::optional<Expression> when);
  llvm::Error readAlternatives(transform::tune::AlternativesOp op,
                               std::optional<Expression> when);
  llvm::Error readConstraint(transform::smt::ConstrainParamsOp op,
                             std::optional<Expression> when);
  llvm::Error addKnob(Operation *op, StringRef name, Domain domain,
                      std::optional<Expression> when);

  llvm::Expected<Domain> readDomain(Attribute options);
  llvm::Expected<Domain> readOptions(ArrayAttr options);
  llvm::Expected<int64_t> numberOf(StringRef name);
  llvm::Expected<KnobValue> readValue(Attribute attribute);

  /// What a parameter of the transform dialect stands for.
  llvm::Expected<Expression> parameter(Operation *user, Value value);
  llvm::Expected<Expression> bound(Operation *user, BlockArgument argument);
  /// Whether `expression` asks for a knob that need not exist.
  std::vector<Expression> presencesOf(const Expression &expression);

  const llvm::StringMap<int64_t> &bindings;
  std::vector<Knob> knobs;
  llvm::StringMap<std::string> places; ///< Of knobs.
  std::vector<Expression> constraints;
  Configuration selected;
  Values parameters;
};

} // namespace

//===----------------------------------------------------------------------===//
// Domains and values
//===----------------------------------------------------------------------===//

llvm::Expected<int64_t> Reader::numberOf(StringRef name) {
  int64_t number;
  if (!name.getAsInteger(10, number))
    return number;
  auto found = bindings.find(name);
  if (found == bindings.end())
    return makeError("'{0}' is neither a number nor a dimension that this "
                     "dispatch binds",
                     name);
  return found->second;
}

llvm::Expected<KnobValue> Reader::readValue(Attribute attribute) {
  if (auto boolean = dyn_cast<BoolAttr>(attribute))
    return KnobValue(boolean.getValue());
  if (auto integer = dyn_cast<IntegerAttr>(attribute);
      integer && integer.getValue().getSignificantBits() <= 64)
    return KnobValue(integer.getValue().getSExtValue());
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return KnobValue(number.getValueAsDouble());
  if (auto text = dyn_cast<StringAttr>(attribute))
    return KnobValue(text.getValue().str());
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attribute))
    return KnobValue(std::vector<int64_t>(list.asArrayRef()));
  return makeError("{0} is not the value of a knob", print(attribute));
}

llvm::Expected<Domain> Reader::readOptions(ArrayAttr options) {
  std::vector<KnobValue> values;
  for (Attribute option : options) {
    auto value = readValue(option);
    if (!value)
      return value.takeError();
    values.push_back(std::move(*value));
  }
  if (values.empty())
    return makeError("empty domain: there are no options");
  for (const KnobValue &value : values)
    if (value.index() != values[0].index())
      return makeError("the options are not of one type");
  auto listOf = [&]<typename T>(T) {
    std::vector<T> list;
    for (const KnobValue &value : values)
      list.push_back(std::get<T>(value));
    return list;
  };
  if (std::holds_alternative<int64_t>(values[0]))
    return Domain::integers(listOf(int64_t()));
  if (std::holds_alternative<double>(values[0]))
    return Domain::floats(listOf(double()));
  if (std::holds_alternative<std::string>(values[0]))
    return Domain::choice(listOf(std::string()));
  if (auto *first = std::get_if<bool>(&values[0])) {
    if (values.size() != 2 || values[0] == values[1])
      return makeError("the options of a boolean are [true, false]");
    return Domain::boolean(*first);
  }
  return makeError("lists are not options; use #attune.permutation");
}

llvm::Expected<Domain> Reader::readDomain(Attribute options) {
  if (auto array = dyn_cast<ArrayAttr>(options))
    return readOptions(array);
  if (auto range = dyn_cast<RangeAttr>(options))
    return Domain::range(range.getLower(), range.getUpper(), range.getStep());
  if (auto pow2 = dyn_cast<Pow2Attr>(options))
    return Domain::powersOfTwo(pow2.getLower(), pow2.getUpper());
  if (auto permutation = dyn_cast<PermutationAttr>(options))
    return Domain::permutation(permutation.getSize());
  if (auto divisors = dyn_cast<DivisorsAttr>(options)) {
    auto number = numberOf(divisors.getOf());
    if (!number)
      return number.takeError();
    return Domain::divisors(*number);
  }
  return makeError("{0} is not a domain: use #attune.range, #attune.pow2, "
                   "#attune.divisors, #attune.permutation or a list",
                   print(options));
}

//===----------------------------------------------------------------------===//
// Knobs and alternatives
//===----------------------------------------------------------------------===//

llvm::Error Reader::addKnob(Operation *op, StringRef name, Domain domain,
                            std::optional<Expression> when) {
  auto [place, isNew] = places.try_emplace(name, placeOf(op));
  if (!isNew)
    return errorAt(op, "duplicate knob '{0}', also at {1}", name,
                   place->second);
  if (when)
    when = when->withPlace(placeOf(op));
  knobs.push_back({name.str(), std::move(domain), std::move(when)});
  return llvm::Error::success();
}

llvm::Error Reader::readKnob(transform::tune::KnobOp op,
                             std::optional<Expression> when) {
  auto domain = readDomain(op.getOptions());
  if (!domain)
    return errorAt(op, "knob '{0}': {1}", op.getName(),
                   llvm::toString(domain.takeError()));
  if (llvm::Error error = addKnob(op, op.getName(), std::move(*domain), when))
    return error;
  parameters.try_emplace(op.getResult(), Expression::knob(op.getName()));
  if (!op.getSelected())
    return llvm::Error::success();
  auto value = readValue(*op.getSelected());
  if (!value)
    return errorAt(op, "knob '{0}': {1}", op.getName(),
                   llvm::toString(value.takeError()));
  selected.values.emplace_back(op.getName().str(), std::move(*value));
  return llvm::Error::success();
}

std::vector<Expression> Reader::presencesOf(const Expression &expression) {
  std::vector<Expression> result;
  for (const std::string &name : expression.getKnobs())
    for (const Knob &knob : knobs)
      if (knob.name == name && knob.condition)
        result.push_back(Expression::present(name));
  return result;
}

llvm::Error Reader::readAlternatives(transform::tune::AlternativesOp op,
                                     std::optional<Expression> when) {
  if (op.getSelectedRegionParam())
    return errorAt(op,
                   "alternatives '{0}' take their choice from a parameter; "
                   "leave it to the tuner",
                   op.getName());
  std::optional<int64_t> fixed;
  if (auto region = op.getSelectedRegionAttr())
    fixed = region->getSExtValue();
  size_t count = op->getNumRegions();
  if (!fixed) {
    auto domain = Domain::range(0, int64_t(count) - 1);
    if (!domain)
      return errorAt(op, "alternatives '{0}' have no region: {1}", op.getName(),
                     llvm::toString(domain.takeError()));
    if (llvm::Error error = addKnob(op, op.getName(), std::move(*domain), when))
      return error;
    selected.values.emplace_back(op.getName().str(), KnobValue(int64_t(0)));
  }
  Expression choice = Expression::knob(op.getName());
  auto isChosen = [&](size_t i) {
    return Expression::make(Kind::Eq, {choice, Expression::constant(i)});
  };
  for (auto [i, region] : llvm::enumerate(op.getAlternatives())) {
    if (fixed && *fixed != int64_t(i))
      continue;
    if (llvm::Error error =
            visit(region, fixed ? when : std::optional(isChosen(i))))
      return error;
  }
  // Results that are parameters: what the chosen region yields.
  for (auto [number, result] : llvm::enumerate(op.getResults())) {
    std::optional<Expression> value;
    bool isKnown = true;
    for (size_t i = count; i-- > 0 && isKnown;) {
      if (fixed && *fixed != int64_t(i))
        continue;
      Operation *yield = op->getRegion(i).front().getTerminator();
      auto found = parameters.find(yield->getOperand(number));
      isKnown = found != parameters.end();
      if (!isKnown)
        break;
      if (!value) {
        value = found->second;
        continue;
      }
      std::vector<Expression> needs = presencesOf(found->second);
      needs.push_back(isChosen(i));
      value = Expression::make(Kind::If, {Expression::make(Kind::And, needs),
                                          found->second, *value});
    }
    if (isKnown && value)
      parameters.try_emplace(result, *value);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

llvm::Expected<Expression> Reader::bound(Operation *user,
                                         BlockArgument argument) {
  auto function =
      dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto bind = function ? function.getArgAttrOfType<StringAttr>(
                             argument.getArgNumber(), attr::bind)
                       : StringAttr();
  if (!bind)
    return errorAt(user, "an argument without attune.bind has no value that a "
                         "constraint could use");
  auto found = bindings.find(bind.getValue());
  if (found == bindings.end())
    return errorAt(user, "the argument bound to '{0}' has no value here",
                   bind.getValue());
  return Expression::constant(found->second);
}

llvm::Expected<Expression> Reader::parameter(Operation *user, Value value) {
  if (auto found = parameters.find(value); found != parameters.end())
    return found->second;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return bound(user, argument);
  Operation *definition = value.getDefiningOp();
  if (auto constant = dyn_cast<transform::ParamConstantOp>(definition)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (number && number.getValue().getSignificantBits() <= 64) {
      bool isTruth = number.getType().isInteger(1);
      return Expression::constant(isTruth ? number.getValue().getBoolValue()
                                          : number.getValue().getSExtValue());
    }
    return errorAt(user, "{0} is not an integer of 64 bits",
                   print(constant.getValue()));
  }
  return errorAt(user,
                 "a constraint is on the result of '{0}': only knobs, "
                 "bound arguments, constants and results of other "
                 "constraints have a value before the schedule runs",
                 definition->getName());
}

/// All operands pairwise, or only neighbours, by `op`; all must hold.
static Expression pairs(Kind op, ArrayRef<Expression> operands, bool all) {
  std::vector<Expression> result;
  for (size_t i = 0; i + 1 < operands.size(); ++i)
    for (size_t k = i + 1; k < (all ? operands.size() : i + 2); ++k)
      result.push_back(Expression::make(op, {operands[i], operands[k]}));
  return result.size() == 1 ? result[0] : Expression::make(Kind::And, result);
}

static Expression fold(Kind op, ArrayRef<Expression> operands, int64_t empty) {
  if (operands.empty())
    return Expression::constant(empty);
  if (operands.size() == 1)
    return operands[0];
  return Expression::make(op, operands.vec());
}

/// The value of an op of the SMT dialect, or nothing if it is none of ours.
static std::optional<Expression> translate(Operation &op,
                                           ArrayRef<Expression> in) {
  auto make = [&](Kind kind) { return Expression::make(kind, in.vec()); };
  using Result = std::optional<Expression>;
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case<smt::IntConstantOp>([](auto o) -> Result {
        if (o.getValue().getSignificantBits() > 64)
          return std::nullopt;
        return Expression::constant(o.getValue().getSExtValue());
      })
      .Case<smt::BoolConstantOp>(
          [](auto o) { return Expression::constant(o.getValue()); })
      .Case<smt::IntAddOp>([&](auto) { return fold(Kind::Add, in, 0); })
      .Case<smt::IntMulOp>([&](auto) { return fold(Kind::Mul, in, 1); })
      .Case<smt::IntSubOp>([&](auto) { return make(Kind::Sub); })
      .Case<smt::IntDivOp>([&](auto) { return make(Kind::EuclidDiv); })
      .Case<smt::IntModOp>([&](auto) { return make(Kind::EuclidMod); })
      .Case<smt::IntAbsOp>([&](auto) { return make(Kind::Abs); })
      .Case<smt::IntCmpOp>([&](auto o) {
        switch (o.getPred()) {
        case smt::IntPredicate::lt:
          return make(Kind::Lt);
        case smt::IntPredicate::le:
          return make(Kind::Le);
        case smt::IntPredicate::gt:
          return make(Kind::Gt);
        case smt::IntPredicate::ge:
          return make(Kind::Ge);
        }
        llvm_unreachable("unknown predicate");
      })
      .Case<smt::EqOp>([&](auto) { return pairs(Kind::Eq, in, false); })
      .Case<smt::DistinctOp>([&](auto) { return pairs(Kind::Ne, in, true); })
      .Case<smt::NotOp>([&](auto) { return make(Kind::Not); })
      .Case<smt::AndOp>([&](auto) { return fold(Kind::And, in, 1); })
      .Case<smt::OrOp>([&](auto) { return fold(Kind::Or, in, 0); })
      .Case<smt::XOrOp>([&](auto) {
        Expression result = in[0];
        for (const Expression &operand : in.drop_front())
          result = Expression::make(Kind::Ne, {result, operand});
        return result;
      })
      .Case<smt::ImpliesOp>(
          [&](auto) { return Expression::make(Kind::Or, {!in[0], in[1]}); })
      .Case<smt::IteOp>([&](auto) { return make(Kind::If); })
      .Default([](Operation *) { return std::nullopt; });
}

llvm::Error Reader::readConstraint(transform::smt::ConstrainParamsOp op,
                                   std::optional<Expression> when) {
  Values values;
  Block &body = op.getBody().front();
  for (auto [operand, argument] :
       llvm::zip_equal(op.getParams(), body.getArguments())) {
    auto value = parameter(op, operand);
    if (!value)
      return value.takeError();
    values.try_emplace(argument, std::move(*value));
  }
  auto why = op->getAttrOfType<StringAttr>("attune.why");
  for (Operation &inner : body) {
    SmallVector<Expression> in;
    for (Value operand : inner.getOperands()) {
      auto found = values.find(operand);
      if (found == values.end())
        return errorAt(&inner,
                       "'{0}' uses a value from outside of its "
                       "constraint",
                       inner.getName());
      in.push_back(found->second);
    }
    if (isa<smt::YieldOp>(inner)) {
      for (auto [result, value] : llvm::zip(op.getResults(), in))
        parameters.try_emplace(result, value);
    } else if (isa<smt::AssertOp>(inner)) {
      Expression holds =
          when ? Expression::make(Kind::Or, {!*when, in[0]}) : in[0];
      // With the reason, if the schedule gives one, in place of the formula.
      holds = holds.withPlace(placeOf(&inner));
      constraints.push_back(why ? holds.withSource(why.str()) : holds);
    } else if (auto value = translate(inner, in)) {
      values.try_emplace(inner.getResult(0), std::move(*value));
    } else {
      return errorAt(&inner,
                     "'{0}' cannot be evaluated: constraints of "
                     "schedules are over integers of 64 bits and "
                     "booleans",
                     inner.getName());
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

llvm::Error Reader::visit(Operation &op, std::optional<Expression> when) {
  if (auto knob = dyn_cast<transform::tune::KnobOp>(op))
    return readKnob(knob, when);
  if (auto alternatives = dyn_cast<transform::tune::AlternativesOp>(op))
    return readAlternatives(alternatives, when);
  if (auto constraint = dyn_cast<transform::smt::ConstrainParamsOp>(op))
    return readConstraint(constraint, when);
  for (Region &region : op.getRegions())
    if (llvm::Error error = visit(region, when))
      return error;
  return llvm::Error::success();
}

llvm::Error Reader::visit(Region &region, std::optional<Expression> when) {
  for (Operation &op : region.getOps())
    if (llvm::Error error = visit(op, when))
      return error;
  return llvm::Error::success();
}

llvm::Expected<ScheduleSpace> Reader::read(StringRef schedule,
                                           Operation *root) {
  selected.schedule = schedule.str();
  if (llvm::Error error = visit(*root, std::nullopt))
    return std::move(error);
  auto space =
      Space::create(schedule.str(), std::move(knobs), std::move(constraints));
  if (!space)
    return makeError("schedule '{0}': {1}", schedule,
                     llvm::toString(space.takeError()));
  if (space->count() == 0)
    return makeError("schedule '{0}': unsatisfiable: {1}", schedule,
                     space->explainEmptiness());
  Configuration defaults = space->nearest(selected);
  return ScheduleSpace{std::move(*space), std::move(defaults)};
}

llvm::Expected<ScheduleSpace>
attune::spaceFromSchedule(llvm::StringRef schedule, Operation *root,
                          const llvm::StringMap<int64_t> &bindings) {
  return Reader(bindings).read(schedule, root);
}
