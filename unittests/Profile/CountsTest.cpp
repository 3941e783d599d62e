//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What a profile knows of a dispatch besides its time: counters, sizes, and
// with what it was compiled.

#include "attune/Profile/Formats.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"

using namespace attune;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

namespace {

const std::vector<DispatchFacts> facts = {
    {"contraction_1", "00000000000000aa", "contraction", "?x784x10xf32",
     "m.mlir:3", 0, 0, "contraction_packed m_tile=6"},
    {"gather_1", "00000000000000bb", "gather", "?x8xf32", "m.mlir:9", 0, 0,
     "loops"}};

Profile measured() {
  RunResult result;
  result.seconds = {9, 1e-3, 1e-3};
  result.dispatchSeconds = {8e-4, 2e-4};
  result.dispatchCalls = {2, 1};
  result.dispatchCounters = {4000, 8000, 8, 16, 1000, 500, 0, 0};
  Profile profile;
  profile.model = "m.mlir";
  llvm::cantFail(addRun(profile, "main", facts, result));
  profile = mergeProfiles({{profile, 1}});
  addSizes(profile, "main", facts, {{0, "4x784"}, {0, "4x784"}, {1, "4x8, 3"}});
  return profile;
}

TEST(Counts, AreOfOneRun) {
  Profile profile = measured();
  ASSERT_EQ(profile.rows.size(), 2u);
  EXPECT_THAT(profile.rows[0].counters, ElementsAre(4000, 8000, 8, 16));
  EXPECT_THAT(profile.rows[1].counters, ElementsAre(1000, 500, 0, 0));
  EXPECT_EQ(profile.rows[0].how, "contraction_packed m_tile=6");
}

TEST(Counts, SurviveEveryFormatThatIsRead) {
  Profile profile = measured();
  for (ProfileFormat format :
       {ProfileFormat::Pprof, ProfileFormat::JsonLines}) {
    Profile back = llvm::cantFail(
        parseProfile(llvm::cantFail(printProfile(profile, format)), "p"));
    ASSERT_EQ(back.rows.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(back.rows[i].counters, profile.rows[i].counters);
      EXPECT_EQ(back.rows[i].sizes, profile.rows[i].sizes);
      EXPECT_EQ(back.rows[i].how, profile.rows[i].how);
    }
  }
}

TEST(Counts, AddUpByWeight) {
  Profile other = measured();
  other.rows[0].sizes = {{"4x784", 1}, {"32x784", 1}};
  Profile sum = mergeProfiles({{measured(), 1}, {other, 2}});
  EXPECT_THAT(sum.rows[0].counters, ElementsAre(12000, 24000, 24, 48));
  EXPECT_THAT(sum.rows[0].sizes,
              ElementsAre(Pair("32x784", 2), Pair("4x784", 4)));
  std::vector<std::string> unmatched;
  auto rows = matchProfile(measured(), facts, unmatched);
  EXPECT_THAT(rows[1].sizes, ElementsAre(Pair("4x8, 3", 1)));
}

TEST(Counts, AreShownWhereTheyAreKnown) {
  std::string text =
      llvm::cantFail(printProfile(measured(), ProfileFormat::Text));
  EXPECT_THAT(text, HasSubstr("IPC cache/ki branch/ki"));
  EXPECT_THAT(text, HasSubstr("  2.00     1.00     2.00  contraction_1"));
  EXPECT_THAT(text,
              HasSubstr("contraction ?x784x10xf32 m.mlir:3, seen 4x784 (2)\n"));
  EXPECT_THAT(
      text,
      HasSubstr("gather ?x8xf32 m.mlir:9, plain loops, seen 4x8, 3 (1)\n"));
  EXPECT_THAT(text, HasSubstr("with a schedule of their own: 80.0 % of the "
                              "dispatches' time; the rest are plain loops\n"));
  Profile plain = measured();
  for (ProfileRow &row : plain.rows) {
    row.counters = {};
    row.how.clear();
  }
  text = llvm::cantFail(printProfile(plain, ProfileFormat::Text));
  EXPECT_THAT(text, Not(HasSubstr("IPC")));
  EXPECT_THAT(text, Not(HasSubstr("schedule of their own")));
}

TEST(Counts, ThatCannotBeAreRefused) {
  for (
      const char *wrong :
      {R"({"kind":"dispatch","name":"a","calls":1,"seconds":1,"cycles":1e300})",
       R"({"kind":"dispatch","name":"a","calls":1,"seconds":1,"sizes":{"4":1e300}})"}) {
    auto profile = parseProfile(wrong, "p");
    ASSERT_FALSE(static_cast<bool>(profile));
    EXPECT_THAT(llvm::toString(profile.takeError()),
                HasSubstr("p: 'a' has times that cannot be"));
  }
}

TEST(Sizes, OfCallsAreReadFromTheCapture) {
  auto folder = llvm::cantFail(TemporaryFolder::create());
  std::string path = folder.file("sizes.txt");
  auto isOpen = [](int64_t dispatch, int64_t argument) {
    return dispatch != 2 && argument != 1;
  };
  // Two calls of 0 in a row, one of 1 with a scalar, one of 2 without open
  // sizes.
  llvm::cantFail(writeFile(path,
                           "0 0 4x8\n0 1 8x8\n0 2 4x3\n"
                           "0 0 5x8\n0 1 8x8\n0 2 5x3\n1 0 7\n1 2 \n2 0 9\n"));
  std::vector<std::pair<int64_t, std::string>> calls;
  for (const SizedCalls &call : llvm::cantFail(readSizes(path, isOpen)))
    calls.emplace_back(call.dispatch, call.sizes);
  EXPECT_THAT(calls, ElementsAre(Pair(0, "4x8, 4x3"), Pair(0, "5x8, 5x3"),
                                 Pair(1, "7, ")));
  llvm::cantFail(writeFile(path, "0 zero 4x8\n"));
  EXPECT_THAT(llvm::toString(readSizes(path, isOpen).takeError()),
              HasSubstr("sizes.txt: not sizes of a call: 0 zero 4x8"));
  EXPECT_THAT(
      llvm::toString(readSizes(folder.file("none"), isOpen).takeError()),
      HasSubstr("No such file"));
}

} // namespace
