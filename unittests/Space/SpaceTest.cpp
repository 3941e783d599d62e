//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Space/FromJSON.h"
#include "attune/Space/Listing.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cmath>
#include <set>

using namespace attune;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

static Space fromText(llvm::StringRef text) {
  auto space = parseSpace(text, "s.json");
  if (space)
    return *space;
  ADD_FAILURE() << llvm::toString(space.takeError());
  return llvm::cantFail(Space::create("", {}, {}));
}

static std::string errorOf(llvm::StringRef text) {
  auto space = parseSpace(text, "s.json");
  return space ? "no error" : llvm::toString(space.takeError());
}

/// Two knobs, `a` of 0 1 2 and `b` of 1 2 3, and one constraint, on line 3.
static std::string with(llvm::StringRef constraint) {
  return llvm::formatv(
             "{{\"knobs\": [{{\"name\": \"a\", \"values\": [0, 1, 2]},\n"
             "  {{\"name\": \"b\", \"values\": [1, 2, 3]}],\n"
             " \"constraints\": [\"{0}\"]}",
             constraint)
      .str();
}

//===----------------------------------------------------------------------===//
// Printed, and read back
//===----------------------------------------------------------------------===//

TEST(Listing, IsReadBackAsTheSameSpace) {
  Space space = fromText(R"({"knobs": [
    {"name": "range", "range": [2, 14, 4]}, {"name": "one", "range": [5, 5]},
    {"name": "list", "pow2": [8, 64]}, {"name": "flag", "values": [true, false]},
    {"name": "place", "values": ["l1", "l2"], "when": "flag"},
    {"name": "order", "permutation": 3},
    {"name": "rate", "float": {"from": 0.5, "to": 2.5, "steps": 3}}],
    "constraints": ["range * list <= 256", "place == 'l2' or list < 64",
                    "8 <= list <= 32 or one == 5"]})");
  std::string printed = llvm::formatv("{0}", toJSON(space)).str();
  Space again = fromText(printed);
  ASSERT_EQ(again.count(), space.count());
  for (uint64_t i = 0; i < space.count(); ++i)
    ASSERT_EQ(toString(again.at(i)), toString(space.at(i)));
  EXPECT_EQ(llvm::formatv("{0}", toJSON(again)).str(), printed);
}

//===----------------------------------------------------------------------===//
// Published spaces
//===----------------------------------------------------------------------===//

class PublishedSpace
    : public testing::TestWithParam<std::pair<const char *, uint64_t>> {};

