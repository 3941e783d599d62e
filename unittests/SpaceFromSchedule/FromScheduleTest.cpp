//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/FromSchedule.h"

#include "attune/Dialect/Attune.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::HasSubstr;
using testing::StartsWith;

namespace {
class FromSchedule : public testing::Test {
protected:
  FromSchedule() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    bindings["m"] = 12;
    bindings["l1"] = 32;
  }

  /// The space of `body`, inside a named sequence with %m and %l1 bound.
  llvm::Expected<ScheduleSpace> read(const std::string &body) {
    std::string text =
        "module attributes {transform.with_named_sequence} {\n"
        "transform.named_sequence @schedule(%m: !transform.param<i64> "
        "{attune.bind = \"m\"}, %l1: !transform.param<i64> {attune.bind = "
        "\"l1\"}, %free: !transform.param<i64>, %none: !transform.param<i64> "
        "{attune.bind = \"none\"}) {\n" +
        body + "\ntransform.yield\n}}";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "s.mlir");
    if (!module)
      return llvm::createStringError("the text does not parse");
    return spaceFromSchedule("s", *module, bindings);
  }
  std::vector<std::string> list(const std::string &body) {
    auto result = read(body);
    if (!result)
      return {llvm::toString(result.takeError())};
    std::vector<std::string> all;
    for (uint64_t i = 0; i < result->space.count(); ++i)
      all.push_back(toString(result->space.at(i)));
    return all;
  }
  std::string errorOf(const std::string &body) {
    auto result = read(body);
    return result ? "no error" : llvm::toString(result.takeError());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<int64_t> bindings;
};
} // namespace

static std::string knob(const std::string &name, const std::string &selected,
                        const std::string &options,
                        const std::string &type = "!transform.param<i64>") {
  return "%" + name + " = transform.tune.knob<\"" + name + "\"> = " + selected +
         " from options = " + options + " -> " + type + "\n";
}

/// A constraint on integers: `operands` as %a, %b, ..., and the body.
static std::string constrain(const std::vector<std::string> &operands,
                             const std::string &body,
                             const std::string &type = "!smt.int") {
  std::string names, types, arguments;
  for (const std::string &operand : operands) {
    std::string comma = names.empty() ? "" : ", ";
    names += comma + operand;
    types += comma + "!transform.param<i64>";
    arguments += comma + "%arg_" + operand.substr(1) + ": " + type;
  }
  return "transform.smt.constrain_params(" + names + ") : (" + types +
         ") -> () {\n^bb0(" + arguments + "):\n" + body + "\n}\n";
}

