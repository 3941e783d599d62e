//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// NumPy's .npy (versions 1 to 3) and .npz. Files may come from strangers: every
// length is checked against what is there before it is used.

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "attune/Support/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <zlib.h>

using namespace attune;
using namespace llvm::support;
using llvm::Expected;
using llvm::StringRef;

namespace {
struct NpyHeader {
  ElementType type;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};
} // namespace

//===----------------------------------------------------------------------===//
// The header: a Python dictionary
//===----------------------------------------------------------------------===//

static std::optional<ElementType> elementTypeOfDescr(StringRef descr) {
  if (descr.starts_with("<") || descr.starts_with("|") ||
      descr.starts_with("="))
    descr = descr.drop_front();
  return llvm::StringSwitch<std::optional<ElementType>>(descr)
      .Case("f4", ElementType::F32)
      .Case("f8", ElementType::F64)
      .Case("f2", ElementType::F16)
      .Case("b1", ElementType::I1)
      .Cases({"i1", "u1", "V1"}, ElementType::I8)
      .Cases({"i2", "u2", "V2"}, ElementType::I16)
      .Cases({"i4", "u4"}, ElementType::I32)
      .Cases({"i8", "u8"}, ElementType::I64)
      .Default(std::nullopt);
}

static StringRef descrOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "<f4";
  case ElementType::F64:
    return "<f8";
  case ElementType::F16:
    return "<f2";
  case ElementType::BF16:
    return "<u2";
  case ElementType::I1:
    return "|b1";
  case ElementType::I4:
    return "|u1";
  case ElementType::I8:
    return "|i1";
  case ElementType::I16:
    return "<i2";
  case ElementType::I32:
    return "<i4";
  case ElementType::I64:
  case ElementType::Index:
    return "<i8";
  }
  llvm_unreachable("unknown element type");
}

/// The text after `'key':`, or nothing.
static std::optional<StringRef> valueOf(StringRef header, StringRef key) {
  for (const char *quote : {"'", "\""}) {
    std::string quoted = quote + key.str() + quote;
    size_t at = header.find(quoted);
    if (at == StringRef::npos)
      continue;
    StringRef rest = header.substr(at + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return std::nullopt;
}

static std::optional<std::vector<int64_t>> parseShape(StringRef text) {
  if (!text.consume_front("("))
    return std::nullopt;
  size_t close = text.find(')');
  if (close == StringRef::npos)
    return std::nullopt;
  std::vector<int64_t> shape;
  llvm::SmallVector<StringRef> parts;
  text.take_front(close).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    part = part.trim();
    part.consume_back("L"); // Python 2
    if (part.empty())
      continue;
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0)
      return std::nullopt;
    shape.push_back(size);
  }
  return shape;
}

static Expected<NpyHeader> parseHeader(StringRef text, StringRef name) {
  std::optional<StringRef> descr = valueOf(text, "descr");
  std::optional<StringRef> order = valueOf(text, "fortran_order");
  std::optional<StringRef> shapeText = valueOf(text, "shape");
  if (!descr || !order || !shapeText)
    return makeError("{0}: damaged .npy header", name);
  if (descr->empty() || (descr->front() != '\'' && descr->front() != '"'))
    return makeError("{0}: arrays of structures cannot be read", name);
  StringRef type = descr->drop_front();
  type = type.take_until([&](char c) { return c == descr->front(); });
  std::optional<ElementType> element = elementTypeOfDescr(type);
  if (!element)
    return makeError("{0}: arrays of type '{1}' cannot be read; save it as a "
                     "little-endian float, integer or boolean array",
                     name, type);
  std::optional<std::vector<int64_t>> shape = parseShape(*shapeText);
  if (!shape)
    return makeError("{0}: damaged shape in the .npy header", name);
  return NpyHeader{*element, order->starts_with("True"), std::move(*shape)};
}

//===----------------------------------------------------------------------===//
// .npy
//===----------------------------------------------------------------------===//