TEST_P(PublishedSpace, HasTheKnownNumberOfConfigurations) {
  auto [name, solutions] = GetParam();
  auto space = readSpace(std::string(ATTUNE_SOURCE_DIR "/test/data/spaces/") +
                         name + ".json");
  ASSERT_TRUE(bool(space)) << llvm::toString(space.takeError());
  EXPECT_EQ(space->count(), solutions);
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    uint64_t index = random() % solutions;
    Configuration configuration = space->at(index);
    EXPECT_EQ(space->indexOf(configuration), index);
    for (const Expression &constraint : space->getConstraints())
      EXPECT_NE(llvm::cantFail(constraint.evaluate(
                    [&](llvm::StringRef knob) -> std::optional<int64_t> {
                      return std::get<int64_t>(*configuration.find(knob));
                    })),
                0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Spaces, PublishedSpace,
    testing::Values(std::make_pair("dedispersion", 11130),
                    std::make_pair("gemm", 120800),
                    std::make_pair("hotspot", 349853),
                    std::make_pair("matmul_nest_512", 77522),
                    std::make_pair("microhh", 138600)),
    [](const auto &info) { return std::string(info.param.first); });

//===----------------------------------------------------------------------===//
// Large spaces
//===----------------------------------------------------------------------===//

/// A loop nest: three dimensions, three levels of tiles, each dividing the one
/// around it, and a cache for each level.
static std::vector<Knob> nestKnobs(int64_t length) {
  std::vector<Knob> knobs;
  for (const char *dimension : {"m", "n", "k"})
    for (const char *level : {"1", "2", "3"})
      knobs.push_back({std::string(dimension) + level,
                       llvm::cantFail(Domain::range(1, length))});
  return knobs;
}

static Expression parse(const std::string &text) {
  return llvm::cantFail(Expression::parse(text));
}

TEST(Space, BuildsALargeLoopNest) {
  std::vector<Expression> constraints;
  for (std::string d : {"m", "n", "k"})
    for (std::string c : {"4096 % " + d + "1 == 0", d + "1 % " + d + "2 == 0",
                          d + "2 % " + d + "3 == 0"})
      constraints.push_back(parse(c));
  auto open = Space::create("", nestKnobs(4096), constraints);
  ASSERT_TRUE(bool(open));
  EXPECT_EQ(open->count(), 455u * 455 * 455); // Chains of 13 divisors: C(15,3).

  constraints.push_back(parse("(m3*k3 + k3*n3 + m3*n3) * 4 <= 32768"));
  constraints.push_back(parse("(m2*k2 + k2*n2 + m2*n2) * 4 <= 1048576"));
  constraints.push_back(parse("(m1*k1 + k1*n1 + m1*n1) * 4 <= 33554432"));
  auto space = Space::create("", nestKnobs(4096), constraints);
  ASSERT_TRUE(bool(space));
  EXPECT_EQ(space->count(), 53371754u);
  EXPECT_LT(space->diagramSize().second, 100'000u);
  Configuration last = space->at(space->count() - 1);
  EXPECT_EQ(space->indexOf(last), space->count() - 1);
}

/// Chi-square of `counts` against equal shares, in standard deviations from
/// what chance gives.
static double excess(llvm::ArrayRef<uint64_t> counts) {
  double total = 0, chi = 0;
  for (uint64_t count : counts)
    total += count;
  double expected = total / counts.size();
  for (uint64_t count : counts)
    chi += (count - expected) * (count - expected) / expected;
  double freedom = counts.size() - 1;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(Space, SamplesUniformly) {
  Space space = fromText(with("a + b <= 4 and a * b != 2"));
  std::mt19937_64 random(7);
  std::vector<uint64_t> counts(space.count());
  for (int i = 0; i < 60'000; ++i)
    ++counts[*space.indexOf(space.sample(random))];
  EXPECT_LT(excess(counts), 4);
}

TEST(Space, CountsAndSamplesATrillionUniformly) {
  // 10^13 combinations in one group, a part of which is valid.
  std::vector<Knob> knobs;
  std::string sum;
  for (int i = 0; i < 13; ++i) {
    std::string name = "d" + std::to_string(i);
    sum += (i ? " + " : "") + name;
    knobs.push_back({name, llvm::cantFail(Domain::range(0, 9))});
  }
  auto space = Space::create("", knobs, {parse(sum + " <= 60")});
  ASSERT_TRUE(bool(space));
  EXPECT_GT(space->count(), 1'000'000'000'000u);
  std::mt19937_64 random(3);
  // Equal slices of the numbers are met equally often.
  std::vector<uint64_t> slices(1000);
  for (int i = 0; i < 100'000; ++i) {
    uint64_t index = *space->indexOf(space->sample(random));
    ++slices[static_cast<unsigned __int128>(index) * 1000 / space->count()];
  }
  EXPECT_LT(excess(slices), 4);
}

TEST(Space, SaturatesItsCountAndStillSamples) {
  std::vector<Knob> knobs;
  for (int i = 0; i < 20; ++i)
    knobs.push_back(
        {"k" + std::to_string(i), llvm::cantFail(Domain::range(0, 999))});
  auto space = Space::create("", knobs, {parse("k0 <= k1")});
  ASSERT_TRUE(bool(space));
  EXPECT_EQ(space->count(), UINT64_MAX);
  std::mt19937_64 random(1);
  std::vector<uint64_t> last(1000);
  for (int i = 0; i < 50'000; ++i)
    ++last[std::get<int64_t>(*space->sample(random).find("k19"))];
  EXPECT_LT(excess(last), 4);
}

//===----------------------------------------------------------------------===//
// What JSON can say
//===----------------------------------------------------------------------===//

TEST(SpaceFromJSON, ReadsEveryKindOfDomain) {
  Space space = fromText(R"({"version": 1, "knobs": [
    {"name": "r", "range": [1, 9, 4]}, {"name": "p", "pow2": [3, 16]},
    {"name": "d", "divisors": 12}, {"name": "b", "values": [true, false]},
    {"name": "c", "values": ["x", "y"]}, {"name": "o", "permutation": 3},
    {"name": "f", "float": {"from": 1, "to": 100, "steps": 3, "scale": "log"}}]})");
  EXPECT_EQ(space.count(), 3u * 3 * 6 * 2 * 2 * 6 * 3);
  EXPECT_EQ(toString(space.at(0)), "r=1 p=4 d=1 b=true c=x o=[0,1,2] f=1.0");
  EXPECT_EQ(toString(space.at(space.count() - 1)),
            "r=9 p=16 d=12 b=false c=y o=[2,1,0] f=100.0");
}

TEST(SpaceFromJSON, KnobsExistOnlyWhenTheirConditionHolds) {
  Space space = fromText(R"({"knobs": [
    {"name": "how", "values": ["plain", "tiled"]},
    {"name": "tile", "pow2": [1, 8], "when": "how == 'tiled'"},
    {"name": "inner", "values": [1, 2], "when": "tile > 2"}],
    "constraints": ["tile != 4"]})");
  std::vector<std::string> all;
  for (uint64_t i = 0; i < space.count(); ++i)
    all.push_back(toString(space.at(i)));
  EXPECT_THAT(all, testing::UnorderedElementsAre(
                       "how=plain", "how=tiled tile=1", "how=tiled tile=2",
                       "how=tiled tile=8 inner=1", "how=tiled tile=8 inner=2"));
  Configuration plain = *[&] {
    Configuration c;
    c.values = {{"how", KnobValue(std::string("plain"))}};
    return std::optional(c);
  }();
  ASSERT_TRUE(space.contains(plain));
  auto near = space.neighbours(plain);
  ASSERT_EQ(near.size(), 1u);
  EXPECT_EQ(toString(near[0]), "how=tiled tile=1");
}

TEST(SpaceFromJSON, ComparesAChoiceWithItsText) {
  Space space = fromText(R"({"knobs": [{"name": "c", "values": ["x", "y"]},
    {"name": "n", "values": [1, 2]}], "constraints": ["c == \"y\" or n > 1"]})");
  EXPECT_EQ(space.count(), 3u);
}

