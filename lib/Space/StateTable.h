//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// A hash table from states (short lists of numbers) to nodes.

#ifndef ATTUNE_LIB_SPACE_STATETABLE_H
#define ATTUNE_LIB_SPACE_STATETABLE_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

namespace attune {

class StateTable {
public:
  /// The node of `key`, or nothing; then `key` is remembered, and `set` with
  /// the second of the pair gives it a node, before or after other keys come
  /// in.
  std::pair<std::optional<uint32_t>, uint32_t>
  find(llvm::ArrayRef<int64_t> key) {
    if ((entries.size() + 1) * 2 > slots.size())
      grow();
    uint64_t hash = hashOf(key);
    size_t mask = slots.size() - 1;
    size_t place = hash & mask;
    for (; slots[place] != empty; place = (place + 1) & mask) {
      const Entry &entry = entries[slots[place]];
      if (entry.hash == hash && entry.length == key.size() &&
          !std::memcmp(&keys[entry.offset], key.data(), key.size() * 8))
        return {entry.node, slots[place]};
    }
    slots[place] = entries.size();
    entries.push_back({hash, uint32_t(keys.size()), uint32_t(key.size()), 0});
    keys.insert(keys.end(), key.begin(), key.end());
    return {std::nullopt, slots[place]};
  }

  void set(uint32_t entry, uint32_t node) { entries[entry].node = node; }

private:
  struct Entry {
    uint64_t hash;
    uint32_t offset, length, node;
  };
  static constexpr uint32_t empty = UINT32_MAX;

  static uint64_t hashOf(llvm::ArrayRef<int64_t> key) {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (int64_t value : key) {
      hash = (hash ^ uint64_t(value)) * 0xD6E8FEB86659FD93u;
      hash ^= hash >> 32;
    }
    return hash;
  }

  void grow() {
    slots.assign(std::max<size_t>(16, slots.size() * 2), empty);
    size_t mask = slots.size() - 1;
    for (uint32_t i = 0; i < entries.size(); ++i) {
      size_t place = entries[i].hash & mask;
      while (slots[place] != empty)
        place = (place + 1) & mask;
      slots[place] = i;
    }
  }

  std::vector<uint32_t> slots;
  std::vector<Entry> entries;
  std::vector<int64_t> keys;
};

} // namespace attune

#endif // ATTUNE_LIB_SPACE_STATETABLE_H
