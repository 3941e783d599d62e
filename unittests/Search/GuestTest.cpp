//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Guests that go wrong in every way: no trial is lost, nothing invalid gets
// out.

#include "attune/Search/Guest.h"
#include "attune/Space/FromJSON.h"
#include "attune/Support/Files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <set>

using namespace attune;
using testing::HasSubstr;

namespace {

class GuestTest : public testing::Test {
protected:
  GuestOptions options(llvm::StringRef mode, std::string argument = "") {
    GuestOptions result;
    result.name = "fake";
    // Without site-packages: it starts faster, and often.
    result.arguments = {"/usr/bin/python3", "-S",
                        ATTUNE_SOURCE_DIR "/unittests/Search/fake_guest.py",
                        mode.str(), std::move(argument)};
    result.answerSeconds = 20;
    result.note = [this](llvm::StringRef text) { notes.push_back(text.str()); };
    return result;
  }

  /// Asks until there is no more, or enough; gives the number of trials.
  size_t exhaust(Searcher &searcher, size_t batch = 1, size_t enough = 1000) {
    std::set<std::string> asked;
    while (true) {
      auto configurations = searcher.ask(batch);
      for (const Configuration &configuration : configurations) {
        EXPECT_TRUE(space.contains(configuration));
        EXPECT_TRUE(asked.insert(toString(configuration)).second);
        Trial trial;
        trial.configuration = configuration;
        trial.seconds = {1.0 + double(asked.size() % 7)};
        searcher.tell(trial);
      }
      if (configurations.empty() || asked.size() >= enough)
        return asked.size();
    }
  }

  Space space = llvm::cantFail(parseSpace(
      R"({"knobs": [{"name": "a", "range": [0, 9]}, {"name": "b", "range": [0, 9]}],
          "constraints": ["a + b < 12", "a != b"]})",
      "small"));
  std::vector<std::string> notes;
};

} // namespace

TEST_F(GuestTest, AGoodOneIsAskedForEverything) {
  auto searcher = llvm::cantFail(createGuestSearcher(space, options("good")));
  EXPECT_EQ(exhaust(*searcher, 3), space.count());
  EXPECT_THAT(searcher->stopReason(), HasSubstr("exhausted"));
  EXPECT_THAT(notes, testing::IsEmpty());
}

TEST_F(GuestTest, AfterTooManyFailuresAutoGoesOn) {
  for (auto [mode, message] :
       std::vector<std::pair<const char *, const char *>>{
           {"dies", "it ended (exit status 7): out of ideas"},
           {"killed", "it ended (SIGKILL"},
           {"garbage", "something else than JSON"},
           {"half", "it ended (exit status 0)"},
           {"version", "no message of version 1"},
           {"invalid", "which is not in the space"},
           {"repeat", "once more"}}) {
    SCOPED_TRACE(mode);
    notes.clear();
    auto searcher = llvm::cantFail(createGuestSearcher(space, options(mode)));
    EXPECT_EQ(exhaust(*searcher), space.count());
    ASSERT_EQ(notes.size(), 3u);
    EXPECT_THAT(notes[0], HasSubstr(message));
    EXPECT_THAT(notes[0], HasSubstr("starting it again"));
    EXPECT_THAT(notes[2], HasSubstr("going on with auto"));
  }
}

TEST_F(GuestTest, OneThatHangsIsNotWaitedForEver) {
  for (const char *mode : {"hangs", "hangsInALine"}) {
    SCOPED_TRACE(mode);
    notes.clear();
    GuestOptions hangs = options(mode);
    hangs.answerSeconds = 2;
    hangs.restarts = 0;
    auto searcher = llvm::cantFail(createGuestSearcher(space, hangs));
    EXPECT_EQ(exhaust(*searcher), space.count());
    EXPECT_EQ(notes,
              std::vector<std::string>{
                  "search fake: no answer for 2.0 s; going on with auto"});
  }
}

TEST_F(GuestTest, KilledAtTrial20ItKnowsThemAllAfterwards) {
  auto folder = llvm::cantFail(TemporaryFolder::create());
  auto searcher = llvm::cantFail(createGuestSearcher(
      space, options("diesOnce", folder.getPath() + "/died")));
  EXPECT_EQ(exhaust(*searcher), space.count());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0], HasSubstr("SIGKILL"));
}