/// Fortran order is the row-major order of the reversed shape: walk the result
/// and pick.
static std::vector<char>
fromFortranOrder(StringRef data, llvm::ArrayRef<int64_t> shape, int64_t width) {
  std::vector<char> bytes(data.size());
  std::vector<int64_t> index(shape.size(), 0), strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * shape[d - 1];
  int64_t offset = 0;
  for (size_t at = 0; at < bytes.size(); at += width) {
    std::memcpy(bytes.data() + at, data.data() + offset * width, width);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d])
        break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
  return bytes;
}

Expected<Tensor> attune::parseNpy(StringRef bytes, StringRef name) {
  StringRef rest = bytes;
  if (!rest.consume_front("\x93NUMPY") || rest.size() < 4)
    return makeError("{0}: not a .npy file", name);
  int major = static_cast<unsigned char>(rest[0]);
  if (major < 1 || major > 3)
    return makeError("{0}: .npy version {1} is not known (1 to 3 are)", name,
                     major);
  rest = rest.drop_front(2);
  size_t lengthBytes = major == 1 ? 2 : 4;
  if (rest.size() < lengthBytes)
    return makeError("{0}: the file is cut off", name);
  size_t length = major == 1 ? endian::read16le(rest.data())
                             : endian::read32le(rest.data());
  rest = rest.drop_front(lengthBytes);
  if (rest.size() < length)
    return makeError("{0}: the file is cut off", name);
  Expected<NpyHeader> header = parseHeader(rest.take_front(length), name);
  if (!header)
    return header.takeError();
  StringRef data = rest.drop_front(length);

  int64_t width = byteWidth(header->type);
  std::optional<int64_t> count = checkedElementCount(header->shape, width);
  if (!count || static_cast<uint64_t>(*count * width) > data.size())
    return makeError("{0}: the file is cut off: its shape needs more than the "
                     "{1} bytes of data it has",
                     name, data.size());
  data = data.take_front(*count * width);
  Tensor tensor{header->type, std::move(header->shape), {}};
  if (header->fortranOrder && tensor.shape.size() > 1)
    tensor.bytes = fromFortranOrder(data, tensor.shape, width);
  else
    tensor.bytes.assign(data.begin(), data.end());
  return tensor;
}

Expected<Tensor> attune::readNpy(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  return parseNpy((*buffer)->getBuffer(), path);
}

std::string attune::formatNpy(const Tensor &tensor) {
  std::string shape;
  for (int64_t size : tensor.shape)
    shape += llvm::itostr(size) + (tensor.shape.size() == 1 ? "," : ", ");
  if (tensor.shape.size() > 1)
    shape.resize(shape.size() - 2);
  std::string header = "{'descr': '" + descrOf(tensor.type).str() +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  // Magic, version and length are ten bytes; data starts at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(tensor.bytes.data(), tensor.bytes.size());
  return file;
}

llvm::Error attune::writeNpy(StringRef path, const Tensor &tensor) {
  return writeFile(path, formatNpy(tensor));
}

//===----------------------------------------------------------------------===//
// .npz: a zip archive of .npy members
//===----------------------------------------------------------------------===//

namespace {
struct ZipMember {
  std::string name;
  uint16_t method = 0;
  uint64_t packedBytes = 0, bytes = 0, headerOffset = 0;
};
} // namespace

/// Sizes of 2^32-1 stand in the zip64 extra field, in this order, only those
/// that do not fit.
static void readZip64(StringRef extra, ZipMember &member) {
  while (extra.size() >= 4) {
    uint16_t tag = endian::read16le(extra.data());
    uint16_t length = endian::read16le(extra.data() + 2);
    StringRef field = extra.substr(4, length);
    extra = extra.drop_front(std::min<size_t>(extra.size(), 4 + length));
    if (tag != 1)
      continue;
    for (uint64_t *value :
         {&member.bytes, &member.packedBytes, &member.headerOffset})
      if (*value == 0xffffffff && field.size() >= 8) {
        *value = endian::read64le(field.data());
        field = field.drop_front(8);
      }
  }
}

