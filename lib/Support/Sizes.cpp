//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "attune/Support/Sizes.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <tuple>

using namespace llvm;

namespace attune {

std::string toString(SizeRange range) {
  std::string text = std::to_string(range.lower);
  return range.isOne() ? text : text + ".." + std::to_string(range.upper);
}

Expected<SizeRange> parseSizeRange(StringRef text) {
  auto [first, last] = text.split("..");
  SizeRange range;
  bool isRange = text.contains("..");
  if (first.getAsInteger(10, range.lower) || range.lower < 0 ||
      (isRange && last.getAsInteger(10, range.upper)))
    return makeError("'{0}' is not a size (8) or a range of sizes (2..8)",
                     text);
  if (!isRange)
    range.upper = range.lower;
  if (range.upper < range.lower)
    return makeError("'{0}' is an empty range of sizes", text);
  return range;
}

std::string toString(ArrayRef<SizeRange> sizes) {
  return join(map_range(sizes, [](SizeRange range) { return toString(range); }),
              ",");
}

Expected<std::vector<SizeRange>> parseSizeRanges(StringRef text) {
  std::vector<SizeRange> sizes;
  for (StringRef part : split(text, ',')) {
    auto range = parseSizeRange(part);
    if (!range)
      return range.takeError();
    sizes.push_back(*range);
  }
  return sizes;
}

/// How many sizes there are; enough to order by.
static double extent(const EntrySizes &sizes) {
  double count = 1;
  for (SizeRange range : sizes.sizes)
    count *= double(range.upper - range.lower) + 1;
  return count;
}

void sortSizes(std::vector<EntrySizes> &sizes) {
  auto key = [](const EntrySizes &sizes) {
    std::vector<std::pair<int64_t, int64_t>> bounds;
    for (SizeRange range : sizes.sizes)
      bounds.emplace_back(range.lower, range.upper);
    return std::tuple(sizes.entry, extent(sizes), bounds);
  };
  llvm::sort(sizes, [&](const EntrySizes &a, const EntrySizes &b) {
    return key(a) < key(b);
  });
  sizes.erase(llvm::unique(sizes), sizes.end());
}

json::Array toJSON(ArrayRef<EntrySizes> sizes) {
  json::Array array;
  for (const EntrySizes &one : sizes)
    array.push_back(
        json::Object{{"entry", one.entry}, {"sizes", toString(one.sizes)}});
  return array;
}

Expected<std::vector<EntrySizes>> sizesFromJSON(const json::Array &array) {
  std::vector<EntrySizes> sizes;
  for (const json::Value &value : array) {
    const json::Object *object = value.getAsObject();
    auto entry = object ? object->getString("entry") : std::nullopt;
    auto text = object ? object->getString("sizes") : std::nullopt;
    if (!entry || !text)
      return makeError("sizes of an entry need 'entry' and 'sizes'");
    auto parsed = parseSizeRanges(*text);
    if (!parsed)
      return parsed.takeError();
    sizes.push_back({entry->str(), std::move(*parsed)});
  }
  return sizes;
}

} // namespace attune
