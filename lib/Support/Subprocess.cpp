//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Subprocess.h"

#include "Spawn.h"
#include "attune/Support/Clock.h"
#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Keeper.h"
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attune;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// How processes end
//===----------------------------------------------------------------------===//

std::string attune::describeSignal(int signal) {
  const char *name = ::sigabbrev_np(signal);
  const char *text = ::sigdescr_np(signal);
  if (!name)
    return llvm::formatv("signal {0}", signal);
  return llvm::formatv("SIG{0} ({1})", name, text);
}

std::string ProcessEnd::describe() const {
  return signal ? describeSignal(signal)
                : llvm::formatv("exit status {0}", exitCode).str();
}

ProcessEnd attune::toProcessEnd(int status, double cpuSeconds) {
  ProcessEnd end;
  end.cpuSeconds = cpuSeconds;
  if (WIFSIGNALED(status))
    end.signal = WTERMSIG(status);
  else
    end.exitCode = WEXITSTATUS(status);
  return end;
}

ProcessEnd attune::reapProcess(int pid) {
  int status = 0;
  rusage usage = {};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
    ;
  auto seconds = [](const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * time.tv_usec;
  };
  return toProcessEnd(status,
                      seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

//===----------------------------------------------------------------------===//
// Bounded output
//===----------------------------------------------------------------------===//

namespace {
/// The first and the last bytes of a text of any length.
class BoundedText {
public:
  explicit BoundedText(size_t limit) : half(limit / 2) {}

  void append(StringRef bytes) {
    total += bytes.size();
    size_t room = half - std::min(half, head.size());
    head += bytes.take_front(room);
    tail += bytes.drop_front(std::min(room, bytes.size()));
    if (tail.size() > 4 * half + 4096)
      dropMiddle();
  }

  std::string take() {
    if (tail.size() > half)
      dropMiddle();
    std::string text = std::move(head);
    if (dropped)
      text += llvm::formatv("\n[... {0} bytes left out ...]\n", dropped).str();
    text += tail;
    head.clear();
    tail.clear();
    dropped = 0;
    return text;
  }

  uint64_t getTotal() const { return total; }

private:
  void dropMiddle() {
    dropped += tail.size() - half;
    tail.erase(0, tail.size() - half);
  }

  size_t half;
  std::string head, tail;
  uint64_t dropped = 0, total = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Subprocess
//===----------------------------------------------------------------------===//

struct Subprocess::State {
  State(SpawnedProcess process, const ProcessOptions &options)
      : process(std::move(process)), output(options.capturedBytes),
        lineBytes(options.lineBytes) {}

  SpawnedProcess process;
  BoundedText output;
  size_t lineBytes;
  std::string unsent, lines;
  size_t searchedLines = 0; // no newline before this place of `lines`
  std::optional<ProcessEnd> end;

  bool hasLine();
  bool isLineTooLong() { return !hasLine() && lines.size() > lineBytes; }
  void readOutput();
  void readLines();
  void writeLines();
  bool hasEnded(bool pidReadable);
  void kill();
  void finish();
};

Subprocess::Subprocess(std::unique_ptr<State> state)
    : state(std::move(state)) {}
Subprocess::Subprocess(Subprocess &&) = default;
Subprocess &Subprocess::operator=(Subprocess &&) = default;

Expected<Subprocess> Subprocess::spawn(const ProcessOptions &options) {
  Expected<SpawnedProcess> process = spawnProcess(options);
  if (!process)
    return process.takeError();
  return Subprocess(std::make_unique<State>(std::move(*process), options));
}

Subprocess::~Subprocess() {
  if (!state || state->end)
    return;
  state->kill();
  // A keeper without a namespace has to find what it keeps; stopped, it cannot.
  for (int i = 0; i < 200 && !state->end; ++i)
    wait(0.01);
  if (state->end)
    return;
  ::kill(-state->process.pid, SIGKILL);
  reapProcess(state->process.pid);
}

/// One read of what is there; false when there is nothing now.
static bool readSome(Descriptor &from,
                     llvm::function_ref<void(StringRef)> use) {
  char buffer[64 << 10];
  ssize_t count = ::read(from.get(), buffer, sizeof(buffer));
  if (count > 0)
    use(StringRef(buffer, count));
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    from.close();
  return count > 0;
}

void Subprocess::State::readOutput() {
  // Bounded, so that a program that prints without end does not keep us here.
  for (int reads = 0; reads < 64 && process.output.get() >= 0; ++reads)
    if (!readSome(process.output, [&](StringRef s) { output.append(s); }))
      return;
}

void Subprocess::State::readLines() {
  for (int reads = 0;
       reads < 64 && process.linesFrom.get() >= 0 && lines.size() <= lineBytes;
       ++reads)
    if (!readSome(process.linesFrom, [&](StringRef s) { lines += s; }))
      return;
}

void Subprocess::State::writeLines() {
  while (!unsent.empty()) {
    ssize_t count = ::send(process.linesTo.get(), unsent.data(), unsent.size(),
                           MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno != EAGAIN) {
      // The program closed its end; that it ended is seen elsewhere.
      unsent.clear();
      process.linesTo.close();
    }
    if (count < 0)
      return;
    unsent.erase(0, count);
  }
}

bool Subprocess::State::hasLine() {
  size_t newline = lines.find('\n', searchedLines);
  searchedLines = newline == std::string::npos ? lines.size() : newline;
  return newline != std::string::npos;
}

bool Subprocess::State::hasEnded(bool pidReadable) {
  if (process.pidDescriptor.get() >= 0)
    return pidReadable;
  siginfo_t info = {};
  return ::waitid(P_PID, process.pid, &info, WEXITED | WNOHANG | WNOWAIT) ==
             0 &&
         info.si_pid == process.pid;
}

void Subprocess::State::kill() {
  if (process.containment != Containment::Subreaper) {
    ::kill(-process.pid, SIGKILL);
    return;
  }
  ::kill(process.pid, SIGTERM);
  ::kill(process.pid, SIGCONT);
  if (process.programPid > 0)
    ::kill(-process.programPid, SIGKILL); // its group
}

void Subprocess::State::finish() {
  // While the leader is not reaped its group's number cannot be reused.
  ::kill(-process.pid, SIGKILL);
  end = reapProcess(process.pid);
  AttuneKeeperEnd kept = {};
  // A keeper that ends without a word was killed, and its program with it.
  if (process.keeperStatus.get() >= 0) {
    if (::read(process.keeperStatus.get(), &kept, sizeof(kept)) == sizeof(kept))
      end = toProcessEnd(kept.status, kept.cpuSeconds);
    else
      end->signal = SIGKILL;
  }
  readOutput();
  readLines();
}

Subprocess::Event Subprocess::wait(double seconds) {
  SystemClock clock;
  double deadline = clock.now() + seconds;
  while (true) {
    if (state->hasLine())
      return Event::Line;
    if (state->end)
      return Event::Ended;
    double left = std::max(0.0, deadline - clock.now());
    // Without a pidfd the end has to be asked for.
    if (state->process.pidDescriptor.get() < 0)
      left = std::min(left, 0.005);
    pollfd waited[] = {
        {state->process.output.get(), POLLIN, 0},
        {state->isLineTooLong() ? -1 : state->process.linesFrom.get(), POLLIN,
         0},
        {state->unsent.empty() ? -1 : state->process.linesTo.get(), POLLOUT, 0},
        {state->process.pidDescriptor.get(), POLLIN, 0}};
    timespec timeout = {static_cast<time_t>(std::min(left, 1e6)),
                        static_cast<long>((left - std::floor(left)) * 1e9)};
    int ready = ::ppoll(waited, std::size(waited), &timeout, nullptr);
    if (ready < 0)
      return Event::Timeout; // a signal: the caller has things to ask
    if (waited[0].revents)
      state->readOutput();
    if (waited[1].revents)
      state->readLines();
    if (waited[2].revents)
      state->writeLines();
    if (state->hasEnded(waited[3].revents))
      state->finish();
    else if (!state->hasLine() && clock.now() >= deadline)
      return Event::Timeout;
  }
}

void Subprocess::send(StringRef bytes) {
  if (state->process.linesTo.get() < 0)
    return;
  state->unsent += bytes;
  state->writeLines();
}

std::optional<std::string> Subprocess::takeLine() {
  if (!state->hasLine())
    return std::nullopt;
  std::string line = state->lines.substr(0, state->searchedLines);
  state->lines.erase(0, state->searchedLines + 1);
  state->searchedLines = 0;
  return line;
}

StringRef Subprocess::unfinishedLine() const {
  size_t newline = state->lines.rfind('\n');
  return StringRef(state->lines)
      .drop_front(newline == std::string::npos ? 0 : newline + 1);
}

bool Subprocess::isLineTooLong() const { return state->isLineTooLong(); }

void Subprocess::kill() {
  if (!state->end)
    state->kill();
}

const std::optional<ProcessEnd> &Subprocess::getEnd() const {
  return state->end;
}
std::string Subprocess::takeOutput() {
  state->readOutput();
  return state->output.take();
}
uint64_t Subprocess::outputBytes() const { return state->output.getTotal(); }
int Subprocess::getPid() const { return state->process.programPid; }
Containment Subprocess::getContainment() const {
  return state->process.containment;
}

ProcessUsage Subprocess::usage(unsigned mostProcesses) const {
  if (state->end)
    return {};
  return usageOfTree(state->process.pid, state->process.programPid,
                     mostProcesses);
}

void Subprocess::limitFileBytes(uint64_t bytes) {
  if (state->end || state->process.programPid <= 0)
    return;
  rlimit limit = {bytes ? bytes : RLIM_INFINITY, RLIM_INFINITY};
  ::prlimit(state->process.programPid, RLIMIT_FSIZE, &limit, nullptr);
}

Expected<ProcessResult> attune::runProcess(const ProcessOptions &options,
                                           double seconds) {
  Expected<Subprocess> process = Subprocess::spawn(options);
  if (!process)
    return process.takeError();
  SystemClock clock;
  double deadline = clock.now() + (seconds > 0 ? seconds : 1e9);
  ProcessResult result;
  while (!process->getEnd()) {
    Subprocess::Event event = process->wait(deadline - clock.now());
    if (event == Subprocess::Event::Line)
      process->takeLine();
    if (event == Subprocess::Event::Timeout && clock.now() >= deadline) {
      result.timedOut = true;
      process->kill();
      deadline = clock.now() + 10;
    }
  }
  result.end = *process->getEnd();
  result.output = process->takeOutput();
  return result;
}
