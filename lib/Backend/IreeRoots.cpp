//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IreeRoots.h"

#include "IreeText.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attune::iree {

/// The loops that a map's results are, `affine_map<(d0, d1) -> (d1)>`; nothing
/// for one that is more than a loop.
static std::vector<std::optional<unsigned>> mapLoops(StringRef map) {
  StringRef results = map.split("->").second.trim();
  results.consume_front("(");
  results.consume_back(")>");
  std::vector<std::optional<unsigned>> loops;
  for (StringRef result : splitList(results)) {
    unsigned loop = 0;
    bool isLoop = result.consume_front("d") && !result.getAsInteger(10, loop);
    loops.push_back(isLoop ? std::optional(loop) : std::nullopt);
  }
  return loops;
}

/// `(d0, d1, d2)` is three.
static size_t loopCount(StringRef map) {
  StringRef dims = map.split('(').second.split(')').first;
  return dims.empty() ? 0 : dims.count(',') + 1;
}

/// Types of `ins(%a, %b : t, u)`.
static std::vector<std::string> operandTypes(StringRef line, StringRef open) {
  std::vector<std::string> types;
  if (auto list = inside(line, open))
    for (StringRef type : splitList(list->rsplit(" : ").second))
      types.push_back(type.str());
  return types;
}

static std::vector<TileLevel> parseLevels(StringRef config) {
  std::vector<TileLevel> levels;
  auto list = inside(config, "lowering_config<");
  for (StringRef part : list ? splitList(*list) : std::vector<StringRef>()) {
    auto [name, value] = part.split(" = ");
    TileLevel level{name.str(), {}};
    if (!value.consume_front("[") || !value.consume_back("]"))
      continue;
    for (StringRef text : splitList(value)) {
      int64_t tile = 0;
      if (text.getAsInteger(10, tile))
        return {}; // Scalable tiles, [[8]], are not ours to write.
      level.tiles.push_back(tile);
    }
    levels.push_back(std::move(level));
  }
  return levels;
}

//===----------------------------------------------------------------------===//
// What an op is
//===----------------------------------------------------------------------===//

/// Sizes of the loops, from the shapes of operands.
static bool fillSizes(RootOp &root) {
  root.sizes.assign(root.maps.empty() ? 0 : loopCount(root.maps[0]), -1);
  for (auto [type, map] : zip_equal(root.operandTypes, root.maps)) {
    auto shape = parseShape(type);
    if (!shape && !StringRef(type).contains('<'))
      continue; // a scalar
    std::vector<std::optional<unsigned>> loops = mapLoops(map);
    if (!shape || shape->first.size() != loops.size())
      return false;
    for (auto [size, loop] : zip_equal(shape->first, loops))
      if (loop && *loop < root.sizes.size())
        root.sizes[*loop] = std::max(root.sizes[*loop], size);
  }
  return !root.sizes.empty();
}

/// Of a contraction, by the operands a loop is in.
static std::optional<std::string> contractionKinds(const RootOp &root) {
  if (root.maps.size() != 3 || root.inputCount != 2)
    return std::nullopt;
  std::vector<unsigned> in(root.sizes.size(), 0);
  for (auto [operand, map] : enumerate(root.maps))
    for (std::optional<unsigned> loop : mapLoops(map)) {
      if (!loop || *loop >= in.size())
        return std::nullopt;
      in[*loop] |= 1u << operand;
    }
  std::string kinds;
  static constexpr StringLiteral names("...k.mnb"); // By the three bits.
  for (unsigned bits : in) {
    if (names[bits] == '.')
      return std::nullopt;
    kinds += names[bits];
  }
  if (kinds.find('k') == std::string::npos)
    return std::nullopt;
  return kinds;
}

/// Products that are summed, of values that may be extended first.
static bool isSumOfProducts(ArrayRef<StringRef> body) {
  unsigned others = 0;
  for (StringRef line : body) {
    StringRef op = line.split(" = ").second.split(' ').first;
    bool isCast = op.starts_with("arith.ext") || op.starts_with("arith.trunc");
    others += !op.empty() && !isCast && op != "arith.mulf" &&
              op != "arith.muli" && op != "arith.addf" && op != "arith.addi";
  }
  return others == 0;
}

static std::string parallelOrReduction(StringRef line, const RootOp &root) {
  std::string kinds;
  if (auto types = inside(line, "iterator_types = [")) {
    for (StringRef type : splitList(*types))
      kinds += type == "\"reduction\"" ? 'r' : 'p';
    return kinds;
  }
  // Other ops than linalg's show it in their configuration.
  kinds.assign(root.sizes.size(), 'p');
  for (const TileLevel &level : root.levels)
    for (auto [loop, tile] : enumerate(level.tiles))
      if (StringRef(level.name).ends_with("reduction") && tile > 0 &&
          loop < kinds.size())
        kinds[loop] = 'r';
  return kinds;
}

static bool classify(RootOp &root, StringRef line, ArrayRef<StringRef> body) {
  auto kinds = contractionKinds(root);
  if (kinds && root.opName == "linalg.generic" && isSumOfProducts(body)) {
    root.kinds = *kinds;
    root.rootOp = "contraction";
    return true;
  }
  root.kinds = parallelOrReduction(line, root);
  bool isWindowed = any_of(root.maps, [](StringRef map) {
    return is_contained(mapLoops(map), std::nullopt);
  });
  if (root.opName != "linalg.generic")
    root.rootOp = "attention";
  else if (isWindowed)
    root.rootOp = "convolution";
  else
    root.rootOp =
        StringRef(root.kinds).contains('r') ? "reduction" : "elementwise";
  return root.kinds.size() == root.sizes.size();
}