TEST(Space, NearestKeepsWhatItCan) {
  Space space = fromText(with("a * b == 4 or a == 0"));
  Configuration wanted;
  wanted.values = {{"a", KnobValue(int64_t(2))}, {"b", KnobValue(int64_t(3))}};
  EXPECT_EQ(toString(space.nearest(wanted)), "a=2 b=2");
  wanted.values = {{"b", KnobValue(int64_t(100))}, {"z", KnobValue(true)}};
  EXPECT_TRUE(space.contains(space.nearest(wanted)));
}

TEST(Space, NeighboursOfLargeKnobsAreTheNearestAndSomeOfTheOthers) {
  Space space = llvm::cantFail(parseSpace(
      R"({"knobs": [{"name": "free", "range": [0, 999999]},
                    {"name": "a", "range": [0, 1999]}, {"name": "b", "range": [0, 1]}],
          "constraints": ["a + b < 1500"]})",
      "large"));
  Configuration from;
  from.values = {{"free", KnobValue(int64_t(700))},
                 {"a", KnobValue(int64_t(1499))},
                 {"b", KnobValue(int64_t(0))}};
  std::set<int64_t> frees, as;
  for (const Configuration &near : space.neighbours(from)) {
    EXPECT_TRUE(space.contains(near));
    frees.insert(std::get<int64_t>(*near.find("free")));
    as.insert(std::get<int64_t>(*near.find("a")));
  }
  for (const std::set<int64_t> &values : {frees, as}) {
    EXPECT_LE(values.size(), 129u);
    EXPECT_GT(values.size(), 64u);
  }
  EXPECT_TRUE(frees.contains(699) && frees.contains(701) && as.contains(1498));
  EXPECT_GT(*frees.rbegin(), 900000);
  EXPECT_LT(*as.begin(), 50);
}

TEST(Space, TableHoldsExactlyItsRows) {
  std::vector<Knob> knobs = {{"a", llvm::cantFail(Domain::range(5, 7))},
                             {"b", llvm::cantFail(Domain::range(0, 1))}};
  auto space = Space::table("", knobs, {{2, 1}, {0, 0}, {2, 1}});
  ASSERT_TRUE(bool(space));
  ASSERT_EQ(space->count(), 2u);
  EXPECT_EQ(toString(space->at(0)), "a=5 b=0");
  EXPECT_EQ(toString(space->at(1)), "a=7 b=1");
  auto wrong = Space::table("", knobs, {{3, 0}});
  ASSERT_FALSE(bool(wrong));
  EXPECT_EQ(llvm::toString(wrong.takeError()), "row 1 does not fit the knobs");
}

//===----------------------------------------------------------------------===//
// Errors, each with its place
//===----------------------------------------------------------------------===//

