//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// pprof's profile.proto: a stack a dispatch, of two functions (the dispatch and
// the entry that calls it), and one an entry for what is outside of dispatches.

#include "Formats.h"
#include "attune/Support/Error.h"
#include "attune/Support/Gzip.h"
#include "pprof.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <unordered_map>

using namespace attune;
using llvm::StringRef;

namespace {

/// Labels of samples.
constexpr llvm::StringLiteral rootOpKey = "root_op", shapesKey = "shapes",
                              fingerprintKey = "fingerprint",
                              locationKey = "location", sizesKey = "sizes",
                              howKey = "compiled_with";

/// Sample types, in the order of `counterNames`.
constexpr llvm::StringLiteral counterTypes[counterCount] = {
    "cycles", "instructions", "cache_misses", "branch_misses"};

class Writer {
public:
  explicit Writer(const Profile &from) : from(from) { text(""); }

  std::string write() {
    addSampleType("calls", "count");
    addSampleType("time", "nanoseconds");
    isCounted = llvm::any_of(
        from.rows, [](const ProfileRow &row) { return row.isCounted(); });
    for (size_t c = 0; isCounted && c < counterCount; ++c)
      addSampleType(counterTypes[c], "count");
    out.set_default_sample_type(text("time"));
    addMapping();
    for (const ProfileRow &row : from.rows)
      addRow(row);
    for (const ProfileEntry &entry : from.entries)
      addEntry(entry);
    out.set_duration_nanos(nanoseconds(from.totalSeconds()));
    out.add_comment(text("written by Attune; calls and time of dispatches"));
    return out.SerializeAsString();
  }

private:
  static int64_t nanoseconds(double seconds) {
    return std::llround(1e9 * seconds);
  }

  int64_t text(StringRef value) {
    auto [found, isNew] = texts.try_emplace(value, out.string_table_size());
    if (isNew) // protobuf neither writes nor reads other texts
      out.add_string_table(llvm::json::fixUTF8(value));
    return found->second;
  }

  void addSampleType(StringRef type, StringRef unit) {
    pprof::ValueType *added = out.add_sample_type();
    added->set_type(text(type));
    added->set_unit(text(unit));
  }

  /// Says that functions and lines are there: nothing to be looked up.
  void addMapping() {
    pprof::Mapping *mapping = out.add_mapping();
    mapping->set_id(1);
    mapping->set_filename(text(from.model));
    mapping->set_has_functions(true);
    mapping->set_has_filenames(true);
    mapping->set_has_line_numbers(true);
  }

  /// The id of a location inside a function of that name.
  uint64_t locate(StringRef name, StringRef place) {
    auto [known, isNew] = locations.try_emplace((name + "\n" + place).str(),
                                                out.location_size() + 1);
    if (!isNew)
      return known->second;
    auto [file, lineText] = place.rsplit(':');
    int64_t line = 0;
    if (lineText.getAsInteger(10, line))
      file = place;
    pprof::Function *function = out.add_function();
    function->set_id(known->second);
    function->set_name(text(name));
    function->set_system_name(text(name));
    function->set_filename(text(file.empty() ? from.model : file));
    function->set_start_line(line);
    pprof::Location *location = out.add_location();
    location->set_id(known->second);
    location->set_mapping_id(1);
    location->set_address(known->second);
    pprof::Line *added = location->add_line();
    added->set_function_id(known->second);
    added->set_line(line);
    return known->second;
  }

  void addLabel(pprof::Sample &sample, StringRef key, StringRef value) {
    if (value.empty())
      return;
    pprof::Label *label = sample.add_label();
    label->set_key(text(key));
    label->set_str(text(value));
  }

  void addRow(const ProfileRow &row) {
    pprof::Sample &sample = *out.add_sample();
    sample.add_location_id(locate(row.name, row.location));
    if (!row.entry.empty())
      sample.add_location_id(locate(row.entry, ""));
    sample.add_value(std::llround(row.calls));
    sample.add_value(nanoseconds(row.seconds));
    addCounters(sample, row.counters);
    addLabel(sample, rootOpKey, row.rootOp);
    addLabel(sample, shapesKey, row.shapes);
    addLabel(sample, fingerprintKey, row.fingerprint);
    addLabel(sample, locationKey, row.location);
    addLabel(sample, howKey, row.how);
    for (const auto &[sizes, calls] : row.sizes)
      addLabel(sample, sizesKey,
               llvm::formatv("{0} ({1})", sizes,
                             llvm::formatv("{0:f0}", calls).str())
                   .str());
  }

  void addCounters(pprof::Sample &sample,
                   const std::array<double, counterCount> &counters) {
    for (size_t c = 0; isCounted && c < counterCount; ++c)
      sample.add_value(std::llround(counters[c]));
  }

  void addEntry(const ProfileEntry &entry) {
    pprof::Sample &sample = *out.add_sample();
    sample.add_location_id(locate(entry.name, ""));
    sample.add_value(std::llround(entry.runs));
    sample.add_value(nanoseconds(from.otherSeconds(entry)));
    addCounters(sample, {}); // Of the dispatches only.
  }

  const Profile &from;
  bool isCounted = false;
  pprof::Profile out;
  llvm::StringMap<int64_t> texts;
  llvm::StringMap<uint64_t> locations;
};

/// Of any tool: the value that is a time, the one that is a count, and the
/// innermost function of each stack.
class Reader {
public:
  explicit Reader(const pprof::Profile &in) : in(in) {}

