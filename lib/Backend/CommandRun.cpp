//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommandRun.h"

#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"

#include <csignal>

using namespace llvm;
using namespace attune;

static Outcome failureOf(JobPhase phase) {
  return phase == JobPhase::Compile ? Outcome::CompileError : Outcome::Crash;
}

static Outcome timeoutOf(JobPhase phase) {
  return phase == JobPhase::Compile ? Outcome::CompileTimeout
                                    : Outcome::RunTimeout;
}

/// The last line that says something; of a compiler, the first error.
static std::string tellingLine(StringRef output) {
  StringRef last;
  for (StringRef line : split(output, '\n')) {
    if (line.contains("error: "))
      return line.trim().take_front(200).str();
    if (!line.trim().empty())
      last = line;
  }
  return last.trim().take_front(200).str();
}

/// What it is over, if anything.
static std::optional<std::pair<Outcome, std::string>>
overLimit(const Subprocess &process, const Limits &limits, double seconds,
          JobPhase phase) {
  if (seconds > limits.wallSeconds)
    return {{timeoutOf(phase),
             formatv("no end within {0:f1} s", limits.wallSeconds).str()}};
  if (process.outputBytes() > limits.outputBytes)
    return {{failureOf(phase),
             formatv("printed more than {0:f0} MB", limits.outputBytes / 1e6)
                 .str()}};
  ProcessUsage usage = process.usage(limits.processes + 1);
  if (usage.residentBytes > limits.memoryBytes)
    return {{Outcome::OutOfMemory, formatv("used more than {0:f0} MB of memory",
                                           limits.memoryBytes / 1e6)
                                       .str()}};
  if (usage.processes > limits.processes)
    return {
        {failureOf(phase),
         formatv("started more than {0} processes", limits.processes).str()}};
  return std::nullopt;
}

static void describeEnd(const ProcessEnd &end, JobPhase phase,
                        CommandOutcome &outcome) {
  outcome.cpuSeconds = end.cpuSeconds;
  if (end.succeeded())
    return;
  outcome.outcome = failureOf(phase);
  if (end.signal == SIGKILL)
    outcome.outcome = Outcome::OutOfMemory;
  if (end.signal == SIGXCPU)
    outcome.outcome = timeoutOf(phase);
  outcome.reason = end.describe();
  if (end.signal == SIGKILL)
    outcome.reason += ", killed from outside; the machine may have run out of "
                      "memory";
  if (std::string said = tellingLine(outcome.output); !said.empty())
    outcome.reason += ": " + said;
}

CommandOutcome attune::runCommand(std::vector<std::string> arguments,
                                  const CommandPlace &place,
                                  const Limits &limits, JobPhase phase) {
  ProcessOptions options;
  options.arguments = std::move(arguments);
  options.environment = place.environment;
  options.environment.push_back("TMPDIR=" + place.folder);
  options.workingFolder = place.folder;
  options.capturedBytes = 1 << 20;
  options.limits.fileBytes = limits.fileBytes;
  options.limits.cpuSeconds = static_cast<uint64_t>(limits.cpuSeconds);
  options.containment = Containment::Subreaper;
  CommandOutcome outcome;
  SystemClock clock;
  double begin = clock.now();
  Expected<Subprocess> process = Subprocess::spawn(options);
  if (!process) {
    outcome.outcome = failureOf(phase);
    outcome.reason = llvm::toString(process.takeError());
    return outcome;
  }
  std::optional<std::pair<Outcome, std::string>> over;
  while (!process->getEnd()) {
    // Looked at rarely: a look costs the program a little of its time.
    double seconds = clock.now() - begin;
    process->wait(over ? 0.02
                       : std::clamp(limits.wallSeconds - seconds, 0.0, 0.02));
    if (process->getEnd() || over)
      continue;
    over = overLimit(*process, limits, clock.now() - begin, phase);
    if (!over && interruptRequested() == Interrupt::Now)
      over = {timeoutOf(phase), "interrupted"};
    if (over)
      process->kill();
  }
  outcome.wallSeconds = clock.now() - begin;
  outcome.output = json::fixUTF8(process->takeOutput());
  describeEnd(*process->getEnd(), phase, outcome);
  if (over)
    std::tie(outcome.outcome, outcome.reason) = *over;
  return outcome;
}
