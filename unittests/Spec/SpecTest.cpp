//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Spec/Spec.h"

#include "attune/Dialect/Attune.h"
#include "attune/Support/Files.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <sys/stat.h>

using namespace attune;
using llvm::cantFail;
using llvm::StringRef;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

Target makeTarget() {
  Target target;
  target.cpu = "znver3";
  target.features = "+avx2,+fma";
  target.vectorBytes = 32;
  target.cores = 2;
  return target;
}

SpecEntry makeEntry(StringRef fingerprint, int64_t tile, double baseline,
                    double tuned) {
  SpecEntry entry;
  entry.fingerprint = fingerprint.str();
  entry.configuration = {"contraction_packed", {{"m_tile", tile}}};
  entry.root = "contraction";
  entry.shapes = "4x784x10xf32";
  entry.baselineSeconds = baseline;
  entry.tunedSeconds = tuned;
  return entry;
}

std::string errorOf(StringRef text) {
  auto spec = parseSpec(text, "spec.mlir");
  EXPECT_FALSE(static_cast<bool>(spec));
  return spec ? "" : llvm::toString(spec.takeError());
}

/// A spec with `body` as its entries.
std::string specWith(StringRef body, StringRef attributes = "") {
  return ("module attributes {attune.spec_version = 1 : i64,\n"
          "attune.dispatch_version = 1 : i64" +
          attributes + "} {\n" + body + "\n}\n")
      .str();
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

TEST(SpecTest, OnlyWhatGotFasterIsKept) {
  Spec spec = makeSpec(
      1, makeTarget(), 2,
      {makeEntry("aa", 1, 2e-5, 1e-5), makeEntry("bb", 2, 1e-5, 1e-5),
       makeEntry("cc", 3, 1e-5, 2e-5), makeEntry("dd", 4, 1e-5, NAN),
       makeEntry("ee", 5, 1e-5, 0), makeEntry("ff", 6, INFINITY, 1),
       makeEntry("aa", 7, 3e-5, 1e-5), makeEntry("aa", 8, 1.5e-5, 1e-5)});
  ASSERT_EQ(spec.entries.size(), 1u);
  EXPECT_EQ(spec.entries[0].fingerprint, "aa");
  EXPECT_EQ(toString(spec.entries[0].configuration),
            "contraction_packed m_tile=7");
}

TEST(SpecTest, ComesBackAsItWas) {
  SpecEntry entry = makeEntry("aa", 6, 0.1 / 3, 1e-5 / 7);
  entry.configuration.values = {{"a_list", std::vector<int64_t>{1, 0, 2}},
                                {"b_flag", true},
                                {"c_choice", std::string("outer \"x\"")},
                                {"d_share", 0.25},
                                {"m_tile", int64_t(6)}};
  Spec spec{3, makeTarget(), 2, {entry}};
  Spec back = cantFail(parseSpec(printSpec(spec), "spec.mlir"));
  EXPECT_EQ(back.dispatchVersion, 3);
  EXPECT_EQ(back.threads, 2);
  ASSERT_TRUE(back.target.has_value());
  EXPECT_EQ(*back.target, makeTarget());
  ASSERT_EQ(back.entries.size(), 1u);
  EXPECT_EQ(back.entries[0].configuration, entry.configuration);
  EXPECT_EQ(back.entries[0].baselineSeconds, entry.baselineSeconds);
  EXPECT_EQ(back.entries[0].tunedSeconds, entry.tunedSeconds);
  EXPECT_EQ(back.entries[0].root, "contraction");
  EXPECT_EQ(back.entries[0].shapes, "4x784x10xf32");
}

TEST(SpecTest, TextDoesNotDependOnTheOrder) {
  SpecEntry a = makeEntry("aa", 1, 2, 1), b = makeEntry("bb", 2, 2, 1);
  b.root = "aaa first by root";
  Spec forward{1, makeTarget(), 2, {a, b}}, back{1, makeTarget(), 2, {b, a}};
  std::string text = printSpec(forward);
  EXPECT_EQ(text, printSpec(back));
  EXPECT_LT(text.find("\"bb\""), text.find("\"aa\""));
}

TEST(SpecTest, TextIsForPeople) {
  Spec spec{1, makeTarget(), 2, {makeEntry("9f86d081884c7d65", 6, 2e-5, 1e-5)}};
  EXPECT_EQ(
      printSpec(spec),
      "// A tuning spec of Attune. To use it:\n"
      "//   attune compile MODEL --spec=THIS_FILE -o model.so\n"
      "module attributes {attune.dispatch_version = 1 : i64, "
      "attune.spec_version = 1 : i64, attune.target = #attune.target<cpu = "
      "\"znver3\", features = \"+avx2,+fma\", vectorBytes = 32, "
      "vectorRegisters = 16, cores = 2, l1 = 32768, l2 = 524288, l3 = "
      "8388608>, attune.threads = 2 : i64} {\n"
      "  attune.apply <\"contraction_packed\", {m_tile = 6 : i64}> to "
      "\"9f86d081884c7d65\" {baseline_seconds = 2.000000e-05 : f64, root = "
      "\"contraction\", shapes = \"4x784x10xf32\", tuned_seconds = "
      "1.000000e-05 : f64}\n"
      "}\n");
}

TEST(SpecTest, SizesComeBackNarrowestFirst) {
  Spec spec{1, std::nullopt, 0, {}, {}};
  spec.sizes = {{"main", {{2, 8}}}, {"main", {{8, 8}}}, {"main", {{8, 8}}}};
  Spec back = cantFail(parseSpec(printSpec(spec), "spec.mlir"));
  EXPECT_EQ(back.sizes,
            (std::vector<EntrySizes>{{"main", {{8, 8}}}, {"main", {{2, 8}}}}));
  Spec merged = cantFail(mergeSpecs({spec, back}));
  EXPECT_EQ(merged.sizes, back.sizes);
}

constexpr llvm::StringLiteral rows =
    "transform.named_sequence @rows(%op: !transform.any_op "
    "{transform.readonly}) {\n"
    "  transform.attune.match.contraction %op {m = [4]} : "
    "(!transform.any_op) -> ()\n  transform.yield\n}\n";

std::string specWithMatcher(StringRef sequence) {
  return specWith(
      (sequence + "attune.apply #attune.config<\"a\", {}> to @rows").str(),
      ", transform.with_named_sequence");
}

TEST(SpecTest, MatchersComeBackAndKeepApart) {
  Spec spec = cantFail(parseSpec(specWithMatcher(rows), "spec.mlir"));
  ASSERT_EQ(spec.entries.size(), 1u);
  EXPECT_EQ(spec.entries[0].dispatches(), "@rows");
  Spec back = cantFail(parseSpec(printSpec(spec), "spec.mlir"));
  EXPECT_EQ(back.entries[0].matcher, spec.entries[0].matcher);
  // The same matcher is one entry; another one of the same name is another.
  EXPECT_EQ(cantFail(mergeSpecs({spec, back})).entries.size(), 1u);
  std::string changed = rows.str();
  changed.replace(changed.find("[4]"), 3, "[5]");
  Spec other = cantFail(parseSpec(specWithMatcher(changed), "spec.mlir"));
  Spec merged = cantFail(mergeSpecs({spec, other}));
  ASSERT_EQ(merged.entries.size(), 2u);
  EXPECT_EQ(merged.entries[0].dispatches(), "@rows");
  EXPECT_EQ(merged.entries[1].dispatches(), "@rows_2");
  EXPECT_EQ(printSpec(merged), printSpec(cantFail(mergeSpecs({other, spec}))));
}

TEST(SpecTest, MatchersChangeNothing) {
  EXPECT_THAT(
      errorOf(specWith("attune.apply #attune.config<\"a\", {}> to @no")),
      HasSubstr("there is no matcher '@no'"));
  std::string harm = rows.str();
  harm.insert(harm.find("  transform.yield"),
              "transform.annotate %op \"a\" : !transform.any_op\n");
  EXPECT_THAT(errorOf(specWithMatcher(harm)),
              HasSubstr("'transform.annotate', which is no match op"));
}

TEST(SpecTest, WrittenFileIsRead) {
  auto folder = cantFail(TemporaryFolder::create());
  Spec spec{1, makeTarget(), 2, {makeEntry("aa", 6, 2, 1)}};
  cantFail(writeSpec(spec, folder.file("spec.mlir")));
  EXPECT_EQ(cantFail(readSpec(folder.file("spec.mlir"))).entries.size(), 1u);
  std::string missing = folder.file("no/folder/spec.mlir");
  EXPECT_THAT(llvm::toString(writeSpec(spec, missing)),
              HasSubstr("No such file"));
  EXPECT_THAT(llvm::toString(readSpec(missing).takeError()),
              HasSubstr("spec.mlir: No such file"));
}

TEST(SpecTest, ErrorsHaveAPlaceAndAWayOut) {
  EXPECT_THAT(errorOf("modul {}"), HasSubstr("spec.mlir:1: "));
  EXPECT_THAT(errorOf("\x01\x02"), HasSubstr("spec.mlir:1: "));
  EXPECT_THAT(errorOf("module {}"), HasSubstr("spec.mlir:1: not a spec"));
  EXPECT_THAT(errorOf("module attributes {attune.spec_version = 2 : i64} {}"),
              HasSubstr("spec.mlir:1: spec version 2; this Attune reads 1"));
  EXPECT_THAT(errorOf("module attributes {attune.spec_version = \"1\"} {}"),
              HasSubstr("not a spec"));
  EXPECT_THAT(errorOf("module attributes {attune.spec_version = 1 : i64} {}"),
              HasSubstr("attune.dispatch_version"));
  EXPECT_THAT(errorOf(specWith("func.func private @f()")),
              HasSubstr("spec.mlir:3: 'func.func' is not an entry"));
  EXPECT_THAT(errorOf(specWith("attune.unknown")), HasSubstr("spec.mlir:3: "));
  EXPECT_THAT(
      errorOf(specWith("attune.apply #attune.config<\"s\", {}> to \"\"")),
      HasSubstr("spec.mlir:3: an entry without a fingerprint"));
  EXPECT_THAT(
      errorOf(specWith("attune.apply #attune.config<\"s\", {k = f32}> to "
                       "\"aa\"")),
      HasSubstr("spec.mlir:3: knob 'k'"));
  EXPECT_THAT(
      errorOf(specWith("attune.apply #attune.config<\"s\", {}> to \"aa\" "
                       "{tuned_seconds = -1.0 : f64}")),
      HasSubstr("'tuned_seconds' is not a positive number"));
  EXPECT_THAT(
      errorOf(specWith("attune.apply #attune.config<\"s\", {}> to \"aa\"\n"
                       "attune.apply #attune.config<\"t\", {}> to \"aa\"")),
      HasSubstr("spec.mlir:4: a second entry for aa; the first is at "
                "spec.mlir:3"));
}

TEST(SpecTest, HandWrittenSpecNeedsNoTimes) {
  Spec spec = cantFail(parseSpec(
      specWith("attune.apply #attune.config<\"s\", {}> to \"aa\""), "x"));
  EXPECT_FALSE(spec.target.has_value());
  EXPECT_FALSE(spec.entries[0].isMeasured());
  EXPECT_EQ(cantFail(parseSpec(printSpec(spec), "x")).entries.size(), 1u);
}

//===----------------------------------------------------------------------===//
// Applying
//===----------------------------------------------------------------------===//

class ApplyTest : public testing::Test {
protected:
  ApplyTest() {
    mlir::DialectRegistry registry;
    registry.insert<AttuneDialect, mlir::func::FuncDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    program = mlir::parseSourceString<mlir::ModuleOp>(R"(
      module attributes {attune.dispatch_version = 1 : i64} {
        func.func private @one(tensor<4xf32>) -> tensor<4xf32>
          attributes {attune.dispatch = {fingerprint = "aa", root = "reduction"}}
        func.func private @two(tensor<4xf32>) -> tensor<4xf32>
          attributes {attune.dispatch = {fingerprint = "aa", root = "reduction"}}
        func.func private @three(tensor<4xf32>) -> tensor<4xf32>
          attributes {attune.dispatch = {fingerprint = "bb", root = "copy"}}
        func.func private @helper(tensor<4xf32>) -> tensor<4xf32>
      })",
                                                      &context);
  }
  ConfigAttr configOf(StringRef function) {
    return program->lookupSymbol<mlir::func::FuncOp>(function)
        ->getAttrOfType<ConfigAttr>(attr::config);
  }
  std::string printed(const ApplyResult &result) {
    std::string text;
    llvm::raw_string_ostream out(text);
    result.print(out);
    return text;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> program;
};

TEST_F(ApplyTest, EqualFingerprintsGetTheConfiguration) {
  ASSERT_TRUE(program);
  Spec spec{
      1, std::nullopt, 0, {makeEntry("aa", 6, 2, 1), makeEntry("zz", 7, 2, 1)}};
  ApplyResult result = applySpec(spec, *program);
  EXPECT_EQ(result.appliedCount(), 1);
  EXPECT_FALSE(result.appliedAll());
  EXPECT_THAT(result.entries[0].dispatches, ElementsAre("one", "two"));
  EXPECT_THAT(result.entries[1].dispatches, IsEmpty());
  EXPECT_THAT(result.untouched, ElementsAre("three"));
  ASSERT_TRUE(configOf("one") && configOf("two"));
  EXPECT_EQ(configOf("one").getSchedule(), "contraction_packed");
  EXPECT_FALSE(configOf("three"));
  EXPECT_FALSE(configOf("helper"));
  EXPECT_EQ(printed(result),
            "spec: 1 of 2 entries applied to 2 dispatches\n"
            "spec: zz contraction 4x784x10xf32: not applied: no dispatch of "
            "this program has this fingerprint\n");
}

TEST_F(ApplyTest, RefusedConfigurationIsReported) {
  Spec spec{1, std::nullopt, 0, {makeEntry("aa", 6, 2, 1)}};
  ApplyOptions options;
  options.check = [](const Configuration &configuration,
                     mlir::func::FuncOp dispatch) -> std::string {
    return dispatch.getSymName() == "two"
               ? "unknown schedule '" + configuration.schedule + "'"
               : "";
  };
  ApplyResult result = applySpec(spec, *program, options);
  EXPECT_THAT(result.entries[0].dispatches, ElementsAre("one"));
  EXPECT_EQ(result.entries[0].reason,
            "two: unknown schedule 'contraction_packed'");
  EXPECT_FALSE(configOf("two"));
  EXPECT_THAT(printed(result), HasSubstr("not applied everywhere"));
}

TEST_F(ApplyTest, WhatIsNotInTheCodeIsNotApplied) {
  Spec spec{1, std::nullopt, 0, {makeEntry("aa", 6, 2, 1)}};
  ApplyResult result = applySpec(spec, *program);
  std::string how = toString(spec.entries[0].configuration);
  verifyApplied(result, {{"one", how, "11"}, {"two", "loops", "22"}},
                {{"one", "contraction_packed m_tile=1", "11"}});
  EXPECT_TRUE(result.isVerified);
  EXPECT_THAT(result.entries[0].dispatches, ElementsAre("one"));
  EXPECT_EQ(result.entries[0].reason,
            "two was compiled as 'loops' all the same");
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_EQ(result.warnings[0],
            "one: the configuration makes the code of the untuned program");
  EXPECT_THAT(printed(result), HasSubstr("verified in the code"));
  verifyApplied(result, {});
  EXPECT_FALSE(result.appliedAll());
  EXPECT_EQ(result.entries[0].reason, "one is not in the library");
}

TEST_F(ApplyTest, OtherDispatchFormationAppliesNothing) {
  Spec spec{2, std::nullopt, 0, {makeEntry("aa", 6, 2, 1)}};
  ApplyResult result = applySpec(spec, *program);
  EXPECT_EQ(result.appliedCount(), 0);
  EXPECT_THAT(result.entries[0].reason, HasSubstr("tune again"));
  EXPECT_FALSE(configOf("one"));
  (*program)->removeAttr(attr::dispatchVersion);
  EXPECT_THAT(applySpec(spec, *program).entries[0].reason,
              HasSubstr("not split into dispatches"));
}

TEST_F(ApplyTest, AnotherMachineIsAWarning) {
  Spec spec{1, makeTarget(), 2, {makeEntry("aa", 6, 2, 1)}};
  ApplyOptions options;
  options.target = makeTarget();
  options.target->triple = "x86_64-linux-gnu";
  options.threads = 2;
  EXPECT_THAT(applySpec(spec, *program, options).warnings, IsEmpty());
  options.target->cores = 8;
  options.threads = 1;
  EXPECT_THAT(applySpec(spec, *program, options).warnings,
              ElementsAre("tuned on another znver3: features, cores or caches "
                          "differ",
                          "tuned with 2 threads, compiled for 1"));
  options.target->cpu = "skylake";
  EXPECT_EQ(applySpec(spec, *program, options).appliedCount(), 1);
  EXPECT_THAT(printed(applySpec(spec, *program, options)),
              HasSubstr("warning: tuned on znver3, compiled for skylake"));
}

TEST_F(ApplyTest, EmptySpecAppliesToNothing) {
  Spec spec;
  ApplyResult result = applySpec(spec, *program);
  EXPECT_TRUE(result.appliedAll());
  EXPECT_EQ(result.untouched.size(), 3u);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

std::string mergeError(llvm::ArrayRef<Spec> specs) {
  auto merged = mergeSpecs(specs);
  EXPECT_FALSE(static_cast<bool>(merged));
  return merged ? "" : llvm::toString(merged.takeError());
}

TEST(MergeTest, GreaterGainWinsInAnyOrder) {
  Spec a{1,
         makeTarget(),
         2,
         {makeEntry("aa", 1, 2e-5, 1e-5), makeEntry("bb", 2, 2, 1)}};
  // Slower in seconds, but on a slower day: three times its baseline.
  Spec b{1,
         makeTarget(),
         2,
         {makeEntry("aa", 3, 6e-5, 2e-5), makeEntry("cc", 4, 2, 1)}};
  std::vector<MergeNote> notes;
  Spec merged = cantFail(mergeSpecs({a, b}, &notes));
  EXPECT_EQ(merged.entries.size(), 3u);
  EXPECT_EQ(toString(merged.entries[0].configuration),
            "contraction_packed m_tile=3");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].reason, "gains 3.00x, the other 2.00x");
  EXPECT_EQ(printSpec(merged), printSpec(cantFail(mergeSpecs({b, a}))));
}

