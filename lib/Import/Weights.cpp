//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Import/Weights.h"

#include "attune/Support/Error.h"
#include "attune/Support/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace attune;
using llvm::ArrayRef;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

static constexpr uint64_t alignment = 64;
static constexpr StringRef magic = "ATTUNEW1";

/// Over the type too: equal bytes of another shape are another weight, because
/// `attune.weight` takes its type from the store.
static std::string hashOf(const TensorType &type, ArrayRef<char> bytes) {
  auto raw = ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()),
                               bytes.size());
  llvm::XXH128_hash_t content = llvm::xxh3_128bits(raw);
  uint64_t typeHash = llvm::xxh3_64bits(toString(type));
  return llvm::utohexstr(content.high64 ^ typeHash, true, 16) +
         llvm::utohexstr(content.low64, true, 16);
}

int64_t WeightStore::add(TensorType type, std::vector<char> bytes,
                         bool generated) {
  auto owner = std::make_shared<const std::vector<char>>(std::move(bytes));
  ArrayRef<char> view(*owner);
  return add(std::move(type), view, owner, generated);
}

int64_t WeightStore::add(TensorType type, ArrayRef<char> bytes,
                         std::shared_ptr<const void> owner, bool generated) {
  Entry entry;
  entry.weight.hash = hashOf(type, bytes);
  for (auto [index, other] : llvm::enumerate(entries))
    if (other.weight.hash == entry.weight.hash && other.bytes == bytes)
      return index;
  entry.weight.type = std::move(type);
  entry.weight.offset = llvm::alignTo(end, alignment);
  entry.weight.generated = generated;
  end = entry.weight.offset + bytes.size();
  entry.bytes = bytes;
  entry.owner = std::move(owner);
  entries.push_back(std::move(entry));
  return entries.size() - 1;
}

int64_t WeightStore::addFrom(const WeightStore &other, int64_t index) {
  const Entry &entry = other.entries[index];
  return add(entry.weight.type, entry.bytes, entry.owner,
             entry.weight.generated);
}

Tensor WeightStore::tensor(int64_t index) const {
  const Entry &entry = entries[index];
  Tensor result;
  result.type = entry.weight.type.type;
  result.shape = entry.weight.type.shape;
  result.bytes.assign(entry.bytes.begin(), entry.bytes.end());
  return result;
}

//===----------------------------------------------------------------------===//
// The file: blob, table (JSON), length of the table, magic
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const Weight &weight, uint64_t bytes) {
  return llvm::json::Object{{"type", toString(weight.type)},
                            {"hash", weight.hash},
                            {"offset", int64_t(weight.offset)},
                            {"bytes", int64_t(bytes)},
                            {"generated", weight.generated}};
}

Error WeightStore::write(StringRef path) const {
  llvm::json::Array table;
  for (const Entry &entry : entries)
    table.push_back(toJson(entry.weight, entry.bytes.size()));
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(
      llvm::json::Object{{"version", 1}, {"weights", std::move(table)}});

  auto failed = [&](std::error_code code) {
    return makeError("{0}: cannot write the weights: {1}", path,
                     code.message());
  };
  // A device or pipe is written as it is; a file appears when it is complete.
  bool direct =
      llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path);
  std::string temporary =
      direct ? path.str()
             : llvm::formatv("{0}.{1}.tmp", path,
                             llvm::sys::Process::getProcessId())
                   .str();
  std::error_code code;
  llvm::raw_fd_ostream out(temporary, code);
  if (code)
    return failed(code);
  uint64_t at = 0;
  for (const Entry &entry : entries) {
    out.write_zeros(entry.weight.offset - at);
    out.write(entry.bytes.data(), entry.bytes.size());
    at = entry.weight.offset + entry.bytes.size();
  }
  char length[8];
  llvm::support::endian::write64le(length, text.size());
  out << text << StringRef(length, sizeof(length)) << magic;
  // A full disk shows only when the bytes are really written.
  out.close();
  code = out.error();
  out.clear_error();
  if (!code && !direct)
    code = llvm::sys::fs::rename(temporary, path);
  if (!code)
    return Error::success();
  if (!direct)
    llvm::sys::fs::remove(temporary);
  return failed(code);
}

static Expected<llvm::json::Array> readTable(StringRef file, StringRef path) {
  constexpr size_t trailer = 16;
  auto damaged = [&](StringRef why) {
    return makeError("{0}: not a weights file of Attune ({1}); import the "
                     "program again to write a new one",
                     path, why);
  };
  if (file.size() < trailer || !file.ends_with(magic))
    return damaged("no mark at its end; it may be cut off");
  uint64_t length = llvm::support::endian::read64le(file.end() - trailer);
  if (length > file.size() - trailer)
    return damaged("its table is longer than the file");
  auto json = parseJson(file.drop_back(trailer).take_back(length));
  if (!json)
    return damaged(llvm::toString(json.takeError()));
  llvm::json::Object *object = json->getAsObject();
  if (!object || object->getInteger("version") != 1)
    return damaged("another version; this Attune reads version 1");
  llvm::json::Array *weights = object->getArray("weights");
  if (!weights)
    return damaged("no weights in its table");
  return std::move(*weights);
}

Expected<WeightStore> WeightStore::map(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: cannot read the weights: {1}", path,
                     buffer.getError().message());
  std::shared_ptr<const llvm::MemoryBuffer> file = std::move(*buffer);
  auto table = readTable(file->getBuffer(), path);
  if (!table)
    return table.takeError();

  WeightStore store;
  for (const llvm::json::Value &value : *table) {
    const llvm::json::Object *object = value.getAsObject();
    auto type = object ? object->getString("type") : std::nullopt;
    auto hash = object ? object->getString("hash") : std::nullopt;
    auto offset = object ? object->getInteger("offset") : std::nullopt;
    auto bytes = object ? object->getInteger("bytes") : std::nullopt;
    if (!type || !hash || !offset || !bytes || *offset < 0 || *bytes < 0 ||
        uint64_t(*offset) + uint64_t(*bytes) > file->getBufferSize())
      return makeError("{0}: weight {1} of its table is damaged; import the "
                       "program again",
                       path, store.size());
    auto parsed = tensorTypeFromString(*type);
    if (!parsed)
      return parsed.takeError();
    // Compiled code reads as many bytes as the type has.
    auto count = checkedElementCount(parsed->shape, byteWidth(parsed->type));
    if (!count || *count * byteWidth(parsed->type) != *bytes)
      return makeError("{0}: weight {1} of its table has {2} bytes and is a "
                       "{3}; import the program again",
                       path, store.size(), *bytes, *type);
    Entry entry;
    entry.weight = {std::move(*parsed), hash->str(), uint64_t(*offset),
                    object->getBoolean("generated").value_or(false)};
    entry.bytes = ArrayRef<char>(file->getBufferStart() + *offset, *bytes);
    entry.owner = file;
    store.end = std::max(store.end, entry.weight.offset + uint64_t(*bytes));
    store.entries.push_back(std::move(entry));
  }
  return store;
}