TEST(SpaceErrors, NamePlaceAndReason) {
  EXPECT_EQ(errorOf(with("a < z")),
            "s.json:3: constraint 1: unknown knob 'z' in \"a < z\"");
  EXPECT_EQ(
      errorOf(with("b % a == 0")),
      "s.json:3: constraint 1: b % a divides by zero for a=0 b=1 in \"b % "
      "a == 0\"");
  EXPECT_EQ(errorOf(with("a > 2")),
            "s.json: unsatisfiable: no configuration satisfies s.json:3: "
            "constraint 1 \"a > 2\"");
  EXPECT_THAT(errorOf(with("b * 9000000000000000000 > 0")),
              AllOf(StartsWith("s.json:3:"), HasSubstr("overflows 64 bits")));
  EXPECT_THAT(errorOf(with("a <")),
              AllOf(StartsWith("s.json:3: constraint 1: column 4:"),
                    HasSubstr("ends where a value is expected")));
  EXPECT_THAT(errorOf(with("a / 2 == 1")), HasSubstr("write '//'"));
  EXPECT_THAT(errorOf(with("a = 2")), HasSubstr("write '=='"));
  EXPECT_THAT(errorOf(with("f(a) == 2")), HasSubstr("unknown function 'f'"));
  EXPECT_THAT(errorOf(with("99999999999999999999 > a")),
              HasSubstr("does not fit in 64 bits"));
  EXPECT_THAT(errorOf(with(std::string(500, '('))), HasSubstr("nesting"));
}

TEST(SpaceErrors, GuardedDivisionIsNone) {
  EXPECT_EQ(fromText(with("a != 0 and b % a == 0")).count(), 4u);
  EXPECT_EQ(fromText(with("a == 0 or b % a == 0")).count(), 7u);
}

TEST(SpaceErrors, OfKnobs) {
  EXPECT_EQ(errorOf(R"({"knobs": [{"name": "a", "values": [1]},
{"name": "a", "values": [2]}]})"),
            "s.json:2: duplicate knob 'a'");
  EXPECT_EQ(errorOf(R"({"knobs": [{"name": "a", "values": []}]})"),
            "s.json:1: knob 'a': empty domain: \"values\" lists no value");
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "a", "range": [3, 1]}]})"),
              HasSubstr("empty domain"));
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "a", "pow2": [5, 7]}]})"),
              HasSubstr("empty domain"));
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "a", "values": [1, 1]}]})"),
              HasSubstr("lists 1 twice"));
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "a", "values": [1, "x"]}]})"),
              HasSubstr("not of one kind"));
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "a"}]})"),
              HasSubstr("has no domain: give one of values, range"));
  EXPECT_THAT(errorOf(R"({"knobs": [{"values": [1]}]})"),
              HasSubstr("knob number 1 has no \"name\""));
  EXPECT_EQ(errorOf(R"({"knobs": [{"name": "a", "values": [1], "when": "b"},
 {"name": "b", "values": [1], "when": "a"}]})"),
            "s.json: cyclic reference: 'a' needs 'b' needs 'a'");
  EXPECT_THAT(errorOf(R"({"knobs": [{"name": "f", "values": [0.5, 1.5]}],
 "constraints": ["f > 1"]})"),
              AllOf(StartsWith("s.json:2:"), HasSubstr("holds floats")));
}

TEST(SpaceErrors, OfTheFile) {
  EXPECT_THAT(errorOf("{\n \"knobs\": [}"),
              StartsWith("s.json: not JSON: [2:12"));
  EXPECT_THAT(errorOf("[]"), HasSubstr("a space is an object"));
  EXPECT_THAT(errorOf("{}"), HasSubstr("\"knobs\""));
  EXPECT_THAT(errorOf(R"({"version": 2, "knobs": []})"),
              HasSubstr("version 2"));
  auto missing = readSpace("/nonexistent/space.json");
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "/nonexistent/space.json: No such file or directory");
}

TEST(SpaceErrors, ContradictionNamesWhatContradicts) {
  std::string message = errorOf(R"({"knobs": [{"name": "a", "values": [1, 2]},
    {"name": "b", "values": [1, 2]}],
    "constraints": ["a < b", "a >= 1", "b < a"]})");
  EXPECT_THAT(message,
              AllOf(HasSubstr("\"a < b\" and"), HasSubstr("\"b < a\"")));
  EXPECT_THAT(message, testing::Not(HasSubstr("a >= 1")));
}

//===----------------------------------------------------------------------===//
// What the command prints
//===----------------------------------------------------------------------===//

TEST(Listing, DescribesListsAndSamples) {
  Space space = fromText(with("a < b"));
  std::string text;
  llvm::raw_string_ostream out(text);
  describeSpace(space, out);
  EXPECT_EQ(text, "a  [0, 1, 2]\nb  [1, 2, 3]\nsuch that a < b\n"
                  "6 configurations\n");
  text.clear();
  listSpace(space, 2, out);
  EXPECT_EQ(llvm::StringRef(text).count('\n'), 2u);
  EXPECT_EQ(countText(space), "6");
  for (size_t count : {1, 2, 5, 6, 9}) {
    std::set<std::string> seen;
    for (const Configuration &configuration : sampleDistinct(space, count, 1))
      seen.insert(toString(configuration));
    EXPECT_EQ(seen.size(), std::min<size_t>(count, 6));
  }
}