/// A contraction in tiles, whose loops are those of its name.
static bool classifyPacked(RootOp &root) {
  bool isBatch = root.opName == "linalg.batch_mmt4d";
  auto lhs = parseShape(root.operandTypes.front()),
       out = parseShape(root.operandTypes.back());
  if (root.operandTypes.size() != 3 || !lhs || !out ||
      out->first.size() != 4u + isBatch || lhs->first.size() != 4u + isBatch)
    return false;
  const int64_t *a = lhs->first.data() + isBatch, // m, k, M, K
      *c = out->first.data() + isBatch;           // m, n, M, N
  root.kinds = isBatch ? "bmnkMNK" : "mnkMNK";
  root.sizes = {c[0], c[1], a[1], c[2], c[3], a[3]};
  if (isBatch)
    root.sizes.insert(root.sizes.begin(), out->first.front());
  root.rootOp = "contraction";
  return true;
}

//===----------------------------------------------------------------------===//
// Finding them
//===----------------------------------------------------------------------===//

/// `%7 = linalg.generic {...`, `%12:3 = ...`, or without results.
static StringRef opNameOf(StringRef line) {
  line = line.ltrim();
  if (line.starts_with("%"))
    line = line.split(" = ").second;
  return line.take_until([](char c) { return c == ' '; });
}

static std::optional<RootOp> parseRoot(StringRef line,
                                       ArrayRef<StringRef> body) {
  RootOp root;
  root.opName = opNameOf(line).str();
  StringRef config = line.split("lowering_config = ").second;
  root.levels = parseLevels(config);
  root.operandTypes = operandTypes(line, " ins(");
  root.inputCount = root.operandTypes.size();
  append_range(root.operandTypes, operandTypes(line, " outs("));
  if (root.operandTypes.empty() || root.levels.empty() ||
      any_of(root.operandTypes,
             [](StringRef type) { return type.starts_with("memref"); }))
    return std::nullopt;
  if (root.opName == "linalg.mmt4d" || root.opName == "linalg.batch_mmt4d")
    return classifyPacked(root) ? std::optional(root) : std::nullopt;
  if (root.opName != "linalg.generic" &&
      root.opName != "iree_linalg_ext.online_attention")
    return std::nullopt;
  auto maps = inside(line, "indexing_maps = [");
  for (StringRef map : maps ? splitList(*maps) : std::vector<StringRef>())
    root.maps.push_back(map.str());
  if (root.maps.size() != root.operandTypes.size() || !fillSizes(root) ||
      !classify(root, line, body) ||
      any_of(root.levels, [&](const TileLevel &level) {
        return level.tiles.size() != root.sizes.size();
      }))
    return std::nullopt;
  return root;
}

/// The op's region, up to what it yields.
static ArrayRef<StringRef> bodyOf(ArrayRef<StringRef> after) {
  size_t count = 0;
  while (count < after.size() && !after[count].contains("linalg.yield") &&
         !after[count].contains("func.func"))
    ++count;
  return after.take_front(count == after.size() ? 0 : count);
}

void findRoots(StringRef text, std::vector<RootOp> &found, Untuned *untuned) {
  std::string dispatch = "?", translation;
  SmallVector<StringRef> lines(split(text, '\n'));
  bool hasRoot = false;
  StringRef other;
  for (auto [number, line] : enumerate(lines)) {
    if (size_t at = line.find("func.func @"); at != StringRef::npos) {
      dispatch = line.drop_front(at + 11).split('(').first.str();
      constexpr StringLiteral open("#iree_codegen.translation_info<");
      auto info = inside(line, open);
      translation = info ? (open + *info + ">").str() : "";
    }
    constexpr StringLiteral begin("#iree_cpu.lowering_config<");
    auto config = inside(line, begin);
    if (!config || !config->contains("distribution = ")) {
      if (StringRef name = opNameOf(line);
          name.starts_with("iree_linalg_ext.") && !name.ends_with("yield"))
        other = name;
      continue;
    }
    auto root = parseRoot(line, bodyOf(ArrayRef(lines).drop_front(number + 1)));
    if (!root) {
      other = opNameOf(line);
      continue;
    }
    hasRoot = true;
    root->translation = translation;
    auto same = find_if(
        found, [&](const RootOp &one) { return one.key() == root->key(); });
    if (same == found.end())
      same = found.insert(found.end(), std::move(*root));
    same->dispatches.push_back(dispatch);
    same->configs.push_back((begin + *config + ">").str());
  }
  if (untuned && !hasRoot)
    ++(*untuned)[other.empty() ? "copies and the like" : other.str()];
}

std::string RootOp::shapes() const {
  std::string text;
  for (int64_t size : sizes)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  auto shape = parseShape(operandTypes.front());
  return text + (shape ? shape->second : operandTypes.front());
}

std::string RootOp::key() const {
  std::string text = opName + " " + std::to_string(inputCount) + " " +
                     std::to_string(sizes.size()) + " " +
                     join(operandTypes, " ");
  return isContraction() ? text + " " + join(maps, " ") : text;
}

int64_t RootOp::extent(char kind) const {
  int64_t product = 1;
  for (auto [size, one] : zip_equal(sizes, kinds))
    if (toLower(one) == kind) {
      if (size < 0)
        return -1;
      product *= size;
    }
  return product;
}

double RootOp::operations() const {
  double product = 2;
  for (int64_t size : sizes)
    product *= std::max<int64_t>(size, 1);
  return product;
}

const TileLevel *RootOp::level(StringRef name) const {
  auto found = find_if(
      levels, [&](const TileLevel &level) { return level.name == name; });
  return found == levels.end() ? nullptr : &*found;
}

} // namespace attune::iree
