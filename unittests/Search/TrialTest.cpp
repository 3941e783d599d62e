//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Trial.h"
#include "attune/Schedule/Configuration.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace attune;

static Configuration sample() {
  Configuration configuration;
  configuration.schedule = "s";
  configuration.values = {{"z", KnobValue(int64_t(6))},
                          {"a", KnobValue(0.5)},
                          {"b", KnobValue(true)},
                          {"c", KnobValue(std::string("outer"))},
                          {"d", KnobValue(std::vector<int64_t>{1, 0})}};
  return configuration;
}

TEST(Configuration, PrintsAndReadsBackInOrder) {
  EXPECT_EQ(toString(sample()), "s z=6 a=0.5 b=true c=outer d=[1,0]");
  auto again = configurationFromJSON(toJSON(sample()));
  ASSERT_TRUE(bool(again));
  EXPECT_EQ(*again, sample());
}

TEST(Configuration, DifferentValuesPrintDifferently) {
  EXPECT_NE(toString(KnobValue(std::string("true"))),
            toString(KnobValue(true)));
  EXPECT_NE(toString(KnobValue(std::string("6"))),
            toString(KnobValue(int64_t(6))));
  EXPECT_NE(toString(KnobValue(1.0)), toString(KnobValue(int64_t(1))));
  EXPECT_NE(toString(KnobValue(std::string("a b"))), "a b");
}

TEST(Configuration, BadJSONSaysWhat) {
  auto errorOf = [](llvm::StringRef text) {
    auto result =
        configurationFromJSON(llvm::cantFail(llvm::json::parse(text)));
    return result ? "none" : llvm::toString(result.takeError());
  };
  EXPECT_EQ(errorOf("3"), "a configuration is an object, not 3");
  EXPECT_THAT(errorOf("{}"), testing::HasSubstr("needs \"values\""));
  EXPECT_THAT(errorOf(R"({"values": {"a": null}})"),
              testing::HasSubstr("knob 'a': null is not the value"));
  EXPECT_THAT(errorOf(R"({"values": {"a": 1}, "knobs": ["b"]})"),
              testing::HasSubstr("lists \"b\""));
}

TEST(Trial, RoundTripsAndTakesMedians) {
  Trial trial;
  trial.configuration = sample();
  trial.outcome = Outcome::RunTimeout;
  trial.reason = "no end";
  trial.seconds = {3, 1, 2, 4};
  trial.baselineSeconds = {3, 2, 2, 2};
  auto again = trialFromJSON(toJSON(trial));
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->configuration, trial.configuration);
  EXPECT_EQ(again->outcome, trial.outcome);
  EXPECT_EQ(again->reason, trial.reason);
  EXPECT_EQ(again->seconds, trial.seconds);
  EXPECT_EQ(trial.medianSeconds(), 2.5);
  EXPECT_EQ(trial.medianRatio(), 1);
}

TEST(Trial, BadJSONSaysWhat) {
  llvm::json::Object object = *toJSON(Trial()).getAsObject();
  object["outcome"] = "odd";
  auto wrong = trialFromJSON(llvm::json::Value(std::move(object)));
  ASSERT_FALSE(bool(wrong));
  EXPECT_THAT(llvm::toString(wrong.takeError()), testing::HasSubstr("'odd'"));
}
