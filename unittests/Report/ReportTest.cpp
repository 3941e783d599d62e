//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Report/Report.h"

#include "attune/Report/Progress.h"
#include "attune/Support/Files.h"
#include "llvm/Support/FileSystem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace llvm;
using namespace attune;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace {

SessionReport makeReport() {
  SessionReport report;
  report.model = "mlp.mlir";
  report.command = "attune tune mlp.mlir --budget=2m";
  report.resultFolder = "results";
  report.budget = "2m";
  report.elapsedSeconds = 118;
  report.startedAt = 1769864700;
  report.seed = 0xfedcba9876543210;
  report.threads = 2;
  report.target.cpu = "znver3";
  report.target.cores = 2;
  report.versions = {{"attune", "0.1.0"}, {"llvm", "22.1.0"}};
  report.stopReason = "budget spent";
  report.program = {"program", 12.3e-3, 8.45e-3, {1.456, 1.41, 1.5}, true, ""};
  report.entries = {report.program};
  report.entries[0].name = "main";

  DispatchReport tuned;
  tuned.name = "contraction_4x784x10";
  tuned.fingerprint = "9f86d081884c7d65";
  tuned.rootOp = "contraction";
  tuned.shapes = "4x784x10xf32";
  tuned.share = 0.9;
  tuned.count = 3;
  tuned.baselineSeconds = 20.1e-6;
  tuned.tunedSeconds = 13.8e-6;
  tuned.speedup = {1.4565, 1.41, 1.5};
  tuned.configuration = {"contraction_packed", {{"m_tile", int64_t(6)}}};
  tuned.reason = "budget spent";
  tuned.trials[Outcome::Ok] = 10;
  tuned.trials[Outcome::Crash] = 2;
  tuned.reusedTrials = 4;
  tuned.bestSpeedupAfterTrial = {1,   1,   1.2, 1.2, 1.3,    1.3,
                                 1.3, 1.4, 1.4, 1.4, 1.4565, 1.4565};
  tuned.failures = {{Outcome::Crash,
                     {"contraction_packed", {{"m_tile", int64_t(8)}}},
                     "died of SIGSEGV",
                     "failures/3.txt"}};

  DispatchReport untuned;
  untuned.name = "softmax_4x10";
  untuned.fingerprint = "0000000000000001";
  untuned.rootOp = "reduction";
  untuned.shapes = "4x10xf32";
  untuned.share = 0.1;
  untuned.baselineSeconds = untuned.tunedSeconds = 1.5e-6;
  untuned.reason = "best of 40 is within noise";
  report.dispatches = {untuned, tuned};
  return report;
}

template <typename Print> std::string textOf(Print print) {
  std::string text;
  raw_string_ostream out(text);
  print(out);
  return text;
}
std::string tableOf(const SessionReport &report) {
  return textOf([&](raw_ostream &out) { printTable(report, out); });
}
std::string closingOf(const SessionReport &report) {
  return textOf([&](raw_ostream &out) { printClosing(report, out); });
}
std::string logOf(const SessionReport &report) {
  return textOf([&](raw_ostream &out) { printLog(report, out); });
}
std::string htmlOf(const SessionReport &report) {
  return textOf([&](raw_ostream &out) { printHTML(report, out); });
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

TEST(UnitsTest, TimesHaveThreeDigits) {
  EXPECT_EQ(formatSeconds(1.2345e-9), "1.23 ns");
  EXPECT_EQ(formatSeconds(12.345e-6), "12.3 µs");
  EXPECT_EQ(formatSeconds(999.4e-6), "999 µs");
  EXPECT_EQ(formatSeconds(999.6e-6), "1.00 ms");
  EXPECT_EQ(formatSeconds(9.996e-3), "10.0 ms");
  EXPECT_EQ(formatSeconds(99.96e-3), "100 ms");
  EXPECT_EQ(formatSeconds(1.5), "1.50 s");
  EXPECT_EQ(formatSeconds(3600), "3600 s");
  EXPECT_EQ(formatSeconds(0), "-");
  EXPECT_EQ(formatSeconds(NAN), "-");
  EXPECT_EQ(formatSpeedup(1.456), "1.46x");
  EXPECT_EQ(formatSpeedup(INFINITY), "-");
  EXPECT_EQ(formatShare(0.1234), "12.3 %");
}

TEST(UnitsTest, TextIsCutBetweenCharacters) {
  EXPECT_EQ(fitText("abc", 3), "abc");
  EXPECT_EQ(fitText("abcd", 3), "ab…");
  EXPECT_EQ(fitText("äöüß", 3), "äö…");
  EXPECT_EQ(fitText("a\nb\x1b[31m", 20), "a b [31m");
  EXPECT_EQ(fitText("abc", 0), "");
  EXPECT_EQ(fitText(std::string(1 << 20, 'x'), 4), "xxx…");
  EXPECT_TRUE(json::isUTF8(fitText("\xff\xfe", 5)));
}

//===----------------------------------------------------------------------===//
// Terminal
//===----------------------------------------------------------------------===//

TEST(TableTest, IsAlignedAndSorted) {
  EXPECT_EQ(
      tableOf(makeReport()),
      R"(dispatch                 root op      shape          share  baseline    tuned  speed-up
3x contraction_4x784x10  contraction  4x784x10xf32  90.0 %   20.1 µs  13.8 µs  1.46x
softmax_4x10             reduction    4x10xf32      10.0 %   1.50 µs  1.50 µs  no gain: best of 40 …
)");
}

TEST(TableTest, FitsInAHundredColumns) {
  SessionReport report = makeReport();
  report.dispatches[0].name = std::string(200, 'n');
  report.dispatches[0].shapes = std::string(200, 's');
  report.dispatches[0].reason = "because\n" + std::string(200, 'r');
  std::string table = tableOf(report);
  SmallVector<StringRef> lines;
  StringRef(table).split(lines, '\n', -1, false);
  EXPECT_EQ(lines.size(), 3u);
  for (StringRef line : lines)
    EXPECT_LE(textWidth(line), 100u);
  EXPECT_THAT(table, HasSubstr("20.1 µs  13.8 µs"));
}

TEST(TableTest, LongListsEndWithARest) {
  SessionReport report = makeReport();
  report.dispatches.resize(100, report.dispatches[0]);
  EXPECT_THAT(tableOf(report), HasSubstr("and 70 more with 700.0 % of"));
}

TEST(ClosingTest, SaysWhatHappened) {
  EXPECT_EQ(closingOf(makeReport()),
            "whole program: 12.3 ms before, 8.45 ms after: 1.46x (1.41x to "
            "1.50x)\n"
            "outputs agree with the reference\n"
            "12 trials in 118 s: budget spent\n"
            "results in results (spec.mlir, report.html, summary.json)\n");
}

TEST(ClosingTest, SaysWhatIsWrong) {
  SessionReport report = makeReport();
  report.program.outputsAgree = false;
  report.program.disagreement = "result 0 at [1, 2]: 0.5 instead of 0.25";
  report.program.speedup = {1.01, 0.98, 1.03};
  report.entries.push_back(report.entries[0]);
  report.warnings = {"weights were left out and got random values"};
  EXPECT_THAT(closingOf(report),
              AllOf(HasSubstr("main: 12.3 ms before"),
                    HasSubstr("no difference that can be measured"),
                    HasSubstr("OUTPUTS DIFFER from the reference: "
                              "result 0 at [1, 2]"),
                    HasSubstr("warning: weights were left out")));
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

ProgressState makeState() {
  return {"tuning", "contraction_4x784x10", 3, 17, 120, 5, 1.456, 151, 600};
}

TEST(ProgressTest, LineSaysWhereItIs) {
  EXPECT_EQ(formatProgress(makeState()),
            "tuning 3/17 contraction_4x784x10  120 trials (5 failed)  best "
            "1.46x  2:31 of 10:00");
  EXPECT_EQ(formatProgress(makeState(), 70),
            "tuning 3/17 contrac…  120 trials (5 failed)  best 1.46x  2:31 "
            "of 10:00");
  EXPECT_LE(textWidth(formatProgress(makeState(), 20)), 20u);
  ProgressState state;
  state.stage = "verifying";
  state.elapsedSeconds = 3725;
  EXPECT_EQ(formatProgress(state), "verifying  1:02:05");
}

TEST(ProgressTest, TerminalRewritesOneLine) {
  FakeClock clock;
  std::string text;
  raw_string_ostream out(text);
  ProgressState state;
  state.stage = "first";
  {
    Progress progress(out, Progress::Style::Terminal, clock);
    progress.update(state);
    progress.update(state); // Too soon.
    clock.advance(1);
    state.elapsedSeconds = 1;
    progress.update(state);
    progress.note("a message");
  }
  std::string blank = "\r" + std::string(11, ' ') + "\r";
  EXPECT_EQ(text, "first  0:00" + blank + "first  0:01" + blank +
                      "a message\nfirst  0:01" + blank);
}

TEST(ProgressTest, FileGetsALineNowAndThen) {
  FakeClock clock;
  std::string text;
  raw_string_ostream out(text);
  Progress progress(out, Progress::Style::Lines, clock);
  ProgressState state;
  state.stage = "a";
  for (int i = 0; i < 70; ++i, clock.advance(1)) {
    state.elapsedSeconds = i;
    progress.update(state);
  }
  state.stage = "b";
  progress.update(state);
  progress.finish();
  EXPECT_EQ(text, "a  0:00\na  0:30\na  1:00\nb  1:09\n");
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

TEST(SummaryTest, HasWhatProgramsRead) {
  json::Value value = summaryJSON(makeReport());
  const json::Object &summary = *value.getAsObject();
  EXPECT_EQ(summary.getInteger("version"), 1);
  EXPECT_EQ(summary.get("seed")->getAsUINT64(), 0xfedcba9876543210);
  EXPECT_EQ(summary.getString("budget"), "2m");
  EXPECT_EQ(summary.getObject("target")->getString("cpu"), "znver3");
  EXPECT_EQ(summary.getObject("versions")->getString("llvm"), "22.1.0");
  for (const json::Object *entry :
       {summary.getObject("program"),
        (*summary.getArray("entries"))[0].getAsObject()}) {
    EXPECT_EQ(entry->getNumber("baselineSeconds"), 12.3e-3);
    EXPECT_EQ(entry->getNumber("tunedSeconds"), 8.45e-3);
    EXPECT_EQ(entry->getNumber("speedup"), 1.456);
    EXPECT_EQ(entry->getNumber("speedupLow"), 1.41);
    EXPECT_EQ(entry->getNumber("speedupHigh"), 1.5);
    EXPECT_EQ(entry->getBoolean("outputsAgree"), true);
    EXPECT_TRUE(entry->getString("name"));
  }
  const json::Array &dispatches = *summary.getArray("dispatches");
  const json::Object &tuned = *dispatches[1].getAsObject();
  EXPECT_EQ(tuned.getString("name"), "contraction_4x784x10");
  EXPECT_EQ(tuned.getString("fingerprint"), "9f86d081884c7d65");
  EXPECT_EQ(tuned.getString("rootOp"), "contraction");
  EXPECT_EQ(tuned.getString("shapes"), "4x784x10xf32");
  EXPECT_EQ(tuned.getNumber("share"), 0.9);
  EXPECT_EQ(tuned.getInteger("count"), 3);
  EXPECT_EQ(tuned.getNumber("baselineSeconds"), 20.1e-6);
  EXPECT_EQ(tuned.getNumber("tunedSeconds"), 13.8e-6);
  EXPECT_EQ(tuned.getNumber("speedup"), 1.4565);
  EXPECT_EQ(tuned.getObject("configuration")->getString("schedule"),
            "contraction_packed");
  EXPECT_EQ(tuned.getString("reason"), "budget spent");
  for (auto [outcome, count] :
       std::initializer_list<std::pair<StringRef, int>>{{"ok", 10},
                                                        {"rejected", 0},
                                                        {"compileError", 0},
                                                        {"compileTimeout", 0},
                                                        {"outOfMemory", 0},
                                                        {"crash", 2},
                                                        {"runTimeout", 0},
                                                        {"wrongResult", 0}})
    EXPECT_EQ(tuned.getObject("trials")->getInteger(outcome), count);
  EXPECT_TRUE(dispatches[0].getAsObject()->getNull("configuration"));
}

TEST(SummaryTest, WhatIsNotFiniteIsNull) {
  SessionReport report = makeReport();
  report.program.tunedSeconds = NAN;
  report.dispatches[0].speedup.high = INFINITY;
  std::string text = formatv("{0}", summaryJSON(report));
  EXPECT_TRUE(static_cast<bool>(json::parse(text))) << text;
}

TEST(SummaryTest, FolderIsWrittenAndReadAgain) {
  auto folder = cantFail(TemporaryFolder::create());
  SessionReport report = makeReport();
  report.warnings = {"a warning"};
  cantFail(writeReport(report, folder.getPath()));
  SessionReport back = cantFail(readSummary(folder.file("summary.json")));
  EXPECT_EQ(formatv("{0}", summaryJSON(back)).str(),
            formatv("{0}", summaryJSON(report)).str());
  EXPECT_EQ(tableOf(back), tableOf(report));
  EXPECT_EQ(logOf(back), cantFail(readFile(folder.file("log.txt"))));
  EXPECT_EQ(htmlOf(back), cantFail(readFile(folder.file("report.html"))));
}

TEST(SummaryTest, ErrorsNameTheFile) {
  auto folder = cantFail(TemporaryFolder::create());
  std::string path = folder.file("summary.json");
  auto errorOf = [&](StringRef text) {
    cantFail(writeFile(path, text));
    auto report = readSummary(path);
    return report ? std::string() : toString(report.takeError());
  };
  EXPECT_THAT(errorOf("{"), HasSubstr("summary.json: "));
  EXPECT_THAT(errorOf("[]"), HasSubstr("summary.json: not a summary"));
  EXPECT_THAT(errorOf("{\"version\": 2}"), HasSubstr("version 2 is newer"));
  EXPECT_THAT(errorOf("{\"version\": 1}"), HasSubstr("summary.json: missing"));
  EXPECT_THAT(toString(writeReport(makeReport(), folder.file("none"))),
              HasSubstr("No such file"));
}

TEST(LogTest, SaysWhy) {
  EXPECT_EQ(logOf(makeReport()), R"(Attune session of 2026-01-31 13:05:00 UTC
command:  attune tune mlp.mlir --budget=2m
model:    mlp.mlir
budget:   2m, seed 18364758544493064720, threads 2
target:   znver3, 2 cores, vectors of 16 bytes, caches of 32 KiB, 512 KiB, 8192 KiB
versions: attune 0.1.0, llvm 22.1.0

contraction_4x784x10: contraction 4x784x10xf32, fingerprint 9f86d081884c7d65, 90.0 % of the time, 3 calls
  tried: 12 (4 from earlier sessions): 10 ok, 2 crash
  best:  1.46x (1.41x to 1.50x), 20.1 µs became 13.8 µs, with contraction_packed m_tile=6
  why:   budget spent
  way:   1.00x after 1, 1.00x after 2, 1.30x after 5, 1.40x after 10, 1.46x after 12
  crash: died of SIGSEGV
    with contraction_packed m_tile=8
    all of it: failures/3.txt

softmax_4x10: reduction 4x10xf32, fingerprint 0000000000000001, 10.0 % of the time, 1 call
  tried: none
  best:  the baseline, 1.50 µs
  why:   best of 40 is within noise

dispatch                 root op      shape          share  baseline    tuned  speed-up
3x contraction_4x784x10  contraction  4x784x10xf32  90.0 %   20.1 µs  13.8 µs  1.46x
softmax_4x10             reduction    4x10xf32      10.0 %   1.50 µs  1.50 µs  no gain: best of 40 …

whole program: 12.3 ms before, 8.45 ms after: 1.46x (1.41x to 1.50x)
outputs agree with the reference
12 trials in 118 s: budget spent
results in results (spec.mlir, report.html, summary.json)
)");
}

TEST(LogTest, OfARunningSessionComparesNothing) {
  SessionReport report = makeReport();
  report.isRunning = true;
  std::string log = logOf(report);
  EXPECT_THAT(log, HasSubstr("\nrunning: 12 trials in 118 s so far\n"));
  EXPECT_THAT(log, Not(HasSubstr("whole program")));
  EXPECT_THAT(log, HasSubstr("contraction_4x784x10: "));
  auto folder = cantFail(TemporaryFolder::create());
  cantFail(writeLog(report, folder.getPath()));
  EXPECT_EQ(cantFail(readFile(folder.file("log.txt"))), log);
  EXPECT_THAT(cantFail(readFile(folder.file("log.jsonl"))),
              HasSubstr("\"running\":true"));
  EXPECT_FALSE(sys::fs::exists(folder.file("summary.json")));
}

TEST(LogTest, IsBounded) {
  SessionReport report = makeReport();
  report.dispatches.resize(5000, report.dispatches[1]);
  report.dispatches[7].failures[0].reason = std::string(1 << 20, 'x') + "\n\n";
  std::string log = logOf(report);
  EXPECT_LT(log.size(), 1u << 20);
  EXPECT_THAT(log, HasSubstr("more dispatches are in summary.json"));
  EXPECT_THAT(log, HasSubstr("whole program: "));
}

TEST(LogTest, LinesSayTheSame) {
  std::string text;
  raw_string_ostream out(text);
  printLogLines(makeReport(), out);
  std::vector<std::string> kinds;
  SmallVector<StringRef> lines;
  StringRef(text).trim().split(lines, '\n');
  for (StringRef line : lines) {
    json::Value value = cantFail(json::parse(line));
    kinds.push_back(value.getAsObject()->getString("kind")->str());
    if (kinds.back() == "failure") {
      EXPECT_EQ(value.getAsObject()->getString("dispatch"),
                "contraction_4x784x10");
      EXPECT_EQ(value.getAsObject()->getString("reason"), "died of SIGSEGV");
    }
  }
  EXPECT_THAT(kinds, testing::ElementsAre("session", "dispatch", "dispatch",
                                          "failure", "summary"));
}

TEST(LogTest, LinesAreBounded) {
  SessionReport report = makeReport();
  report.dispatches.resize(20000, report.dispatches.front());
  report.dispatches[0].bestSpeedupAfterTrial.resize(100000, 1.5);
  std::string text;
  raw_string_ostream out(text);
  printLogLines(report, out);
  EXPECT_LT(text.size(), 1000000u);
  EXPECT_THAT(text, HasSubstr("\"kind\":\"leftOut\""));
  EXPECT_THAT(text, HasSubstr("\"kind\":\"summary\""));
}

TEST(HtmlTest, ShowsTheSession) {
  std::string html = htmlOf(makeReport());
  EXPECT_THAT(
      html,
      AllOf(HasSubstr("<span class=\"big\">1.46x</span> as fast: 12.3 ms "
                      "before, 8.45 ms after"),
            HasSubstr("<code>contraction_packed m_tile=6</code>"),
            HasSubstr("no gain<td>best of 40 is within noise"),
            HasSubstr("12 trials: 10 ok, 2 crash"), HasSubstr("<polyline"),
            HasSubstr("crash, for example: died of SIGSEGV"),
            HasSubstr("18364758544493064720")));
  EXPECT_EQ(StringRef(html).count("<rect"), 4u);
}

TEST(HtmlTest, AsksNothingOfTheNetwork) {
  std::string html = htmlOf(makeReport());
  EXPECT_THAT(html, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://")),
                          Not(HasSubstr("<script")), Not(HasSubstr("src=")),
                          Not(HasSubstr("url("))));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(HtmlTest, NamesAreText) {
  SessionReport report = makeReport();
  const std::string evil = "<script>alert('\"&')</script>";
  report.model = report.command = report.stopReason = report.budget = evil;
  report.warnings = {evil};
  report.program.disagreement = evil;
  report.program.outputsAgree = false;
  report.versions[evil] = evil;
  report.target.cpu = report.target.features = evil;
  report.entries.push_back(report.entries[0]);
  report.entries[0].name = evil;
  for (DispatchReport &dispatch : report.dispatches) {
    dispatch.name = dispatch.rootOp = dispatch.shapes = evil;
    dispatch.fingerprint = dispatch.reason = evil;
  }
  DispatchReport &tuned = report.dispatches[1];
  tuned.configuration->schedule = evil;
  tuned.configuration->values = {{evil, evil}};
  tuned.failures[0].reason = tuned.failures[0].detailPath = evil;
  tuned.failures[0].configuration.schedule = evil;
  std::string html = htmlOf(report);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("alert('")));
}

TEST(HtmlTest, NumbersThatAreNoneDoNotShow) {
  SessionReport report = makeReport();
  report.program.speedup = {NAN, NAN, INFINITY};
  for (DispatchReport &dispatch : report.dispatches) {
    dispatch.share = NAN;
    dispatch.speedup.value = INFINITY;
    dispatch.bestSpeedupAfterTrial = {NAN, INFINITY, 1, NAN};
  }
  EXPECT_THAT(htmlOf(report),
              AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf")),
                    Not(HasSubstr("INF"))));
}

TEST(HtmlTest, EmptySessionIsAReport) {
  SessionReport report;
  EXPECT_THAT(htmlOf(report), HasSubstr("</html>"));
  EXPECT_THAT(logOf(report), HasSubstr("Attune session"));
  EXPECT_THAT(tableOf(report), HasSubstr("dispatch"));
}

} // namespace