TEST_F(FromSchedule, ReadsEveryDomainAndTheDefaults) {
  auto result =
      read(knob("r", "3 : i64", "#attune.range<1, 9, step = 2>") +
           knob("p", "4 : i64", "#attune.pow2<2, 8>") +
           knob("d", "6 : i64", "#attune.divisors<\"m\">") +
           knob("n", "3 : i64", "#attune.divisors<\"9\">") +
           knob("o", "array<i64: 1, 0>", "#attune.permutation<2>",
                "!transform.any_param") +
           knob("b", "true", "[false, true]", "!transform.any_param") +
           knob("c", "\"y\"", "[\"x\", \"y\"]", "!transform.any_param") +
           knob("i", "2", "[4, 2]"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->space.count(), 5u * 3 * 6 * 3 * 2 * 2 * 2 * 2);
  EXPECT_EQ(toString(result->defaults),
            "s r=3 p=4 d=6 n=3 o=[1,0] b=true c=y i=2");
}

TEST_F(FromSchedule, ConstraintsMixKnobsBindingsAndConstants) {
  EXPECT_THAT(
      list(knob("x", "9", "#attune.range<1, 9>") +
           knob("y", "9", "#attune.range<1, 9>") +
           "%four = transform.param.constant 4 : i64 -> "
           "!transform.param<i64>\n" +
           constrain({"%x", "%y", "%m", "%l1", "%four"},
                     "%z = smt.int.constant 0\n"
                     "%rest = smt.int.mod %arg_m, %arg_x\n"
                     "%divides = smt.eq %rest, %z : !smt.int\n"
                     "smt.assert %divides\n"
                     "%bytes = smt.int.mul %arg_x, %arg_y, %arg_four\n"
                     "%same = smt.eq %bytes, %arg_l1 : !smt.int\n"
                     "smt.assert %same\n")),
      testing::UnorderedElementsAre("s x=1 y=8", "s x=2 y=4", "s x=4 y=2"));
}

TEST_F(FromSchedule, DefaultIsTheNearestValidOne) {
  auto result = read(knob("x", "5", "#attune.range<1, 9>") +
                     constrain({"%x", "%m"}, "%z = smt.int.constant 0\n"
                                             "%r = smt.int.mod %arg_m, %arg_x\n"
                                             "%e = smt.eq %r, %z : !smt.int\n"
                                             "smt.assert %e"));
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(toString(result->defaults), "s x=6");
}

TEST_F(FromSchedule, BooleanOpsAndYieldedValues) {
  EXPECT_THAT(
      list(
          knob("x", "1", "#attune.range<-3, 3>") +
          knob("b", "true", "[true, false]", "!transform.param<i1>") +
          "%half = transform.smt.constrain_params(%x) : "
          "(!transform.param<i64>) "
          "-> (!transform.param<i64>) {\n^bb0(%v: !smt.int):\n"
          "%two = smt.int.constant 2\n%h = smt.int.div %v, %two\n"
          "smt.yield %h : !smt.int\n}\n" +
          "transform.smt.constrain_params(%half, %b) : (!transform.param<i64>, "
          "!transform.param<i1>) -> () {\n^bb0(%h: !smt.int, %t: !smt.bool):\n"
          // Euclidean: -3 div 2 is -2. b implies h = -2, not b implies h > 0.
          "%two = smt.int.constant -2\n%zero = smt.int.constant 0\n"
          "%low = smt.eq %h, %two : !smt.int\n%high = smt.int.cmp gt %h, "
          "%zero\n"
          "%want = smt.ite %t, %low, %high : !smt.bool\nsmt.assert %want\n"
          "%imp = smt.implies %t, %low\n%no = smt.not %t\n"
          "%or = smt.or %no, %imp\n%and = smt.and %or, %want\n"
          "%f = smt.constant false\n%odd = smt.xor %and, %f\nsmt.assert %odd\n"
          "%d = smt.distinct %h, %zero : !smt.int\nsmt.assert %d\n}\n"),
      testing::UnorderedElementsAre("s x=-3 b=true", "s x=2 b=false",
                                    "s x=3 b=false"));
}

TEST_F(FromSchedule, KnobsOfAnAlternativeExistWhenItIsChosen) {
  std::string body =
      knob("x", "1", "[1, 2]") + "transform.tune.alternatives<\"way\"> {\n" +
      "transform.yield\n}, {\n" + knob("inner", "2", "[1, 2, 3]") +
      constrain({"%inner", "%x"}, "%e = smt.int.cmp le %arg_inner, %arg_x\n"
                                  "smt.assert %e") +
      constrain({"%x"}, "%one = smt.int.constant 1\n"
                        "%e = smt.int.cmp gt %arg_x, %one\nsmt.assert %e") +
      "transform.yield\n}";
  EXPECT_THAT(list(body), testing::UnorderedElementsAre(
                              "s x=1 way=0", "s x=2 way=0",
                              "s x=2 way=1 inner=1", "s x=2 way=1 inner=2"));
  auto result = read(body);
  ASSERT_TRUE(bool(result));
  EXPECT_EQ(toString(result->defaults), "s x=1 way=0");
}

TEST_F(FromSchedule, ErrorsNameTheLine) {
  EXPECT_EQ(errorOf(knob("x", "1", "[1, 2]") +
                    "%y = transform.tune.knob<\"x\"> options = [1] -> "
                    "!transform.param<i64>"),
            "s.mlir:4: duplicate knob 'x', also at s.mlir:3");
  EXPECT_EQ(errorOf(knob("x", "1", "#attune.divisors<\"q\">")),
            "s.mlir:3: knob 'x': 'q' is neither a number nor a dimension that "
            "this dispatch binds");
  EXPECT_THAT(errorOf(knob("x", "1", "unit")), HasSubstr("is not a domain"));
  EXPECT_THAT(errorOf("%x = transform.tune.knob<\"x\"> options = [] -> "
                      "!transform.param<i64>"),
              HasSubstr("empty domain"));
  EXPECT_EQ(errorOf(constrain({"%free"}, "")),
            "s.mlir:3: an argument without attune.bind has no value that a "
            "constraint could use");
  EXPECT_EQ(errorOf(constrain({"%none"}, "")),
            "s.mlir:3: the argument bound to 'none' has no value here");
  EXPECT_THAT(errorOf(constrain({"%m"}, "%c = smt.bv.constant #smt.bv<1> : "
                                        "!smt.bv<8>")),
              testing::AllOf(StartsWith("s.mlir:5: 'smt.bv.constant'"),
                             HasSubstr("cannot be evaluated")));
  EXPECT_THAT(
      errorOf(knob("x", "0", "[0, 1]") +
              constrain({"%m", "%x"},
                        "%r = smt.int.mod %arg_m, %arg_x\n"
                        "%e = smt.eq %r, %r : !smt.int\nsmt.assert %e")),
      testing::AllOf(HasSubstr("s.mlir:8"),
                     HasSubstr("divides by zero for x=0")));
  EXPECT_THAT(
      errorOf(constrain({"%m"}, "%f = smt.constant false\n"
                                "smt.assert %f")),
      testing::AllOf(HasSubstr("unsatisfiable"), HasSubstr("s.mlir:6")));
}
