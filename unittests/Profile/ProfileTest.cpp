//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Profiles: made from runs, merged, matched with dispatches, and in each format
// out and in.

#include "attune/Profile/Formats.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

/// A program of two dispatches, one of them called three times, run twice.
Profile example() {
  Profile profile;
  profile.model = "model.mlir";
  profile.entries = {{"main", 2, 0.0101}};
  profile.rows = {{"contraction_1", "00000000000000aa", "contraction",
                   "64x48x96xf32", "model.mlir:7", "main", 6, 0.006},
                  {"reduction_1", "00000000000000bb", "reduction", "64x48xf32",
                   "", "main", 2, 0.004}};
  return profile;
}

const DispatchFacts facts[] = {
    {"contraction_1", "00000000000000aa", "contraction", "64x48x96xf32"},
    {"reduction_1", "00000000000000bb", "reduction", "64x48xf32"},
    {"other", "00000000000000cc", "elementwise", "7xf32"}};

void expectSame(const Profile &a, const Profile &b) {
  EXPECT_EQ(a.model, b.model);
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].name, b.entries[i].name);
    EXPECT_EQ(a.entries[i].runs, b.entries[i].runs);
    EXPECT_NEAR(a.entries[i].seconds, b.entries[i].seconds, 1e-9);
  }
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].name, b.rows[i].name);
    EXPECT_EQ(a.rows[i].fingerprint, b.rows[i].fingerprint);
    EXPECT_EQ(a.rows[i].rootOp, b.rows[i].rootOp);
    EXPECT_EQ(a.rows[i].shapes, b.rows[i].shapes);
    EXPECT_EQ(a.rows[i].location, b.rows[i].location);
    EXPECT_EQ(a.rows[i].entry, b.rows[i].entry);
    EXPECT_EQ(a.rows[i].calls, b.rows[i].calls);
    EXPECT_NEAR(a.rows[i].seconds, b.rows[i].seconds, 1e-9);
  }
}

std::string print(const Profile &profile, ProfileFormat format) {
  return llvm::cantFail(printProfile(profile, format));
}
Profile parse(llvm::StringRef bytes) {
  return llvm::cantFail(parseProfile(bytes, "p"));
}
std::string errorOf(llvm::StringRef bytes) {
  auto profile = parseProfile(bytes, "p");
  return profile ? "" : llvm::toString(profile.takeError());
}
std::string dataFile(llvm::StringRef name) {
  return (ATTUNE_SOURCE_DIR "/test/data/profiles/" + name).str();
}

TEST(ProfileFormats, PprofOutAndIn) {
  std::string bytes = print(example(), ProfileFormat::Pprof);
  EXPECT_THAT(bytes, StartsWith("\x1f\x8b"));
  expectSame(parse(bytes), example());
  EXPECT_EQ(bytes, print(parse(bytes), ProfileFormat::Pprof))
      << "the same for the same profile";
}

TEST(ProfileFormats, JsonLinesOutAndIn) {
  std::string text = print(example(), ProfileFormat::JsonLines);
  EXPECT_THAT(text, HasSubstr(R"("share":0.59)"));
  expectSame(parse(text), example());
}

TEST(ProfileFormats, TextIsByShareOfAllTime) {
  Profile profile = example();
  std::swap(profile.rows[0], profile.rows[1]);
  std::string text = print(profile, ProfileFormat::Text);
  size_t first = text.find("contraction_1"), second = text.find("reduction_1"),
         third = text.find("outside of dispatches");
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_NE(third, std::string::npos);
  EXPECT_THAT(text, HasSubstr("59.41%")) << text;
  EXPECT_THAT(text, HasSubstr("0.99%")) << text;
}

TEST(ProfileFormats, ChromeTraceNeedsEvents) {
  Profile profile = example();
  EXPECT_FALSE(llvm::errorToBool(
      printProfile(profile, ProfileFormat::Text).takeError()));
  auto none = printProfile(profile, ProfileFormat::ChromeTrace);
  EXPECT_THAT(llvm::toString(none.takeError()), HasSubstr("single events"));
  profile.events = {{"main", 0, 10, 10.5}, {"reduction_1", 0, 10.1, 10.2}};
  auto value = llvm::cantFail(
      llvm::json::parse(print(profile, ProfileFormat::ChromeTrace)));
  const llvm::json::Array &events =
      *value.getAsObject()->getArray("traceEvents");
  ASSERT_EQ(events.size(), 2u);
  const llvm::json::Object &event = *events[1].getAsObject();
  EXPECT_EQ(event.getString("cat"), "reduction");
  EXPECT_NEAR(*event.getNumber("ts"), 1e5, 1) << "microseconds from the begin";
  EXPECT_NEAR(*event.getNumber("dur"), 1e5, 1);
}

