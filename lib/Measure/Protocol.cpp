//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Measure/Protocol.h"

#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <unistd.h>

using namespace attune;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int jobDescriptor = 3;
static constexpr int answerDescriptor = 4;

std::string attune::formatMessage(json::Object message) {
  message["version"] = protocolVersion;
  // Newlines inside strings are escaped by JSON: a message is one line.
  return llvm::formatv("{0}\n", json::Value(std::move(message))).str();
}

Expected<json::Object> attune::parseMessage(StringRef line) {
  Expected<json::Value> value = parseJson(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return makeError("not a message: '{0}'", line.take_front(80));
  }
  json::Object *object = value->getAsObject();
  if (!object)
    return makeError("not a message: '{0}'", line.take_front(80));
  std::optional<int64_t> version = object->getInteger("version");
  if (!version)
    return makeError("a message without a version");
  if (*version != protocolVersion)
    return makeError("a message of protocol version {0}; this is version {1}",
                     *version, protocolVersion);
  return std::move(*object);
}

json::Object attune::failedAnswer(Outcome outcome, StringRef reason) {
  return json::Object{{"outcome", toString(outcome)},
                      {"reason", json::fixUTF8(reason)}};
}

//===----------------------------------------------------------------------===//
// The child's side
//===----------------------------------------------------------------------===//

/// False when the parent is gone.
static bool writeAnswer(json::Object answer) {
  std::string line = formatMessage(std::move(answer));
  StringRef rest = line;
  while (!rest.empty()) {
    ssize_t count = ::write(answerDescriptor, rest.data(), rest.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    rest = rest.drop_front(count);
  }
  return true;
}

namespace {
/// Lines of the job descriptor.
class JobReader {
public:
  /// Nothing at the end.
  std::optional<std::string> next() {
    size_t newline;
    while ((newline = pending.find('\n')) == std::string::npos) {
      char buffer[64 << 10];
      ssize_t count = ::read(jobDescriptor, buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return std::nullopt;
      pending.append(buffer, count);
    }
    std::string line = pending.substr(0, newline);
    pending.erase(0, newline + 1);
    return line;
  }

private:
  std::string pending;
};
} // namespace

static json::Object doJob(const json::Object &job,
                          const llvm::StringMap<JobHandler> &handlers) {
  StringRef kind = job.getString("kind").value_or("");
  auto handler = handlers.find(kind);
  if (handler == handlers.end())
    return json::Object{{"error", llvm::formatv("unknown job '{0}'", kind)}};
  Expected<json::Object> answer = handler->second(job);
  if (!answer)
    return json::Object{
        {"error", json::fixUTF8(llvm::toString(answer.takeError()))}};
  return std::move(*answer);
}

int attune::runWorkerLoop(StringRef name,
                          const llvm::StringMap<JobHandler> &handlers) {
  if (::lseek(jobDescriptor, 0, SEEK_CUR) < 0 && errno == EBADF) {
    std::fprintf(stderr,
                 "error: %s is started by attune, which sends jobs on "
                 "descriptor 3; see docs/protocol.md\n",
                 name.str().c_str());
    return 2;
  }
  // An assertion prints and aborts; a buffer would be lost.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  ::signal(SIGPIPE, SIG_IGN);
  if (!writeAnswer(json::Object{{"kind", "hello"}, {"worker", name}}))
    return 1;
  JobReader reader;
  while (std::optional<std::string> line = reader.next()) {
    Expected<json::Object> job = parseMessage(*line);
    json::Object answer;
    if (job) {
      answer = doJob(*job, handlers);
      if (const json::Value *id = job->get("id"))
        answer["id"] = *id;
    } else {
      answer["error"] = json::fixUTF8(llvm::toString(job.takeError()));
    }
    std::fflush(stdout);
    if (!writeAnswer(std::move(answer)))
      return 1;
  }
  return 0;
}