TEST(MergeTest, MeasuredWinsOverUnmeasured) {
  Spec a{1, std::nullopt, 0, {makeEntry("aa", 1, 0, 0)}};
  Spec b{1, makeTarget(), 2, {makeEntry("aa", 3, 2, 1)}};
  for (auto &order : {std::vector{a, b}, std::vector{b, a}}) {
    Spec merged = cantFail(mergeSpecs(order));
    EXPECT_EQ(toString(merged.entries[0].configuration),
              "contraction_packed m_tile=3");
    EXPECT_EQ(merged.target, makeTarget());
    EXPECT_EQ(merged.threads, 2);
  }
}

TEST(MergeTest, OfTwoUnmeasuredTheOneThatSaysMoreStays) {
  Spec a{1, makeTarget(), 2, {makeEntry("aa", 1, 0, 0)}};
  Spec b = a;
  b.entries[0].configuration.values.emplace_back("pack_a", true);
  for (auto &order : {std::vector{a, b}, std::vector{b, a}}) {
    std::vector<MergeNote> notes;
    Spec merged = cantFail(mergeSpecs(order, &notes));
    EXPECT_EQ(merged.entries[0].configuration, b.entries[0].configuration);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0].reason, "says more");
  }
}

TEST(MergeTest, WhatCannotBeDecidedIsAnError) {
  Spec a{1, makeTarget(), 2, {makeEntry("aa", 1, 0, 0)}};
  Spec b = a;
  EXPECT_EQ(cantFail(mergeSpecs({a, b})).entries.size(), 1u);
  b.entries[0] = makeEntry("aa", 2, 0, 0);
  EXPECT_THAT(mergeError({a, b}), HasSubstr("'contraction_packed m_tile=1' and "
                                            "'contraction_packed m_tile=2'"));
  b = a;
  b.dispatchVersion = 2;
  EXPECT_THAT(mergeError({a, b}), HasSubstr("dispatch formation (1 and 2)"));
  b = a;
  b.target->cpu = "skylake";
  EXPECT_THAT(mergeError({a, b}), HasSubstr("(znver3 and skylake)"));
  b = a;
  b.threads = 1;
  EXPECT_THAT(mergeError({a, b}), HasSubstr("2 and 1 threads"));
  EXPECT_THAT(mergeError({}), HasSubstr("no specs"));
}

TEST(MergeTest, FilesAreMergedAndExplained) {
  auto folder = cantFail(TemporaryFolder::create());
  std::string a = folder.file("a.mlir"), b = folder.file("b.mlir");
  cantFail(writeSpec({1, makeTarget(), 2, {makeEntry("aa", 1, 2, 1)}}, a));
  cantFail(writeSpec({1, makeTarget(), 2, {makeEntry("aa", 2, 3, 1)}}, b));
  std::string text;
  llvm::raw_string_ostream out(text);
  cantFail(mergeSpecFiles({a, b}, folder.file("c.mlir"), out));
  EXPECT_THAT(text, HasSubstr("kept 'contraction_packed m_tile=2', which gains "
                              "3.00x, the other 2.00x"));
  EXPECT_THAT(text, HasSubstr("c.mlir: 1 entry from 2 specs"));
  text.clear();
  cantFail(explainSpec(folder.file("c.mlir"), out));
  EXPECT_THAT(text, HasSubstr("schedule 'contraction_packed', m_tile = 2; "
                              "3.000e+00 s became 1.000e+00 s, 3.00x"));
}

} // namespace
