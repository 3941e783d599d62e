//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Reading descriptions of commands, and numbers out of what they print.

#include "attune/Backend/CommandFile.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class CommandFileTest : public testing::Test {
protected:
  void SetUp() override {
    auto created = TemporaryFolder::create();
    ASSERT_TRUE(bool(created));
    folder.emplace(std::move(*created));
  }

  std::string write(llvm::StringRef text) {
    std::string path = folder->file("a.json");
    EXPECT_FALSE(bool(writeFile(path, text)));
    return path;
  }

  /// With `members` after knobs `tile` (1, 2, 4), `flag` ("", "-x") and
  /// `order`.
  std::string describe(llvm::StringRef members) {
    return write(("{\"knobs\": [{\"name\": \"tile\", \"pow2\": [1, 4]},\n"
                  "{\"name\": \"flag\", \"values\": [\"\", \"-x\"]},\n"
                  "{\"name\": \"order\", \"permutation\": 3}],\n" +
                  members + "}")
                     .str());
  }

  CommandFile read(llvm::StringRef members) {
    auto file = readCommandFile(describe(members));
    if (!file) {
      ADD_FAILURE() << llvm::toString(file.takeError());
      abort();
    }
    return std::move(*file);
  }

  /// One line that begins with the file.
  std::string errorOf(llvm::StringRef members) {
    auto file = readCommandFile(describe(members));
    EXPECT_FALSE(bool(file));
    std::string message = file ? "" : llvm::toString(file.takeError());
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ(message.find(folder->file("a.json")), 0u) << message;
    return message;
  }

  std::optional<TemporaryFolder> folder;
};

TEST_F(CommandFileTest, ValuesGoIntoCommands) {
  CommandFile file =
      read(R"("run": ["sh", "-D{tile}", "{flag}", "{order}", "{{{tile}}}"])");
  Configuration configuration = file.defaults;
  configuration.values[0].second = int64_t(4);
  auto fill = [&] {
    return file.run.fill(file.valuesOf(configuration, "/f", 2));
  };
  EXPECT_THAT(fill(), ElementsAre("sh", "-D4", "0,1,2", "{4}"))
      << "an empty argument is left out";
  configuration.values[1].second = std::string("-x");
  EXPECT_THAT(fill(), ElementsAre("sh", "-D4", "-x", "0,1,2", "{4}"));
}

TEST_F(CommandFileTest, FoldersAreKnownToCommands) {
  CommandFile file = read(
      R"("run": ["sh", "{source}/a", "{folder}/b", "{output}", "{threads}"])");
  EXPECT_THAT(file.run.fill(file.valuesOf(file.defaults, "/f", 3)),
              ElementsAre("sh", folder->getPath() + "/a", "/f/b",
                          "/f/output.txt", "3"));
}

TEST_F(CommandFileTest, DefaultsAreTheFirstValuesUnlessGiven) {
  EXPECT_EQ(*read(R"("run": ["sh"])").defaults.find("tile"),
            KnobValue(int64_t(1)));
  CommandFile file = read(R"("run": ["sh"], "defaults": {"tile": 2})");
  EXPECT_EQ(*file.defaults.find("tile"), KnobValue(int64_t(2)));
  EXPECT_EQ(*file.defaults.find("flag"), KnobValue(std::string("")));
}

TEST_F(CommandFileTest, DefaultsThatAreNotValidAreAnError) {
  EXPECT_THAT(errorOf(R"("run": ["sh"], "defaults": {"tile": 3})"),
              HasSubstr("3 is not a value of 'tile'"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "defaults": {"tlie": 1})"),
              HasSubstr("there is no knob 'tlie'"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "defaults": {"tile": 1},
                         "constraints": ["tile > 1"])"),
              HasSubstr("not a valid configuration"));
}

TEST_F(CommandFileTest, MistakesAreOneLineWithItsPlace) {
  EXPECT_THAT(errorOf(R"("build": ["sh"])"), HasSubstr("\"run\" is missing"));
  EXPECT_THAT(errorOf(R"("run": ["sh", "{tlie}"])"),
              HasSubstr("a.json:4: \"run\": there is no knob 'tlie'; known are "
                        "tile, flag, order"));
  EXPECT_THAT(errorOf(R"("run": ["sh", "{tile"])"),
              HasSubstr("'{' without its '}'"));
  EXPECT_THAT(errorOf(R"("run": "sh -c true")"), HasSubstr("give a list"));
  EXPECT_THAT(errorOf(R"("run": ["no-such-program-at-all"])"),
              HasSubstr("no such program in PATH"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "metrik": 1)"),
              HasSubstr("\"metrik\": not a member"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "limitSeconds": -1)"),
              HasSubstr("-1 is not a positive number"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "metric": {"regex": "time (x"})"),
              HasSubstr("the regular expression 'time (x'"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "metric": {"regex": "time"})"),
              HasSubstr("no group"));
  EXPECT_THAT(errorOf(R"x("run": ["sh"], "metric": {"regex": "(?<hours>.)"})x"),
              HasSubstr("'hours' is no unit"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "metric": "seconds")"),
              HasSubstr("is none; give"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], "files": ["missing.h"])"),
              HasSubstr("missing.h: No such file"));
  EXPECT_THAT(errorOf(R"("run": ["sh"], )"), HasSubstr("not JSON"));
}

