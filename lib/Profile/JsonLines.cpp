//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Our own JSON lines, and those of `iree-profile dispatch --format=jsonl`.

#include "Formats.h"
#include "attune/Support/Error.h"
#include "attune/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>

using namespace attune;
using llvm::Error;
using llvm::StringRef;
namespace json = llvm::json;

static constexpr int64_t version = 1;

static json::Object sizesToJSON(const std::map<std::string, double> &sizes) {
  json::Object object;
  for (const auto &[key, calls] : sizes)
    object[json::fixUTF8(key)] = calls;
  return object;
}

std::string profile::printJsonLines(const Profile &profile) {
  std::string text;
  llvm::raw_string_ostream out(text);
  auto line = [&](json::Object object) {
    out << json::Value(std::move(object)) << '\n';
  };
  auto valid = [](StringRef text) { return json::fixUTF8(text); };
  json::Object whole{{"kind", "profile"},
                     {"version", version},
                     {"model", valid(profile.model)},
                     {"totalSeconds", profile.totalSeconds()}};
  if (std::optional<double> share = profile.scheduledShare())
    whole["scheduledShare"] = *share;
  line(std::move(whole));
  for (const ProfileEntry &entry : profile.entries)
    line(json::Object{{"kind", "entry"},
                      {"name", valid(entry.name)},
                      {"runs", entry.runs},
                      {"seconds", entry.seconds},
                      {"otherSeconds", profile.otherSeconds(entry)}});
  double total = profile.totalSeconds();
  for (const ProfileRow &row : profile.rows) {
    json::Object object{{"kind", "dispatch"},
                        {"name", valid(row.name)},
                        {"entry", valid(row.entry)},
                        {"fingerprint", row.fingerprint},
                        {"rootOp", row.rootOp},
                        {"shapes", row.shapes},
                        {"location", valid(row.location)},
                        {"calls", row.calls},
                        {"seconds", row.seconds},
                        {"share", total > 0 ? row.seconds / total : 0}};
    for (size_t c = 0; row.isCounted() && c < counterCount; ++c)
      object[counterNames[c]] = row.counters[c];
    if (!row.how.empty())
      object["how"] = valid(row.how);
    if (!row.sizes.empty())
      object["sizes"] = sizesToJSON(row.sizes);
    line(std::move(object));
  }
  for (const ProfileEvent &event : profile.events)
    line(json::Object{{"kind", "event"},
                      {"name", valid(event.name)},
                      {"thread", event.thread},
                      {"beginSeconds", event.beginSeconds},
                      {"endSeconds", event.endSeconds}});
  return text;
}

namespace {

/// IREE writes sums (`..._group`) or single events (`..._event`), of the host
/// or of the device. Both kinds of one run in one file count once: sums before
/// events, the device before the host.
enum class IreeKind { None, HostEvent, DeviceEvent, HostGroup, DeviceGroup };

IreeKind ireeKindOf(StringRef type) {
  return llvm::StringSwitch<IreeKind>(type)
      .Case("host_dispatch_event", IreeKind::HostEvent)
      .Case("dispatch_event", IreeKind::DeviceEvent)
      .Case("host_dispatch_group", IreeKind::HostGroup)
      .Case("dispatch_group", IreeKind::DeviceGroup)
      .Default(IreeKind::None);
}

class Reader {
public:
  llvm::Expected<Profile> read(StringRef text) {
    int64_t number = 0;
    for (StringRef line : llvm::split(text, '\n')) {
      ++number;
      if (line.trim().empty())
        continue;
      if (Error error = readLine(line))
        return makeError("line {0}: {1}", number,
                         llvm::toString(std::move(error)));
    }
    if (result.rows.empty() && result.entries.empty())
      return makeError("no dispatch is in this profile; with IREE, run with "
                       "--device_profiling_mode=host-execution and export "
                       "with iree-profile dispatch --format=jsonl");
    return std::move(result);
  }

private:
  Error readLine(StringRef line) {
    llvm::Expected<json::Value> value = parseJson(line);
    if (!value)
      return value.takeError();
    const json::Object *object = value->getAsObject();
    if (!object)
      return makeError("not an object");
    if (std::optional<StringRef> kind = object->getString("kind"))
      return readOurs(*kind, *object);
    return readIree(*object);
  }

  static double number(const json::Object &object, StringRef name) {
    double value = object.getNumber(name).value_or(0);
    return value >= 0 && std::isfinite(value) ? value : 0;
  }
  static std::string string(const json::Object &object, StringRef name) {
    return object.getString(name).value_or("").str();
  }

  Error readOurs(StringRef kind, const json::Object &object) {
    if (kind == "profile") {
      int64_t found = object.getInteger("version").value_or(0);
      if (found != version)
        return makeError("version {0} of a profile; this Attune reads {1}",
                         found, version);
      result.model = string(object, "model");
    } else if (kind == "entry") {
      result.entries.push_back({string(object, "name"), number(object, "runs"),
                                number(object, "seconds")});
    } else if (kind == "dispatch") {
      ProfileRow like;
      like.name = string(object, "name");
      like.entry = string(object, "entry");
      like.fingerprint = string(object, "fingerprint");
      like.rootOp = string(object, "rootOp");
      like.shapes = string(object, "shapes");
      like.location = string(object, "location");
      like.how = string(object, "how");
      if (like.name.empty())
        return makeError("a dispatch without a name");
      add(like, number(object, "calls"), number(object, "seconds"));
      ProfileRow &row = profile::rowOf(result, like);
      for (size_t c = 0; c < counterCount; ++c)
        row.counters[c] += number(object, counterNames[c]);
      if (const json::Object *sizes = object.getObject("sizes"))
        for (const auto &[key, calls] : *sizes)
          row.sizes[std::string(key.str())] += number(*sizes, key.str());
    } else if (kind == "event") {
      result.events.push_back(
          {string(object, "name"), object.getInteger("thread").value_or(0),
           number(object, "beginSeconds"), number(object, "endSeconds")});
    }
    return Error::success();
  }

  void add(const ProfileRow &like, double calls, double seconds) {
    ProfileRow &row = profile::rowOf(result, like);
    row.calls += calls;
    row.seconds += seconds;
  }

  Error readIree(const json::Object &object) {
    IreeKind kind = ireeKindOf(object.getString("type").value_or(""));
    if (kind == IreeKind::None || kind < best)
      return Error::success();
    if (kind > best)
      result.rows.clear();
    best = kind;
    ProfileRow like;
    like.name = string(object, "key");
    if (like.name.empty())
      return makeError("a row of dispatches without a key");
    if (kind >= IreeKind::HostGroup)
      add(like, number(object, "count"), 1e-9 * number(object, "total_ns"));
    else if (object.getBoolean("valid").value_or(true))
      add(like, 1, 1e-9 * number(object, "duration_ns"));
    return Error::success();
  }

  Profile result;
  IreeKind best = IreeKind::None;
};

} // namespace

llvm::Expected<Profile> profile::parseJsonLines(StringRef text) {
  return Reader().read(text);
}
