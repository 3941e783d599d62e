//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Tests that are rows of docs/reliability.md: what goes wrong, how it is made
// to go wrong, and what comes of it, which the test compares with what it got.
// The page is written from these rows (./dev docs), so it cannot say what no
// test shows.
//
//   FAULT_TEST_F(MeasureFaults, EndlessLoop, "Candidates", "infinite loop",
//                "a library that loops", "runTimeout", "no end within 0.3 s") {
//     ...
//     expectFault(toString(result.outcome), result.reason);
//   }

#ifndef ATTUNE_UNITTESTS_FAULTS_H
#define ATTUNE_UNITTESTS_FAULTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <string>
#include <vector>

namespace attune {

struct FaultRow {
  std::string test; ///< `MeasureFaults.EndlessLoop`.
  /// The table that the row is in: `Candidates`, `Database`, ...
  std::string section;
  std::string fault;     ///< What goes wrong.
  std::string injection; ///< How the test makes it so.
  std::string outcome;   ///< As in Outcome.h; or `error`, `goes on`, ...
  std::string seen;      ///< The line a person gets; `...` stands for any text.
  bool checked = false;
};

inline std::vector<FaultRow> &faultRows() {
  static std::vector<FaultRow> rows;
  return rows;
}

inline bool registerFault(FaultRow row) {
  faultRows().push_back(std::move(row));
  return true;
}

/// `...` in the pattern stands for any text.
inline bool matchesSeen(llvm::StringRef pattern, llvm::StringRef text) {
  auto [head, tail] = pattern.split("...");
  if (head.size() == pattern.size())
    return pattern == text;
  if (!text.consume_front(head))
    return false;
  if (tail.empty())
    return true;
  for (; !text.empty(); text = text.drop_front())
    if (matchesSeen(tail, text))
      return true;
  return false;
}

/// Compares what the running test got with its row.
inline void expectFault(llvm::StringRef outcome, llvm::StringRef seen) {
  const testing::TestInfo *info =
      testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  for (FaultRow &row : faultRows()) {
    if (row.test != name)
      continue;
    row.checked = true;
    EXPECT_EQ(outcome.str(), row.outcome) << seen.str();
    EXPECT_TRUE(matchesSeen(row.seen, seen))
        << "  seen: " << seen.str() << "\n  row:  " << row.seen;
    return;
  }
  ADD_FAILURE() << name << " is no FAULT_TEST";
}

/// Writes the rows for tools/dev/reliability.py to $ATTUNE_FAULT_LIST.
class FaultList : public testing::Test {
public:
  void TestBody() override {
    for (const FaultRow &row : faultRows())
      for (const std::string &text :
           {row.section, row.fault, row.injection, row.outcome, row.seen})
        EXPECT_FALSE(text.empty()) << row.test;
    const char *path = std::getenv("ATTUNE_FAULT_LIST");
    if (!path)
      return;
    std::error_code code;
    llvm::raw_fd_ostream out(path, code);
    ASSERT_FALSE(code) << path << ": " << code.message();
    for (const FaultRow &row : faultRows())
      out << llvm::json::Value(llvm::json::Object{{"test", row.test},
                                                  {"section", row.section},
                                                  {"fault", row.fault},
                                                  {"injection", row.injection},
                                                  {"outcome", row.outcome},
                                                  {"seen", row.seen}})
          << '\n';
  }
};

/// At the end: a row that its test never compared is only a claim.
class FaultRowsAreChecked : public testing::Environment {
public:
  void TearDown() override {
    for (const FaultRow &row : faultRows())
      EXPECT_TRUE(row.checked || !wasRun(row.test))
          << row.test << " does not call expectFault";
  }

private:
  static bool wasRun(const std::string &test) {
    const testing::UnitTest &unit = *testing::UnitTest::GetInstance();
    for (int s = 0; s < unit.total_test_suite_count(); ++s) {
      const testing::TestSuite &suite = *unit.GetTestSuite(s);
      for (int t = 0; t < suite.total_test_count(); ++t) {
        const testing::TestInfo &info = *suite.GetTestInfo(t);
        if (test == std::string(suite.name()) + "." + info.name())
          return info.should_run() && info.result()->Passed() &&
                 !info.result()->Skipped();
      }
    }
    return false;
  }
};

inline const bool faultListIsThere = [] {
  testing::RegisterTest("Faults", "AreListed", nullptr, nullptr, __FILE__,
                        __LINE__,
                        []() -> testing::Test * { return new FaultList; });
  testing::AddGlobalTestEnvironment(new FaultRowsAreChecked);
  return true;
}();

} // namespace attune

#define FAULT_TEST_ROW(SUITE, NAME, ...)                                       \
  static const bool isFaultRow_##SUITE##_##NAME =                              \
      attune::registerFault({#SUITE "." #NAME, __VA_ARGS__});

#define FAULT_TEST(SUITE, NAME, ...)                                           \
  FAULT_TEST_ROW(SUITE, NAME, __VA_ARGS__)                                     \
  TEST(SUITE, NAME)

#define FAULT_TEST_F(FIXTURE, NAME, ...)                                       \
  FAULT_TEST_ROW(FIXTURE, NAME, __VA_ARGS__)                                   \
  TEST_F(FIXTURE, NAME)

#endif // ATTUNE_UNITTESTS_FAULTS_H
