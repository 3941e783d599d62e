//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Gzip.h"

#include "attune/Support/Error.h"

#include <zlib.h>

using namespace attune;
using llvm::StringRef;

/// zlib's way to say gzip.
static constexpr int gzipWindow = 15 + 16;

static z_stream streamOver(StringRef bytes) {
  z_stream stream = {};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  return stream;
}

std::string attune::compressGzip(StringRef bytes) {
  z_stream stream = streamOver(bytes);
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzipWindow, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    llvm::report_fatal_error("zlib: out of memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH); // the bound makes one step enough
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

llvm::Expected<std::string> attune::decompressGzip(StringRef bytes) {
  constexpr size_t limit = size_t(1) << 30;
  z_stream stream = streamOver(bytes);
  if (inflateInit2(&stream, gzipWindow) != Z_OK)
    return makeError("zlib: out of memory");
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() < limit) {
    size_t old = out.size();
    out.resize(std::min(limit, std::max<size_t>(1 << 16, 2 * old)));
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + old);
    stream.avail_out = static_cast<uInt>(out.size() - old);
    status = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() >= limit)
    return makeError("more than 1 GiB unpacked");
  if (status != Z_STREAM_END)
    return makeError("the gzip file is damaged or cut off");
  return out;
}