  llvm::Expected<Profile> read() {
    if (!chooseValues())
      return makeError("no sample type of this profile is a time");
    for (const pprof::Function &function : in.function())
      functions[function.id()] = &function;
    for (const pprof::Location &location : in.location())
      locations[location.id()] = &location;
    if (in.mapping_size())
      result.model = text(in.mapping(0).filename()).str();
    for (const pprof::Sample &sample : in.sample())
      addSample(sample);
    // What lies outside of the dispatches came as samples of their own.
    for (ProfileEntry &entry : result.entries)
      for (const ProfileRow &row : result.rows)
        if (row.entry == entry.name)
          entry.seconds += row.seconds;
    return std::move(result);
  }

private:
  StringRef text(int64_t index) const {
    return index >= 0 && index < in.string_table_size()
               ? StringRef(in.string_table(index))
               : StringRef();
  }

  static double secondsIn(StringRef unit) {
    return llvm::StringSwitch<double>(unit)
        .Case("nanoseconds", 1e-9)
        .Case("microseconds", 1e-6)
        .Case("milliseconds", 1e-3)
        .Case("seconds", 1)
        .Default(0);
  }

  bool chooseValues() {
    for (int i = 0; i < in.sample_type_size(); ++i) {
      StringRef unit = text(in.sample_type(i).unit());
      double factor = secondsIn(unit);
      bool preferred = in.sample_type(i).type() == in.default_sample_type();
      if (factor > 0 && (timeAt < 0 || preferred)) {
        timeAt = i;
        toSeconds = factor;
      }
      if (unit == "count" && countAt < 0)
        countAt = i;
      for (size_t c = 0; c < counterCount; ++c)
        if (text(in.sample_type(i).type()) == counterTypes[c])
          counterAt[c] = i;
    }
    return timeAt >= 0;
  }

  /// The function of a location that is innermost, or outermost.
  const pprof::Function *functionAt(uint64_t id, bool innermost,
                                    int64_t &line) const {
    auto location = locations.find(id);
    if (location == locations.end() || !location->second->line_size())
      return nullptr;
    const pprof::Line &at = location->second->line(
        innermost ? 0 : location->second->line_size() - 1);
    line = at.line();
    auto function = functions.find(at.function_id());
    return function == functions.end() ? nullptr : function->second;
  }

  void addSample(const pprof::Sample &sample) {
    int64_t line = 0, unused = 0;
    if (sample.location_id_size() == 0 || sample.value_size() <= timeAt)
      return;
    const pprof::Function *leaf =
        functionAt(sample.location_id(0), /*innermost=*/true, line);
    if (!leaf)
      return;
    double seconds = toSeconds * sample.value(timeAt);
    double count = countAt >= 0 && countAt < sample.value_size()
                       ? sample.value(countAt)
                       : 0;
    ProfileRow like;
    like.name = text(leaf->name()).str();
    readLabels(sample, like);
    if (like.fingerprint.empty() && sample.location_id_size() == 1 &&
        isOurs()) {
      result.entries.push_back({like.name, count, seconds});
      return;
    }
    if (like.location.empty() && leaf->filename() && line > 0)
      like.location = (text(leaf->filename()) + ":" + llvm::Twine(line)).str();
    if (sample.location_id_size() > 1 && isOurs())
      if (const pprof::Function *caller =
              functionAt(sample.location_id(1), /*innermost=*/false, unused))
        like.entry = text(caller->name()).str();
    ProfileRow &row = profile::rowOf(result, like);
    row.calls += count;
    row.seconds += seconds;
    for (size_t c = 0; c < counterCount; ++c)
      if (counterAt[c] >= 0 && counterAt[c] < sample.value_size())
        row.counters[c] += sample.value(counterAt[c]);
    readSizes(sample, row);
  }

  /// `8x784 (3)`: three calls with these.
  void readSizes(const pprof::Sample &sample, ProfileRow &row) const {
    for (const pprof::Label &label : sample.label()) {
      if (text(label.key()) != sizesKey)
        continue;
      auto [sizes, calls] = text(label.str()).rsplit(" (");
      double count = 0;
      if (calls.consume_back(")") && !calls.getAsDouble(count))
        row.sizes[sizes.str()] += count;
    }
  }

  void readLabels(const pprof::Sample &sample, ProfileRow &row) const {
    for (const pprof::Label &label : sample.label()) {
      std::string value = text(label.str()).str();
      StringRef key = text(label.key());
      if (key == rootOpKey)
        row.rootOp = value;
      else if (key == shapesKey)
        row.shapes = value;
      else if (key == fingerprintKey)
        row.fingerprint = value;
      else if (key == locationKey)
        row.location = value;
      else if (key == howKey)
        row.how = value;
    }
  }

  /// Elsewhere a stack of one function is no entry of a program.
  bool isOurs() const {
    return in.comment_size() && text(in.comment(0)).contains("Attune");
  }

  const pprof::Profile &in;
  Profile result;
  int timeAt = -1, countAt = -1;
  std::array<int, counterCount> counterAt = {-1, -1, -1, -1};
  double toSeconds = 0;
  // Any number may be an id, also those that a DenseMap keeps for itself.
  std::unordered_map<uint64_t, const pprof::Function *> functions;
  std::unordered_map<uint64_t, const pprof::Location *> locations;
};

} // namespace

std::string profile::printPprof(const Profile &profile) {
  return compressGzip(Writer(profile).write());
}

llvm::Expected<Profile> profile::parsePprof(StringRef bytes) {
  std::string plain;
  if (bytes.starts_with("\x1f\x8b")) {
    llvm::Expected<std::string> unpacked = decompressGzip(bytes);
    if (!unpacked)
      return unpacked.takeError();
    plain = std::move(*unpacked);
    bytes = plain;
  }
  pprof::Profile message;
  if (bytes.size() > (1u << 30) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.string_table_size() == 0)
    return makeError("not a profile that Attune reads: pprof, JSON lines, "
                     "tracy-csvexport, or iree-profile --format=jsonl");
  return Reader(message).read();
}
