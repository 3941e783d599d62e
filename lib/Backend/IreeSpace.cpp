//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// What can be tried on a root op: the tiles of each level of IREE's own
// configuration, varied.

#include "IreeRoots.h"
#include "IreeText.h"

#include "attune/Space/FromJSON.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace attune::iree {
namespace {

/// A tile of one loop at one level.
struct TileKnob {
  std::string level; ///< `distribution`
  size_t loop = 0;
  std::string name; ///< `m_distribute`
  std::set<int64_t> values;
  int64_t wanted = 0; ///< IREE's own.
  bool isCache = false;
};

/// IREE refuses products of vectors of 16 KiB (3.13); over some hundred
/// elements the compiler takes minutes.
constexpr int64_t mostVectorElements = 1024, vectorLimitBytes = 16384;

constexpr StringLiteral distribution("distribution"),
    vectorParallel("vector_common_parallel"),
    vectorReduction("vector_reduction"), cacheParallel("cache_parallel"),
    cacheReduction("cache_reduction");

bool isReduction(char kind) { return kind == 'k' || kind == 'r'; }
bool isPacked(const RootOp &root) {
  return StringRef(root.kinds).contains('M');
}

int64_t bytesOf(StringRef type) {
  auto shape = parseShape(type);
  StringRef element = shape ? StringRef(shape->second) : type;
  unsigned bits = 32;
  element.drop_while([](char c) { return !isDigit(c); }).getAsInteger(10, bits);
  return std::max(1u, bits / 8);
}

int64_t tileAt(const RootOp &root, StringRef level, size_t loop) {
  const TileLevel *tiles = root.level(level);
  return tiles ? tiles->tiles[loop] : 0;
}

/// The innermost m, n and k are called that; of others and further ones, the
/// loop's number says which.
std::string loopName(const RootOp &root, size_t loop) {
  char kind = root.kinds[loop];
  if (StringRef("mnk").contains(kind) && root.kinds.rfind(kind) == loop)
    return std::string(1, kind);
  return "d" + std::to_string(loop);
}

/// How many parallel loops are further in.
size_t loopsInside(const RootOp &root, size_t loop) {
  return count_if(StringRef(root.kinds).drop_front(loop + 1),
                  [](char kind) { return !isReduction(kind); });
}

/// Powers of two and divisors that are not over the size.
std::set<int64_t> wideTiles(int64_t size, int64_t least, int64_t most) {
  std::set<int64_t> values;
  int64_t last = size < 0 ? most : std::min(size, most);
  for (int64_t tile = least; tile <= last; tile *= 2)
    values.insert(tile);
  for (int64_t tile = least; size > 0 && tile <= last; ++tile)
    if (size % tile == 0)
      values.insert(tile);
  if (values.empty())
    values.insert(std::max<int64_t>(last, 1));
  return values;
}

std::set<int64_t> someTiles(int64_t size, ArrayRef<int64_t> wanted) {
  std::set<int64_t> values;
  for (int64_t tile : wanted)
    if (size < 0 || tile <= size)
      values.insert(tile);
  if (values.empty())
    values.insert(1);
  return values;
}

class KnobMaker {
public:
  explicit KnobMaker(const RootOp &root) : root(root) {}

  std::vector<TileKnob> make() {
    for (size_t loop = 0; loop < root.sizes.size(); ++loop)
      if (root.sizes[loop] != 1 && !isUpper(root.kinds[loop]))
        isReduction(root.kinds[loop]) ? addReduction(loop) : addParallel(loop);
    return std::move(knobs);
  }

private:
  void add(StringRef level, size_t loop, StringRef what,
           std::set<int64_t> values, bool isCache = false) {
    TileKnob knob{level.str(),
                  loop,
                  loopName(root, loop) + "_" + what.str(),
                  std::move(values),
                  tileAt(root, level, loop),
                  isCache};
    if (knob.wanted > 0)
      knob.values.insert(knob.wanted);
    knobs.push_back(std::move(knob));
  }