static Expected<std::vector<ZipMember>> readZipDirectory(StringRef file,
                                                         StringRef path) {
  auto damaged = [&] {
    return makeError("{0}: not a .npz file, or damaged", path);
  };
  size_t end = file.rfind(StringRef("PK\x05\x06", 4));
  if (end == StringRef::npos || file.size() - end < 22)
    return damaged();
  uint64_t count = endian::read16le(file.data() + end + 10);
  uint64_t offset = endian::read32le(file.data() + end + 16);
  if (offset > file.size())
    return makeError("{0}: .npz files of 4 GiB and more cannot be read", path);

  std::vector<ZipMember> members;
  StringRef rest = file.drop_front(offset);
  for (uint64_t i = 0; i < count; ++i) {
    if (rest.size() < 46 || !rest.starts_with(StringRef("PK\x01\x02", 4)))
      return damaged();
    const char *at = rest.data();
    size_t nameLength = endian::read16le(at + 28);
    size_t extraLength = endian::read16le(at + 30);
    size_t commentLength = endian::read16le(at + 32);
    if (rest.size() < 46 + nameLength + extraLength + commentLength)
      return damaged();
    ZipMember member{rest.substr(46, nameLength).str(),
                     endian::read16le(at + 10), endian::read32le(at + 20),
                     endian::read32le(at + 24), endian::read32le(at + 42)};
    readZip64(rest.substr(46 + nameLength, extraLength), member);
    members.push_back(std::move(member));
    rest = rest.drop_front(46 + nameLength + extraLength + commentLength);
  }
  return members;
}

/// Raw deflate, into exactly `bytes` bytes.
static bool inflateInto(StringRef packed, std::string &out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  // zlib counts in 32 bits: feed and drain in pieces.
  constexpr size_t piece = 1u << 30;
  int status = Z_OK;
  size_t in = 0, made = 0;
  while (status == Z_OK) {
    size_t feed = std::min(piece, packed.size() - in);
    size_t room = std::min(piece, out.size() - made);
    stream.next_in =
        reinterpret_cast<Bytef *>(const_cast<char *>(packed.data() + in));
    stream.avail_in = static_cast<uInt>(feed);
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    if (feed == stream.avail_in && room == stream.avail_out &&
        status != Z_STREAM_END)
      break;
    in += feed - stream.avail_in;
    made += room - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END && made == out.size();
}

static Expected<std::string>
readZipMember(StringRef file, const ZipMember &member, StringRef path) {
  auto damaged = [&] {
    return makeError("{0}: member '{1}' is damaged", path, member.name);
  };
  if (member.headerOffset > file.size() ||
      file.size() - member.headerOffset < 30)
    return damaged();
  const char *at = file.data() + member.headerOffset;
  uint64_t start = member.headerOffset + 30 + endian::read16le(at + 26) +
                   endian::read16le(at + 28);
  if (start > file.size() || file.size() - start < member.packedBytes)
    return damaged();
  StringRef packed = file.substr(start, member.packedBytes);
  if (member.method == 0)
    return packed.str();
  if (member.method != 8)
    return makeError("{0}: member '{1}' is packed in a way (zip method {2}) "
                     "that cannot be read; save it with numpy.savez",
                     path, member.name, member.method);
  // Deflate packs at most 1032 to 1: more is a lie, and would take the memory.
  if (member.bytes / 1032 > packed.size() + 1)
    return damaged();
  std::string bytes(member.bytes, '\0');
  if (!inflateInto(packed, bytes))
    return damaged();
  return bytes;
}

Expected<std::vector<std::pair<std::string, Tensor>>>
attune::readNpz(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return makeError("{0}: {1}", path, buffer.getError().message());
  StringRef file = (*buffer)->getBuffer();
  Expected<std::vector<ZipMember>> members = readZipDirectory(file, path);
  if (!members)
    return members.takeError();
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const ZipMember &member : *members) {
    Expected<std::string> bytes = readZipMember(file, member, path);
    if (!bytes)
      return bytes.takeError();
    StringRef name = member.name;
    Expected<Tensor> tensor = parseNpy(*bytes, path.str() + ":" + member.name);
    if (!tensor)
      return tensor.takeError();
    name.consume_back(".npy");
    arrays.emplace_back(name.str(), std::move(*tensor));
  }
  return arrays;
}