TEST_F(CommandFileTest, NamesOfFoldersAreNotForKnobs) {
  auto file =
      readCommandFile(write(R"({"knobs": [{"name": "output", "range": [1, 2]}],
                "run": ["sh"]})"));
  ASSERT_FALSE(bool(file));
  EXPECT_THAT(llvm::toString(file.takeError()), HasSubstr("knob 'output'"));
}

TEST_F(CommandFileTest, ChangedSourcesAreAnotherProgram) {
  llvm::StringRef members = R"("run": ["sh", "{source}/a.sh"])";
  ASSERT_FALSE(bool(writeFile(folder->file("a.sh"), "1")));
  std::string before = read(members).fingerprint;
  EXPECT_EQ(read(members).fingerprint, before);
  ASSERT_FALSE(bool(writeFile(folder->file("a.sh"), "2")));
  EXPECT_NE(read(members).fingerprint, before);
  EXPECT_NE(read(R"("run": ["sh", "{source}/a.sh", "x"])").fingerprint, before);
}

//===----------------------------------------------------------------------===//
// Metrics
//===----------------------------------------------------------------------===//

std::string secondsOf(const Metric &metric, llvm::StringRef output) {
  auto seconds = metric.read(output, 5, 4);
  if (!seconds)
    return llvm::toString(seconds.takeError());
  return llvm::formatv("{0}", *seconds).str();
}

TEST_F(CommandFileTest, TimesOfTheProcess) {
  EXPECT_EQ(secondsOf(read(R"("run": ["sh"])").metric, ""), "5.00");
  EXPECT_EQ(
      secondsOf(read(R"("run": ["sh"], "metric": "cpuSeconds")").metric, ""),
      "4.00");
}

TEST_F(CommandFileTest, TimesInLines) {
  Metric metric = read(R"x("run": ["sh"],
              "metric": {"regex": "took\\s+(?<milliseconds>[-\\d.a-z]+)"})x")
                      .metric;
  EXPECT_EQ(secondsOf(metric, "took 7\nwarm\ntook   1500.5 ms\nbye"), "1.50")
      << "the last one counts";
  EXPECT_THAT(secondsOf(metric, "nothing"), HasSubstr("no line"));
  EXPECT_THAT(secondsOf(metric, "took nan"), HasSubstr("the metric is nan"));
  EXPECT_THAT(secondsOf(metric, "took inf"), HasSubstr("not a finite"));
  EXPECT_THAT(secondsOf(metric, "took -1"), HasSubstr("not a finite"));
  EXPECT_THAT(secondsOf(metric, "took abc"), HasSubstr("not a number"));
}

TEST_F(CommandFileTest, RatesBecomeTimes) {
  Metric metric = read(R"x("run": ["sh"], "metric":
          {"regex": "(?:at|with) (?<gflops>[0-9.]+)", "operations": 4e9})x")
                      .metric;
  EXPECT_EQ(secondsOf(metric, "at 2.0 GFLOP/s"), "2.00");
}

TEST_F(CommandFileTest, TimesInJson) {
  Metric metric = read(R"("run": ["sh"], "metric":
          {"json": "times.kernel", "unit": "microseconds"})")
                      .metric;
  EXPECT_EQ(secondsOf(metric, R"({"times": {"kernel": 2e6}})"), "2.00");
  EXPECT_EQ(secondsOf(metric, "warning: {\n{\"times\": {\"kernel\": 3e6}}\n"),
            "3.00");
  EXPECT_EQ(
      secondsOf(metric, "log\n{\n \"times\": {\n  \"kernel\": 4e6}\n}\ndone"),
      "4.00");
  EXPECT_THAT(secondsOf(metric, R"({"times": 1})"),
              HasSubstr("no JSON with the field 'times.kernel'"));
  EXPECT_THAT(secondsOf(metric, R"({"times": {"kernel": "fast"}})"),
              HasSubstr("'fast', not a number"));
}

TEST(LinePattern, BracketsKeepTheirMeaning) {
  auto pattern = LinePattern::parse(R"(x=([]\w.]+))");
  ASSERT_TRUE(bool(pattern)) << llvm::toString(pattern.takeError());
  EXPECT_EQ(pattern->find("x=a].b c"), "a].b");
}

} // namespace