TEST(ProfileFormats, DamagedFilesAreRefused) {
  std::string good = print(example(), ProfileFormat::Pprof);
  EXPECT_THAT(errorOf(llvm::StringRef(good).drop_back(9)),
              HasSubstr("p: the gzip file is damaged or cut off"));
  EXPECT_THAT(errorOf(""), HasSubstr("not a profile that Attune reads"));
  EXPECT_THAT(errorOf("Dear profiler"), HasSubstr("not a profile"));
  EXPECT_THAT(errorOf("{\"kind\":\"profile\",\"version\":9}"),
              HasSubstr("p: line 1: version 9 of a profile"));
  EXPECT_THAT(errorOf("{\"kind\":\"profile\",\"version\":1}\n{\"kind"),
              HasSubstr("p: line 2"));
  EXPECT_THAT(errorOf("{\"type\":\"dispatch_summary\"}"),
              HasSubstr("no dispatch is in this profile"));
  EXPECT_THAT(errorOf("name,src_file,src_line\nf,a.c,1\n"),
              HasSubstr("no times of zones"));
  EXPECT_THAT(
      errorOf("name,src_file,src_line,total_ns,total_perc,counts\nf,a.c,1,x\n"),
      HasSubstr("is not a line of the columns"));
  auto missing = readProfile("/nowhere/p.pb.gz");
  EXPECT_THAT(llvm::toString(missing.takeError()), HasSubstr("nowhere"));
}

TEST(ProfileFormats, AnyDamageIsAnErrorOrAProfile) {
  std::string bytes = print(example(), ProfileFormat::JsonLines) +
                      print(example(), ProfileFormat::Pprof);
  for (const std::string &good : {print(example(), ProfileFormat::JsonLines),
                                  print(example(), ProfileFormat::Pprof)})
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] ^= 0x55;
      auto profile = parseProfile(bad, "p");
      if (!profile)
        llvm::consumeError(profile.takeError());
    }
}

TEST(ProfileFormats, TracyAggregated) {
  Profile profile = llvm::cantFail(readProfile(dataFile("tracy.csv")));
  ASSERT_EQ(profile.rows.size(), 3u);
  EXPECT_EQ(profile.rows[0].name, "main_dispatch_0_matmul_64x48x96_f32");
  EXPECT_EQ(profile.rows[0].location, "model.mlir:7");
  EXPECT_EQ(profile.rows[0].calls, 3);
  EXPECT_NEAR(profile.rows[0].seconds, 33883e-9, 1e-12);
  EXPECT_EQ(profile.rows[2].name, "std::map<int, float>::at")
      << "names are not quoted";
  EXPECT_EQ(profile.rows[2].calls, 12);
}

TEST(ProfileFormats, TracyUnwrapped) {
  Profile profile = llvm::cantFail(readProfile(dataFile("tracy-unwrap.csv")));
  ASSERT_EQ(profile.rows.size(), 2u) << "a plot is no zone";
  EXPECT_EQ(profile.rows[0].calls, 2);
  EXPECT_NEAR(profile.rows[0].seconds, 21000e-9, 1e-12);
  ASSERT_EQ(profile.events.size(), 3u);
  EXPECT_NEAR(profile.events[1].beginSeconds, 5000e-9, 1e-12);
  EXPECT_NEAR(profile.events[1].endSeconds, 9000e-9, 1e-12);
}