TEST_F(GuestTest, OneThatHasNoMoreEndsTheSearch) {
  auto searcher =
      llvm::cantFail(createGuestSearcher(space, options("finishes")));
  EXPECT_EQ(exhaust(*searcher), 5u);
  EXPECT_EQ(searcher->stopReason(), "fake has nothing more to propose");
}

TEST_F(GuestTest, OneThatDoesNotStartIsAnError) {
  auto missing = createGuestSearcher(space, options("notInstalled"));
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "search fake: it ended (exit status 1): the engine is not "
            "installed: pip install engine");
  GuestOptions silent = options("silent");
  silent.answerSeconds = 0.5;
  auto hanging = createGuestSearcher(space, silent);
  ASSERT_FALSE(bool(hanging));
  EXPECT_EQ(llvm::toString(hanging.takeError()),
            "search fake: no answer for 0.5 s");
  GuestOptions nowhere = options("good");
  nowhere.arguments = {"/no/such/program"};
  auto none = createGuestSearcher(space, nowhere);
  ASSERT_FALSE(bool(none));
  EXPECT_THAT(llvm::toString(none.takeError()), HasSubstr("/no/such/program"));
}

TEST_F(GuestTest, APackageThatIsMissingIsNamed) {
  auto folder = llvm::cantFail(TemporaryFolder::create());
  for (std::string engine : {"optuna", "opentuner"}) {
    // Stands before one that is installed.
    llvm::cantFail(writeFile(folder.getPath() + "/" + engine + ".py",
                             "raise ImportError('not here')\n"));
    GuestOptions client;
    client.name = engine;
    client.arguments = {"env", "PYTHONPATH=" + folder.getPath(), "python3",
                        ATTUNE_SOURCE_DIR "/tools/search/" + engine +
                            "_client.py"};
    auto searcher = createGuestSearcher(space, client);
    ASSERT_FALSE(bool(searcher));
    std::string message = llvm::toString(searcher.takeError());
    EXPECT_THAT(message, HasSubstr("search " + engine + ": it ended"));
    EXPECT_THAT(message, HasSubstr(engine + " is not installed"));
    EXPECT_THAT(message, HasSubstr("pip install"));
  }
}

/// The engines themselves, with all kinds of knobs, where `./dev setup bench`
/// has put them.
TEST_F(GuestTest, EnginesProposeWhatIsValidAndNew) {
  const char *python = ATTUNE_SOURCE_DIR "/.venv/bin/python";
  Space typed = llvm::cantFail(parseSpace(
      R"({"knobs": [{"name": "a", "range": [1, 9]}, {"name": "b", "values": [true, false]},
                    {"name": "c", "values": ["x", "y"], "when": "b"},
                    {"name": "p", "permutation": 3}],
          "constraints": ["a % 4 != 3"]})",
      "typed"));
  bool isAny = false;
  for (std::string engine : {"optuna", "opentuner"}) {
    if (std::system(
            (python + (" -c 'import " + engine + "' 2>/dev/null")).c_str()))
      continue;
    isAny = true;
    SCOPED_TRACE(engine);
    GuestOptions client = options("");
    client.name = engine;
    client.arguments = {python, ATTUNE_SOURCE_DIR "/tools/search/" + engine +
                                    "_client.py"};
    client.answerSeconds = 120;
    space = typed;
    auto searcher = llvm::cantFail(createGuestSearcher(space, client));
    EXPECT_EQ(exhaust(*searcher, 3, 24), 24u);
    EXPECT_THAT(notes, testing::IsEmpty());
  }
  if (!isAny)
    GTEST_SKIP() << "neither optuna nor opentuner is installed in .venv";
}

TEST_F(GuestTest, CommandsAreSplitAsAShellWould) {
  EXPECT_EQ(llvm::cantFail(guestCommand("exec:python3 'my client.py' -v")),
            (std::vector<std::string>{"python3", "my client.py", "-v"}));
  EXPECT_EQ(llvm::toString(guestCommand("exec: ").takeError()),
            "--search=exec: needs a program: exec:./client.py");
}
