//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "HotLoop.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cstdint>
#include <optional>
#include <vector>

using namespace llvm;

namespace attune {

namespace {

struct Instruction {
  uint64_t address = 0;
  std::string text;
  std::optional<uint64_t> target; ///< Of a jump, back or forth.
};

} // namespace

/// `    1a0:  vaddps %ymm0, %ymm1, %ymm1   # comment`
static std::optional<Instruction> parseLine(StringRef line) {
  auto [place, rest] = line.split(':');
  Instruction instruction;
  if (place.trim().empty() ||
      place.trim().getAsInteger(16, instruction.address))
    return std::nullopt;
  StringRef text = rest.split('#').first.trim();
  if (text.empty())
    return std::nullopt;
  auto [name, operands] = text.split(text.contains('\t') ? '\t' : ' ');
  if (name.starts_with("j") || name == "b" || name.starts_with("b.") ||
      name.starts_with("cb") || name.starts_with("tb")) {
    // The target comes last: `x8, 0x40 <f+0x40>`.
    StringRef last = operands.split('<').first.trim();
    if (size_t comma = last.rfind(','); comma != StringRef::npos)
      last = last.substr(comma + 1).trim();
    uint64_t target;
    last.consume_front("0x");
    if (!last.getAsInteger(16, target))
      instruction.target = target;
  }
  instruction.text = text.split('<').first.trim().str();
  return instruction;
}

static bool isMultiplyAdd(StringRef text) {
  return text.starts_with("vfmadd") || text.starts_with("vfnmadd") ||
         text.starts_with("vdpb") || text.starts_with("fmla") ||
         text.starts_with("vpdp");
}

static bool isVector(StringRef text) {
  return text.contains("ymm") || text.contains("zmm") || text.contains("xmm") ||
         text.contains("v0.") || text.contains("v1.");
}

/// More is hotter.
static std::pair<int, int> score(ArrayRef<Instruction> body) {
  std::pair<int, int> result;
  for (const Instruction &instruction : body) {
    result.first += isMultiplyAdd(instruction.text);
    result.second += isVector(instruction.text);
  }
  return result;
}

std::string findHotLoop(StringRef disassembly) {
  std::vector<Instruction> all;
  SmallVector<StringRef> lines;
  disassembly.split(lines, '\n');
  for (StringRef line : lines)
    if (auto instruction = parseLine(line))
      all.push_back(std::move(*instruction));
  ArrayRef<Instruction> best;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::optional<uint64_t> &target = all[i].target;
    if (!target || *target > all[i].address)
      continue;
    // The first jump back to or into a range is its innermost loop's.
    size_t begin = i;
    while (begin > 0 && all[begin].address > *target &&
           all[begin - 1].address < all[begin].address)
      --begin;
    bool holdsAnother = false;
    for (size_t j = begin; j < i; ++j)
      holdsAnother |= all[j].target && *all[j].target <= all[j].address &&
                      *all[j].target >= *target;
    ArrayRef<Instruction> body = ArrayRef(all).slice(begin, i - begin + 1);
    if (all[begin].address != *target || holdsAnother)
      continue;
    if (best.empty() || score(body) > score(best))
      best = body;
  }
  if (best.empty())
    return "";
  std::string text = ".Lhot:\n";
  for (const Instruction &instruction : best) {
    StringRef line = instruction.text;
    if (!instruction.target) {
      text += "  " + line.str() + "\n";
      continue;
    }
    // Jumps within and out of it: the addresses mean nothing elsewhere.
    StringRef name = line.take_until([](char c) { return isSpace(c); });
    text += "  " + name.str() + " .Lhot\n";
  }
  return text;
}

} // namespace attune
