//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Search/Guest.h"

#include "Searchers.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"
#include "attune/Support/Installation.h"
#include "attune/Support/Json.h"
#include "attune/Support/Subprocess.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/StringSaver.h"
#include <cstdlib>

using namespace attune;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

constexpr int protocolVersion = 1;

class GuestSearcher : public Searcher {
public:
  GuestSearcher(const Space &space, GuestOptions options)
      : space(space), options(std::move(options)), order(space, 0),
        fallback(createAutoSearcher(space, this->options.seed, {})) {}

  /// Starts it, and tells it everything that is known.
  llvm::Error start();

  std::vector<Configuration> ask(size_t n) override;
  void tell(const Trial &trial) override;
  std::string stopReason() const override;

private:
  using Answer = std::vector<Configuration>;

  void send(StringRef kind, json::Object message);
  void sendTrial(const Trial &trial);
  /// The next message of this kind; questions on the way are answered.
  llvm::Expected<json::Object> receive(StringRef kind);
  llvm::Error diagnoseEnd();
  void answerCheck(const json::Object &question);
  llvm::Expected<Answer> askGuest(size_t n);
  llvm::Error take(const json::Value &proposed, Answer &answer);
  Configuration read(const json::Value &values) const;
  void strike(llvm::Error error);
  Answer askFallback(size_t n);

  const Space &space;
  GuestOptions options;
  RandomOrder order; ///< What was asked or told.
  std::unique_ptr<Searcher> fallback;
  std::optional<Subprocess> process;
  SystemClock clock;
  std::vector<Trial> told;
  size_t failures = 0;
  bool isFinished = false; ///< It has nothing more to propose.
};

json::Object describe(const Knob &knob) {
  const Domain &domain = knob.domain;
  json::Object object{{"name", knob.name}};
  auto list = [&] {
    json::Array values;
    for (uint64_t i = 0; i < domain.size(); ++i)
      values.push_back(toJSON(domain.at(i)));
    object["values"] = std::move(values);
  };
  switch (domain.getKind()) {
  case Domain::Kind::Range: {
    int64_t lower = std::get<int64_t>(domain.at(0));
    int64_t upper = std::get<int64_t>(domain.at(domain.size() - 1));
    int64_t second = std::get<int64_t>(domain.at(domain.size() > 1));
    object["type"] = "integer";
    object["lower"] = lower;
    object["upper"] = upper;
    object["step"] = domain.size() > 1 ? second - lower : 1;
    break;
  }
  case Domain::Kind::Permutation:
    object["type"] = "permutation";
    object["length"] =
        int64_t(std::get<std::vector<int64_t>>(domain.at(0)).size());
    break;
  case Domain::Kind::Integers:
    object["type"] = "integer";
    list();
    break;
  case Domain::Kind::Floats:
    object["type"] = "float";
    list();
    break;
  case Domain::Kind::Boolean:
    object["type"] = "boolean";
    list();
    break;
  case Domain::Kind::Choice:
    object["type"] = "choice";
    list();
    break;
  }
  if (knob.condition)
    object["when"] = knob.condition->getSource().empty()
                         ? knob.condition->str()
                         : knob.condition->getSource();
  return object;
}

json::Object valuesOf(const Configuration &configuration) {
  json::Object values;
  for (const auto &[name, value] : configuration.values)
    values[name] = toJSON(value);
  return values;
}

} // namespace

void GuestSearcher::send(StringRef kind, json::Object message) {
  message["kind"] = kind;
  message["version"] = protocolVersion;
  process->send(llvm::formatv("{0}\n", json::Value(std::move(message))).str());
}