  void addParallel(size_t loop) {
    int64_t size = root.sizes[loop];
    bool isProduct = root.rootOp == "contraction" && !isPacked(root) &&
                     root.kinds[loop] != 'b';
    // A loop that IREE leaves whole may be one that has to be.
    if (tileAt(root, distribution, loop) > 0)
      add(distribution, loop, "distribute",
          wideTiles(size, isProduct ? 8 : 1, 512));
    if (tileAt(root, vectorParallel, loop) > 0 && !isPacked(root))
      add(vectorParallel, loop, "vector", vectorTiles(loop));
    if (root.rootOp == "contraction" && root.kinds[loop] != 'b')
      add(cacheParallel, loop, "cache",
          isPacked(root) ? someTiles(size, {4, 8, 16, 32, 64})
                         : someTiles(size, {16, 32, 64, 128, 256}),
          /*isCache=*/true);
  }

  std::set<int64_t> vectorTiles(size_t loop) const {
    int64_t size = root.sizes[loop];
    if (root.kinds[loop] == 'n')
      return someTiles(size, {1, 4, 8, 16, 32, 64});
    if (root.kinds[loop] == 'm')
      return someTiles(size, {1, 2, 4, 5, 6, 8, 10, 12, 16});
    switch (loopsInside(root, loop)) {
    case 0:
      return someTiles(size, {1, 4, 8, 16, 32, 64});
    case 1:
      return someTiles(size, {1, 2, 4, 7, 8, 16});
    default:
      return someTiles(size, {1, 2, 4, 8});
    }
  }

  void addReduction(size_t loop) {
    int64_t size = root.sizes[loop];
    if (tileAt(root, vectorReduction, loop) > 0 && !isPacked(root))
      add(vectorReduction, loop, "vector",
          someTiles(size, {1, 2, 4, 8, 16, 32}));
    if (root.rootOp == "contraction")
      add(cacheReduction, loop, "cache",
          someTiles(size, {32, 64, 128, 256, 512}), /*isCache=*/true);
  }

  const RootOp &root;
  std::vector<TileKnob> knobs;
};

const TileKnob *find(ArrayRef<TileKnob> knobs, StringRef level, size_t loop) {
  auto found = find_if(knobs, [&](const TileKnob &knob) {
    return knob.level == level && knob.loop == loop;
  });
  return found == knobs.end() ? nullptr : &*found;
}

json::Array constraintsOf(const RootOp &root, ArrayRef<TileKnob> knobs) {
  json::Array constraints;
  std::string elements = "1", all = "1";
  for (size_t loop = 0; loop < root.sizes.size(); ++loop) {
    const TileKnob *outer = find(knobs, distribution, loop),
                   *cache = find(knobs,
                                 isReduction(root.kinds[loop]) ? cacheReduction
                                                               : cacheParallel,
                                 loop);
    for (StringRef level : {vectorParallel, vectorReduction}) {
      const TileKnob *vector = find(knobs, level, loop);
      std::string tile =
          vector
              ? vector->name
              : std::to_string(std::max<int64_t>(tileAt(root, level, loop), 1));
      all += " * " + tile;
      if (level == vectorParallel)
        elements += " * " + tile;
      if (vector && outer)
        constraints.push_back(vector->name + " <= " + outer->name);
      if (vector && cache)
        constraints.push_back(vector->name + " <= " + cache->name);
    }
    if (outer && cache)
      constraints.push_back(cache->name + " <= " + outer->name);
  }
  if (isPacked(root)) // Its vectors are those of the tiles.
    return constraints;
  constraints.push_back(
      formatv("{0} <= {1}", elements, mostVectorElements).str());
  constraints.push_back(formatv("{0} * {1} < {2}", all,
                                bytesOf(root.operandTypes.back()),
                                vectorLimitBytes)
                            .str());
  return constraints;
}

/// The pipelines that may do for an op.
std::vector<std::string> pipelinesOf(const RootOp &root) {
  auto own = inside(root.translation, "#iree_cpu.pipeline<");
  if (!own)
    return {};
  if (root.rootOp == "convolution" && *own == "ConvTileAndDecomposeExpert")
    return {own->str(), "DoubleTilingExpert"};
  return {own->str()};
}

} // namespace