TEST(ProfileFormats, IreeGroupsAndEventsSayTheSame) {
  Profile groups = llvm::cantFail(readProfile(dataFile("iree-groups.jsonl")));
  Profile events = llvm::cantFail(readProfile(dataFile("iree-events.jsonl")));
  for (const Profile &profile : {groups, events}) {
    ASSERT_EQ(profile.rows.size(), 2u);
    EXPECT_EQ(profile.rows[0].name, "two_dispatch_0_matmul_64x48x96_f32");
    EXPECT_EQ(profile.rows[0].calls, 3);
    EXPECT_NEAR(profile.rows[0].seconds, 33883e-9, 1e-12);
    EXPECT_EQ(profile.rows[1].calls, 3);
  }
  // Both in one file count once, and what the device says counts more.
  std::string both = llvm::cantFail(readFile(dataFile("iree-groups.jsonl"))) +
                     llvm::cantFail(readFile(dataFile("iree-events.jsonl")));
  EXPECT_EQ(parse(both).rows[0].calls, 3);
  both += R"({"type":"dispatch_group","key":"k","count":5,"total_ns":70})";
  ASSERT_EQ(parse(both).rows.size(), 1u);
  EXPECT_EQ(parse(both).rows[0].calls, 5);
}

TEST(Profiles, FromRuns) {
  Profile profile;
  RunResult result;
  result.seconds = {9, 1, 1}; // the first warms up
  result.dispatchSeconds = {0.5, 0.25, 0};
  result.dispatchCalls = {3, 1, 0};
  llvm::cantFail(addRun(profile, "main", facts, result));
  ASSERT_EQ(profile.rows.size(), 2u) << "the third was not called";
  EXPECT_EQ(profile.rows[0].calls, 6);
  EXPECT_NEAR(profile.rows[0].seconds, 1, 1e-12);
  EXPECT_NEAR(profile.totalSeconds(), 2, 1e-12);
  EXPECT_NEAR(profile.otherSeconds(profile.entries[0]), 0.5, 1e-12);
  llvm::cantFail(addRun(profile, "main", facts, result));
  EXPECT_EQ(profile.rows.size(), 2u);
  EXPECT_EQ(profile.rows[0].calls, 12);
}

TEST(Profiles, MergedByWeightsOfOneRunEach) {
  Profile longer = example();
  longer.entries[0].runs = 20;
  longer.entries[0].seconds *= 10;
  for (ProfileRow &row : longer.rows) {
    row.calls *= 10;
    row.seconds *= 10;
  }
  longer.rows[1].name = "renamed";
  Profile merged = mergeProfiles({{example(), 1}, {longer, 3}});
  ASSERT_EQ(merged.rows.size(), 2u) << "one fingerprint is one dispatch";
  EXPECT_NEAR(merged.entries[0].runs, 4, 1e-9);
  EXPECT_NEAR(merged.rows[0].calls, 12, 1e-9) << "3 a run, 4 runs";
  EXPECT_NEAR(merged.rows[0].seconds, 0.012, 1e-9);
  EXPECT_NEAR(merged.totalSeconds(), 4 * 0.0101 / 2, 1e-9);
}

TEST(Profiles, MatchedByFingerprintThenNameThenShapes) {
  Profile profile = example();
  profile.rows[0].name = "renamed";
  profile.rows[1].fingerprint.clear();
  std::vector<std::string> unmatched;
  auto rows = matchProfile(profile, facts, unmatched);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].calls, 6);
  EXPECT_EQ(rows[1].calls, 2);
  EXPECT_EQ(rows[2].calls, 0);
  EXPECT_TRUE(unmatched.empty());

  Profile iree = llvm::cantFail(readProfile(dataFile("iree-groups.jsonl")));
  iree.rows.push_back({"two_dispatch_2_elementwise_77xf32"});
  rows = matchProfile(iree, facts, unmatched);
  EXPECT_EQ(rows[0].calls, 3);
  EXPECT_EQ(rows[1].calls, 3);
  EXPECT_THAT(unmatched, ElementsAre("two_dispatch_2_elementwise_77xf32"));
}

TEST(Profiles, AnotherFingerprintIsAnotherDispatch) {
  Profile profile = example();
  profile.rows[0].fingerprint = "00000000000000ff";
  std::vector<std::string> unmatched;
  auto rows = matchProfile(profile, facts, unmatched);
  EXPECT_EQ(rows[0].calls, 0) << "though it has the name";
  EXPECT_THAT(unmatched, ElementsAre("contraction_1"));
}

} // namespace