llvm::Error GuestSearcher::start() {
  ProcessOptions launch;
  launch.arguments = options.arguments;
  launch.channel = LineChannel::Standard;
  auto spawned = Subprocess::spawn(launch);
  if (!spawned)
    return spawned.takeError();
  process = std::move(*spawned);
  json::Array knobs, constraints;
  for (const Knob &knob : space.getKnobs())
    knobs.push_back(describe(knob));
  for (const Expression &constraint : space.getConstraints())
    constraints.push_back(constraint.getSource().empty()
                              ? constraint.str()
                              : std::string(constraint.getSource()));
  // Seeds travel as JSON numbers, which are exact up to 2^53.
  send("space",
       json::Object{{"seed", int64_t(options.seed & ((uint64_t(1) << 31) - 1))},
                    {"schedule", space.getSchedule()},
                    {"count", space.count()},
                    {"knobs", std::move(knobs)},
                    {"constraints", std::move(constraints)}});
  auto ready = receive("ready");
  if (!ready)
    return ready.takeError();
  for (const Trial &trial : told)
    sendTrial(trial);
  return llvm::Error::success();
}

llvm::Error GuestSearcher::diagnoseEnd() {
  std::string output = process->takeOutput();
  StringRef last = StringRef(output).rtrim().rsplit('\n').second;
  if (last.empty())
    last = StringRef(output).rtrim();
  return makeError("it ended ({0}){1}{2}", process->getEnd()->describe(),
                   last.empty() ? "" : ": ", last);
}

llvm::Expected<json::Object> GuestSearcher::receive(StringRef kind) {
  double deadline = clock.now() + options.answerSeconds;
  while (true) {
    std::optional<std::string> line = process->takeLine();
    if (!line) {
      double left = deadline - clock.now();
      if (left <= 0)
        return makeError("no answer for {0:f1} s", options.answerSeconds);
      if (process->isLineTooLong())
        return makeError("it wrote a line without end");
      if (process->wait(left) == Subprocess::Event::Ended &&
          !(line = process->takeLine()))
        return diagnoseEnd();
      if (!line)
        continue;
    }
    auto parsed = parseJson(*line);
    if (!parsed)
      return makeError("it wrote something else than JSON ({0}): {1}",
                       llvm::toString(parsed.takeError()),
                       StringRef(*line).take_front(80));
    json::Object *message = parsed->getAsObject();
    if (!message || message->getInteger("version") != protocolVersion)
      return makeError("it wrote no message of version {0}: {1}",
                       protocolVersion, StringRef(*line).take_front(80));
    StringRef got = message->getString("kind").value_or("");
    if (got == kind)
      return std::move(*message);
    if (got != "check")
      return makeError("it wrote a message of kind '{0}' where '{1}' is due",
                       got, kind);
    answerCheck(*message);
  }
}

/// Nothing where it is not an object of knobs and values.
Configuration GuestSearcher::read(const json::Value &values) const {
  Configuration configuration;
  configuration.schedule = space.getSchedule();
  if (const json::Object *object = values.getAsObject())
    for (const auto &[name, value] : *object) {
      auto parsed = knobValueFromJSON(value);
      if (parsed)
        configuration.values.emplace_back(name.str(), std::move(*parsed));
      else
        llvm::consumeError(parsed.takeError());
    }
  return configuration;
}

void GuestSearcher::answerCheck(const json::Object &question) {
  json::Array answers;
  if (const json::Array *proposed = question.getArray("configurations"))
    for (const json::Value &values : *proposed) {
      Configuration configuration = read(values);
      bool isValid = space.contains(configuration);
      json::Object answer{{"valid", isValid},
                          {"known", isValid && order.isGiven(configuration)}};
      if (!isValid)
        answer["nearest"] = valuesOf(space.nearest(configuration));
      answers.push_back(std::move(answer));
    }
  send("checked", json::Object{{"configurations", std::move(answers)}});
}

llvm::Error GuestSearcher::take(const json::Value &proposed, Answer &answer) {
  Configuration configuration = read(proposed);
  auto numbers = space.encode(configuration);
  if (!numbers || !space.contains(*numbers))
    return makeError("it proposed {0}, which is not in the space", proposed);
  if (order.isGiven(*numbers))
    return makeError("it proposed {0} once more", proposed);
  order.exclude(*numbers);
  answer.push_back(space.decode(*numbers));
  return llvm::Error::success();
}