Expected<std::pair<Space, Configuration>> rootSpace(const RootOp &root) {
  std::vector<TileKnob> tiles = KnobMaker(root).make();
  json::Array knobs;
  Configuration wanted;
  bool hasCache = false;
  for (const TileKnob &tile : tiles) {
    json::Object knob{{"name", tile.name},
                      {"values", json::Array(tile.values)}};
    if (tile.isCache)
      knob["when"] = "cache";
    if (tile.isCache && !std::exchange(hasCache, true)) {
      bool isOn = root.level(cacheReduction);
      knobs.push_back(json::Object{{"name", "cache"},
                                   {"values", json::Array{false, true}}});
      wanted.values.emplace_back("cache", isOn);
    }
    knobs.push_back(std::move(knob));
    if (tile.wanted > 0)
      wanted.values.emplace_back(tile.name, tile.wanted);
  }
  if (auto pipelines = pipelinesOf(root); pipelines.size() > 1) {
    wanted.values.emplace_back("pipeline", pipelines.front());
    knobs.push_back(
        json::Object{{"name", "pipeline"}, {"values", json::Array(pipelines)}});
  }
  json::Value text = json::Object{
      {"version", 1},
      {"name",
       "iree_" + std::string(isPacked(root) ? "packed_" : "") + root.rootOp},
      {"knobs", std::move(knobs)},
      {"constraints", constraintsOf(root, tiles)}};
  auto space = parseSpace(formatv("{0}", text).str(), "IREE " + root.rootOp);
  if (!space)
    return space.takeError();
  wanted.schedule = space->getSchedule();
  Configuration nearest = space->nearest(wanted);
  return std::pair(std::move(*space), std::move(nearest));
}

std::string loweringConfig(const RootOp &root,
                           const Configuration &configuration) {
  // In the order of the alphabet: it is looked for as it is written.
  std::map<std::string, std::vector<int64_t>> levels;
  const KnobValue *cacheKnob = configuration.find("cache");
  bool hasCache = cacheKnob && std::get<bool>(*cacheKnob);
  for (const TileLevel &level : root.levels)
    if (!cacheKnob || !StringRef(level.name).starts_with("cache_"))
      levels[level.name] = level.tiles;
  if (hasCache)
    for (StringRef name : {cacheParallel, cacheReduction})
      levels[name.str()].assign(root.sizes.size(), 0);
  for (const TileKnob &knob : KnobMaker(root).make()) {
    const KnobValue *value = configuration.find(knob.name);
    auto level = levels.find(knob.level);
    if (value && level != levels.end() && (!knob.isCache || hasCache))
      level->second[knob.loop] = std::get<int64_t>(*value);
  }
  std::vector<std::string> texts;
  for (const auto &[name, tiles] : levels) {
    std::vector<std::string> numbers;
    for (int64_t tile : tiles)
      numbers.push_back(std::to_string(tile));
    texts.push_back(name + " = [" + join(numbers, ", ") + "]");
  }
  return "#iree_cpu.lowering_config<" + join(texts, ", ") + ">";
}

std::string translationInfo(const RootOp &root,
                            const Configuration &configuration) {
  const KnobValue *pipeline = configuration.find("pipeline");
  auto own = inside(root.translation, "#iree_cpu.pipeline<");
  if (!pipeline || !own)
    return root.translation;
  auto [before, after] = StringRef(root.translation).split(*own);
  return (before + std::get<std::string>(*pipeline) + after).str();
}

} // namespace attune::iree
