//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Worker.h"

#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"
#include "attune/Support/Interrupt.h"
#include "llvm/ADT/Twine.h"
#include <csignal>
#include <unistd.h>

using namespace attune;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

/// What one process made of a job.
struct WorkerProcess::Attempt {
  JobResult result;
  bool tryAgain = false;     ///< In a new process, if this was the first try.
  bool replaceAfter = false; ///< The process must not do another job.
};

WorkerProcess::WorkerProcess(WorkerOptions options)
    : options(std::move(options)) {}

WorkerProcess::~WorkerProcess() = default;

void WorkerProcess::stop() {
  process.reset();
  group.reset();
  folder.reset();
}

bool WorkerProcess::isInterrupted() const {
  return cancelled || interruptRequested() == Interrupt::Now;
}

std::optional<Containment> WorkerProcess::getContainment() const {
  if (!getPid())
    return std::nullopt;
  return process->getContainment();
}

const ControlGroup *WorkerProcess::getControlGroup() const {
  return getPid() && group ? &*group : nullptr;
}

int WorkerProcess::getPid() const {
  return process && !process->getEnd() ? process->getPid() : 0;
}

Outcome WorkerProcess::crashOutcome() const {
  return options.phase == JobPhase::Compile ? Outcome::CompileError
                                            : Outcome::Crash;
}
Outcome WorkerProcess::timeoutOutcome() const {
  return options.phase == JobPhase::Compile ? Outcome::CompileTimeout
                                            : Outcome::RunTimeout;
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// The last line that is not empty: what programs print last says why.
static std::string lastLine(StringRef text) {
  text = text.rtrim();
  return text.drop_front(text.rfind('\n') + 1).trim().str();
}

Error WorkerProcess::start() {
  if (process && !process->getEnd())
    return Error::success();
  // A SIGKILL comes from outside (a full memory, a person): an accident.
  for (int attempt = 1;; ++attempt) {
    bool wasKilled = false;
    Error error = startOnce(wasKilled);
    if (!error || !wasKilled || attempt == 3)
      return error;
    llvm::consumeError(std::move(error));
  }
}

Error WorkerProcess::startOnce(bool &wasKilled) {
  stop();
  Expected<TemporaryFolder> newFolder = TemporaryFolder::create();
  if (!newFolder)
    return newFolder.takeError();
  folder = std::move(*newFolder);
  ProcessOptions spawn;
  spawn.arguments = options.arguments;
  spawn.environment = options.environment;
  spawn.environment.push_back("TMPDIR=" + folder->getPath());
  spawn.workingFolder = folder->getPath();
  spawn.channel = LineChannel::Descriptors;
  spawn.cores = options.cores;
  spawn.containment = options.containment;
  Expected<Subprocess> spawned = Subprocess::spawn(spawn);
  if (!spawned)
    return spawned.takeError();
  process = std::move(*spawned);
  ++startCount;
  jobsDone = 0;

  SystemClock clock;
  double deadline = clock.now() + options.startSeconds;
  Subprocess::Event event;
  do
    event = process->wait(deadline - clock.now());
  while (event == Subprocess::Event::Timeout && clock.now() < deadline &&
         !isInterrupted());
  std::string what;
  if (event == Subprocess::Event::Line) {
    Expected<json::Object> hello = parseMessage(*process->takeLine());
    if (hello && hello->getString("kind") == StringRef("hello")) {
      joinControlGroup();
      return Error::success();
    }
    what = hello ? "did not say hello" : llvm::toString(hello.takeError());
  } else if (event == Subprocess::Event::Ended) {
    what = process->getEnd()->describe();
    wasKilled = process->getEnd()->signal == SIGKILL;
    if (std::string said = lastLine(process->takeOutput()); !said.empty())
      what += ": " + said;
  } else {
    what = llvm::formatv("no answer within {0:f0} s", options.startSeconds);
  }
  stop();
  return makeError("{0}: cannot be used as a worker: {1}", options.arguments[0],
                   what);
}

/// Before its first job, so that all it ever starts is in there. Where this is
/// not allowed (attune doctor says why) the watchdog has to do.
void WorkerProcess::joinControlGroup() {
  Expected<ControlGroup> made = ControlGroup::create(options.controlGroups);
  Error error = made ? made->add(process->getPid()) : made.takeError();
  if (error)
    return llvm::consumeError(std::move(error));
  group = std::move(*made);
}

/// A little above what the watchdog permits, which says more about what it
/// ends; tasks are threads, too.
void WorkerProcess::limitControlGroup(const Limits &limits) {
  if (!group)
    return;
  uint64_t memory = limits.memoryBytes ? limits.memoryBytes + (64ull << 20) : 0;
  llvm::consumeError(group->limit(memory, 16ull * limits.processes));
}

//===----------------------------------------------------------------------===//
// One job
//===----------------------------------------------------------------------===//

Expected<JobResult> WorkerProcess::call(const json::Object &job,
                                        const Limits &limits) {
  json::Object message = job;
  int64_t id = nextId++;
  message["id"] = id;
  std::string line = formatMessage(std::move(message));
  SystemClock clock;
  for (bool last : {false, true}) {
    if (Error error = start())
      return std::move(error);
    double begin = clock.now();
    Expected<Attempt> made = attempt(line, id, limits);
    if (!made)
      return made.takeError();
    made->result.seconds = clock.now() - begin;
    if (made->result.detail.empty())
      made->result.detail = json::fixUTF8(process->takeOutput());
    if (made->replaceAfter || made->tryAgain || process->getEnd() ||
        ++jobsDone >= options.jobsPerProcess)
      stop();
    if (!made->tryAgain || last)
      return std::move(made->result);
  }
  llvm_unreachable("the last attempt returns");
}

Expected<WorkerProcess::Attempt> WorkerProcess::attempt(const std::string &line,
                                                        int64_t id,
                                                        const Limits &limits) {
  SystemClock clock;
  process->takeOutput();
  process->limitFileBytes(limits.fileBytes);
  limitControlGroup(limits);
  double begin = clock.now();
  double cpuAtStart = process->usage().cpuSeconds;
  uint64_t outputAtStart = process->outputBytes(), peakBytes = 0;
  process->send(line);
  while (true) {
    switch (process->wait(0.01)) {
    case Subprocess::Event::Line: {
      // A last look: a short job may have been over between two others.
      ProcessUsage usage = process->usage();
      Expected<Attempt> made = answered(*process->takeLine(), id);
      if (!made)
        return made.takeError();
      made->result.peakBytes = std::max(peakBytes, usage.residentBytes);
      // What a candidate left running would disturb the next.
      if (options.phase == JobPhase::Run && usage.processes > 1)
        made->replaceAfter = true;
      return made;
    }
    case Subprocess::Event::Ended: {
      bool killedByOthers = process->getEnd()->signal == SIGKILL &&
                            !(group && group->outOfMemoryKills());
      JobResult result = died(*process->getEnd(), limits);
      result.peakBytes = peakBytes;
      return Attempt{std::move(result), killedByOthers, true};
    }
    case Subprocess::Event::Timeout:
      if (isInterrupted()) {
        stop();
        return makeError("interrupted");
      }
      if (auto over = overLimit(limits, clock.now() - begin, cpuAtStart,
                                outputAtStart, peakBytes)) {
        process->kill();
        process->wait(10);
        over->peakBytes = peakBytes;
        return Attempt{std::move(*over), false, true};
      }
    }
  }
}

std::optional<JobResult> WorkerProcess::overLimit(const Limits &limits,
                                                  double seconds,
                                                  double cpuAtStart,
                                                  uint64_t outputAtStart,
                                                  uint64_t &peakBytes) {
  ProcessUsage usage =
      process->usage(limits.processes ? limits.processes : 1000);
  peakBytes = std::max(peakBytes, usage.residentBytes);
  if (limits.memoryBytes && usage.residentBytes > limits.memoryBytes)
    return tooMuchMemory(limits);
  if (limits.processes && usage.processes > limits.processes)
    return broken(
        crashOutcome(),
        llvm::formatv("started more than {0} processes", limits.processes)
            .str());
  if (limits.wallSeconds > 0 && seconds > limits.wallSeconds)
    return broken(
        timeoutOutcome(),
        llvm::formatv("no end within {0:f1} s", limits.wallSeconds).str());
  if (limits.cpuSeconds > 0 &&
      usage.cpuSeconds - cpuAtStart > limits.cpuSeconds)
    return broken(timeoutOutcome(),
                  llvm::formatv("no end within {0:f1} s of processor time",
                                limits.cpuSeconds)
                      .str());
  if (limits.outputBytes &&
      process->outputBytes() - outputAtStart > limits.outputBytes)
    return broken(crashOutcome(), llvm::formatv("printed more than {0:f0} MB",
                                                limits.outputBytes / 1e6)
                                      .str());
  if (process->isLineTooLong())
    return broken(crashOutcome(), "answered with an endless line");
  return std::nullopt;
}

JobResult WorkerProcess::tooMuchMemory(const Limits &limits) {
  return broken(Outcome::OutOfMemory,
                llvm::formatv("used more than {0:f0} MB of memory",
                              limits.memoryBytes / 1e6)
                    .str());
}

JobResult WorkerProcess::broken(Outcome outcome, const llvm::Twine &reason) {
  JobResult result;
  result.outcome = outcome;
  result.reason = reason.str();
  return result;
}

JobResult WorkerProcess::died(const ProcessEnd &end, const Limits &limits) {
  if (end.signal == SIGKILL && group && group->outOfMemoryKills())
    return tooMuchMemory(limits);
  if (end.signal == SIGKILL)
    return broken(Outcome::OutOfMemory,
                  "killed from outside, twice; the machine may have run out of "
                  "memory");
  if (end.signal == SIGXFSZ)
    return broken(crashOutcome(), "wrote a file over the size limit");
  if (!process->unfinishedLine().empty())
    return broken(crashOutcome(),
                  "ended in the middle of its answer (" + end.describe() + ")");
  if (end.signal) {
    // What an assertion printed says more than the signal.
    JobResult result = broken(crashOutcome(), end.describe());
    result.detail = json::fixUTF8(process->takeOutput());
    if (std::string said = lastLine(result.detail); !said.empty())
      result.reason += ": " + StringRef(said).take_front(200).str();
    return result;
  }
  return broken(crashOutcome(),
                "the process ended without an answer (" + end.describe() + ")");
}

Expected<WorkerProcess::Attempt> WorkerProcess::answered(StringRef line,
                                                         int64_t id) {
  Expected<json::Object> answer = parseMessage(line);
  if (!answer)
    return Attempt{
        broken(crashOutcome(),
               "damaged answer: " + llvm::toString(answer.takeError())),
        false, true};
  if (std::optional<StringRef> error = answer->getString("error"))
    return makeError("{0}", *error);
  if (answer->getInteger("id") != id)
    return Attempt{broken(crashOutcome(), "an answer to another job"), false,
                   true};
  Attempt made;
  made.replaceAfter = answer->getBoolean("replace").value_or(false);
  made.tryAgain = answer->getBoolean("retry").value_or(false);
  std::optional<Outcome> outcome =
      outcomeFromString(answer->getString("outcome").value_or(""));
  if (!outcome)
    return Attempt{broken(crashOutcome(), "an answer without an outcome"),
                   made.tryAgain, true};
  made.result.outcome = *outcome;
  made.result.reason = answer->getString("reason").value_or("").str();
  made.result.answer = std::move(*answer);
  return made;
}

//===----------------------------------------------------------------------===//
// WorkerPool
//===----------------------------------------------------------------------===//

struct WorkerPool::Job {
  json::Object job;
  Limits limits;
  std::optional<JobResult> result;
  std::string error; ///< Instead of a result.
  bool isDone() const { return result || !error.empty(); }
};

WorkerPool::WorkerPool(WorkerOptions options, unsigned count) {
  for (unsigned i = 0; i < std::max(1u, count); ++i)
    workers.push_back(std::make_unique<WorkerProcess>(options));
  for (auto &worker : workers)
    threads.emplace_back([this, &worker] { work(*worker); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex);
    ending = true;
    waiting.clear();
  }
  for (auto &worker : workers)
    worker->cancel();
  changed.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

void WorkerPool::work(WorkerProcess &worker) {
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock, [&] { return ending || !waiting.empty(); });
    if (ending)
      break;
    std::shared_ptr<Job> job = waiting.front();
    waiting.pop_front();
    lock.unlock();
    Expected<JobResult> result = worker.call(job->job, job->limits);
    lock.lock();
    if (result)
      job->result = std::move(*result);
    else
      job->error = llvm::toString(result.takeError());
    changed.notify_all();
  }
  lock.unlock();
  worker.stop(); // by the thread that started it
}

void WorkerPool::submit(json::Object job, const Limits &limits) {
  auto entry = std::make_shared<Job>(Job{std::move(job), limits, {}, {}});
  {
    std::lock_guard lock(mutex);
    waiting.push_back(entry);
    inOrder.push_back(entry);
  }
  changed.notify_all();
}

Expected<JobResult> WorkerPool::next() {
  std::unique_lock lock(mutex);
  std::shared_ptr<Job> job = inOrder.front();
  changed.wait(lock, [&] { return job->isDone(); });
  inOrder.pop_front();
  if (!job->result)
    return makeError("{0}", job->error);
  return std::move(*job->result);
}

size_t WorkerPool::pending() const {
  std::lock_guard lock(mutex);
  return inOrder.size();
}

bool WorkerPool::isReady() const {
  std::lock_guard lock(mutex);
  return !inOrder.empty() && inOrder.front()->isDone();
}