/// What is valid is taken, whatever follows it.
llvm::Expected<GuestSearcher::Answer> GuestSearcher::askGuest(size_t n) {
  if (!process)
    if (llvm::Error error = start())
      return std::move(error);
  send("ask", json::Object{{"n", int64_t(n)}});
  auto message = receive("configurations");
  if (!message)
    return message.takeError();
  const json::Array *proposed = message->getArray("configurations");
  if (!proposed)
    return makeError("its answer has no list 'configurations'");
  isFinished = proposed->empty();
  Answer answer;
  for (const json::Value &values : *proposed) {
    if (answer.size() == n)
      break;
    if (llvm::Error error = take(values, answer)) {
      if (answer.empty())
        return std::move(error);
      strike(std::move(error));
      break;
    }
  }
  return answer;
}

void GuestSearcher::strike(llvm::Error error) {
  process.reset();
  bool isLast = ++failures > options.restarts;
  std::string text =
      llvm::formatv("search {0}: {1}; {2}", options.name,
                    llvm::toString(std::move(error)),
                    isLast ? "going on with auto" : "starting it again")
          .str();
  if (options.note)
    options.note(text);
}

GuestSearcher::Answer GuestSearcher::askFallback(size_t n) {
  Answer answer;
  while (answer.size() < n) {
    auto asked = fallback->ask(1);
    if (asked.empty())
      break;
    if (order.isGiven(asked.front()))
      continue;
    order.exclude(asked.front());
    answer.push_back(std::move(asked.front()));
  }
  return answer;
}

std::vector<Configuration> GuestSearcher::ask(size_t n) {
  while (failures <= options.restarts && !isFinished && !order.isExhausted()) {
    auto answer = askGuest(n);
    if (answer)
      return std::move(*answer);
    strike(answer.takeError());
  }
  return isFinished ? Answer() : askFallback(n);
}

void GuestSearcher::sendTrial(const Trial &trial) {
  json::Object message{{"configuration", valuesOf(trial.configuration)},
                       {"outcome", toString(trial.outcome)}};
  if (trial.outcome == Outcome::Ok) {
    message["seconds"] = trial.medianSeconds();
    message["value"] = trial.baselineSeconds.empty() ? trial.medianSeconds()
                                                     : trial.medianRatio();
  } else {
    message["reason"] = json::fixUTF8(trial.reason);
  }
  send("tell", std::move(message));
}

void GuestSearcher::tell(const Trial &trial) {
  fallback->tell(trial);
  if (!space.contains(trial.configuration))
    return;
  order.exclude(trial.configuration);
  told.push_back(trial);
  if (process)
    sendTrial(trial);
}

std::string GuestSearcher::stopReason() const {
  if (order.isExhausted())
    return exhaustedReason(space);
  if (isFinished)
    return llvm::formatv("{0} has nothing more to propose", options.name).str();
  return failures > options.restarts ? fallback->stopReason() : "";
}

llvm::Expected<std::unique_ptr<Searcher>>
attune::createGuestSearcher(const Space &space, GuestOptions options) {
  std::string name = options.name;
  auto searcher = std::make_unique<GuestSearcher>(space, std::move(options));
  if (llvm::Error error = searcher->start())
    return makeError("search {0}: {1}", name, llvm::toString(std::move(error)));
  return searcher;
}

llvm::Expected<std::vector<std::string>>
attune::guestCommand(llvm::StringRef name) {
  if (name == "optuna" || name == "opentuner") {
    std::string file = (name + "_client.py").str();
    auto script = findInstalled(
        {"../share/attune/search/" + file, "../../../../tools/search/" + file},
        file, "install Attune again");
    if (!script)
      return script.takeError();
    const char *python = std::getenv("ATTUNE_PYTHON");
    return std::vector<std::string>{python && *python ? python : "python3",
                                    *script};
  }
  if (!name.consume_front("exec:"))
    return makeError("unknown searcher '{0}'; known are auto, random, "
                     "exhaustive, optuna, opentuner, exec:PROGRAM",
                     name);
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver saver(allocator);
  llvm::SmallVector<const char *> words;
  llvm::cl::TokenizeGNUCommandLine(name, saver, words);
  if (words.empty())
    return makeError("--search=exec: needs a program: exec:./client.py");
  return std::vector<std::string>(words.begin(), words.end());
}
