//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Spaces, configurations and tuning specs of IREE's llvm-cpu.

#include "IreeText.h"

#include "attune/Space/FromJSON.h"
#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace llvm;

namespace attune::iree {

/// The innermost loop of a kind has the knobs; others are tiled by 1.
static std::optional<size_t> tiledLoop(const Contraction &contraction,
                                       char kind) {
  size_t at = contraction.kinds.rfind(kind);
  return at == std::string::npos ? std::nullopt : std::optional(at);
}

static int64_t sizeOf(const Contraction &contraction, char kind) {
  auto loop = tiledLoop(contraction, kind);
  return loop ? contraction.sizes[*loop] : 1;
}

/// Powers of two and divisors that are not over the size.
static json::Array tiles(int64_t size, int64_t least, int64_t most) {
  std::set<int64_t> values;
  int64_t last = size < 0 ? most : std::min(size, most);
  for (int64_t tile = least; tile <= last; tile *= 2)
    values.insert(tile);
  for (int64_t tile = least; size > 0 && tile <= last; ++tile)
    if (size % tile == 0)
      values.insert(tile);
  if (values.empty())
    values.insert(std::max<int64_t>(last, 1));
  return json::Array(values);
}

static json::Array vectorTiles(int64_t size, ArrayRef<int64_t> wanted) {
  json::Array values;
  for (int64_t tile : wanted)
    if (size < 0 || tile <= size)
      values.push_back(tile);
  if (values.empty())
    values.push_back(1);
  return values;
}

/// IREE refuses products of vectors of 16 KiB (3.13); over some hundred
/// elements the compiler takes minutes.
static constexpr int64_t mostVectorElements = 1024, vectorLimitBytes = 16384;

static int64_t bytesOf(StringRef type) {
  unsigned bits = 32;
  type.drop_while([](char c) { return !isDigit(c); }).getAsInteger(10, bits);
  return std::max(1u, bits / 8);
}

Expected<std::pair<Space, Configuration>>
contractionSpace(const Contraction &contraction) {
  int64_t m = sizeOf(contraction, 'm'), n = sizeOf(contraction, 'n'),
          k = sizeOf(contraction, 'k');
  json::Array knobs, constraints;
  auto add = [&](StringRef name, json::Array values, bool isCache = false) {
    json::Object knob{{"name", name}, {"values", std::move(values)}};
    if (isCache)
      knob["when"] = "cache";
    knobs.push_back(std::move(knob));
  };
  add("m_distribute", tiles(m, 8, 512));
  add("n_distribute", tiles(n, 8, 512));
  add("m_vector", vectorTiles(m, {1, 2, 4, 5, 6, 8, 10, 12, 16}));
  add("n_vector", vectorTiles(n, {1, 4, 8, 16, 32, 64}));
  add("k_vector", vectorTiles(k, {1, 2, 4, 8, 16}));
  add("cache", json::Array{false, true});
  add("m_cache", vectorTiles(m, {16, 32, 64, 128, 256}), true);
  add("n_cache", vectorTiles(n, {32, 64, 128, 256}), true);
  add("k_cache", vectorTiles(k, {32, 64, 128, 256, 512}), true);
  for (const char *text :
       {"m_vector <= m_distribute", "n_vector <= n_distribute",
        "m_cache <= m_distribute and m_vector <= m_cache",
        "n_cache <= n_distribute and n_vector <= n_cache",
        "k_vector <= k_cache"})
    constraints.push_back(text);
  constraints.push_back(
      formatv("m_vector * n_vector <= {0}", mostVectorElements).str());
  constraints.push_back(formatv("m_vector * n_vector * k_vector * {0} < {1}",
                                bytesOf(contraction.outputType),
                                vectorLimitBytes)
                            .str());
  json::Value text = json::Object{{"version", 1},
                                  {"name", "iree_contraction"},
                                  {"knobs", std::move(knobs)},
                                  {"constraints", std::move(constraints)}};
  auto space = parseSpace(formatv("{0}", text).str(), "IREE contraction");
  if (!space)
    return space.takeError();
  // As IREE chooses for sizes that it likes.
  Configuration wanted{space->getSchedule(),
                       {{"m_distribute", int64_t(64)},
                        {"n_distribute", int64_t(128)},
                        {"m_vector", int64_t(8)},
                        {"n_vector", int64_t(16)},
                        {"k_vector", int64_t(8)},
                        {"cache", false}}};
  Configuration nearest = space->nearest(wanted);
  return std::pair(std::move(*space), std::move(nearest));
}

//===----------------------------------------------------------------------===//
// Configurations and specs
//===----------------------------------------------------------------------===//

/// One tile level: `kinds` have the knobs `KIND_level`, other loops `others`.
static std::string level(const Contraction &contraction,
                         const Configuration &configuration, StringRef name,
                         StringRef kinds) {
  std::vector<std::string> tiles;
  for (auto [loop, kind] : enumerate(contraction.kinds)) {
    int64_t tile = 0;
    bool isMine = kinds.contains(kind) || (kind == 'b' && kinds == "mn");
    if (isMine)
      tile = 1;
    if (isMine && kind != 'b' && tiledLoop(contraction, kind) == loop) {
      std::string knob = std::string(1, kind) + "_" + name.str();
      if (const KnobValue *value = configuration.find(knob))
        tile = std::get<int64_t>(*value);
    }
    tiles.push_back(std::to_string(tile));
  }
  return "[" + join(tiles, ", ") + "]";
}

std::string loweringConfig(const Contraction &contraction,
                           const Configuration &configuration) {
  auto at = [&](StringRef name, StringRef kinds) {
    return level(contraction, configuration, name, kinds);
  };
  // In the order of the alphabet: it is looked for as it is written.
  std::string text = "#iree_cpu.lowering_config<";
  const KnobValue *cache = configuration.find("cache");
  if (cache && std::get<bool>(*cache))
    text += "cache_parallel = " + at("cache", "mn") +
            ", cache_reduction = " + at("cache", "k") + ", ";
  return text + "distribution = " + at("distribute", "mn") +
         ", vector_common_parallel = " + at("vector", "mn") +
         ", vector_reduction = " + at("vector", "k") + ">";
}

static std::string dimsOf(const Contraction &contraction, char kind) {
  std::vector<std::string> sizes;
  for (auto [size, one] : zip_equal(contraction.sizes, contraction.kinds)) {
    if (one != kind)
      continue;
    if (size < 0) // Matched whatever it is.
      return "";
    sizes.push_back(std::to_string(size));
  }
  return "[" + join(sizes, ", ") + "]";
}

static void printMatcher(raw_ostream &out, size_t number, const SpecRow &row) {
  const Contraction &c = *row.contraction;
  out << "  transform.named_sequence @match_" << number
      << "(%op: !transform.any_op {transform.readonly}) -> "
         "(!transform.any_op, !transform.any_param) {\n"
      << "    // In " << join(c.dispatches, ", ") << "\n"
      << "    %batch, %m, %n, %k = transform.iree.match.contraction %op, "
      << "lhs_type = " << c.lhsType << ", rhs_type = " << c.rhsType
      << ", output_type = " << c.outputType << ",\n      indexing_maps = ["
      << join(c.maps, ", ")
      << "]\n      : !transform.any_op -> !transform.param<i64>\n";
  for (auto [kind, name] :
       {std::pair('b', "batch"), {'m', "m"}, {'n', "n"}, {'k', "k"}})
    if (std::string sizes = dimsOf(c, kind); !sizes.empty())
      out << "    transform.iree.match.dims_equal %" << name << ", " << sizes
          << " : !transform.param<i64>\n";
  out << "    %config = transform.param.constant "
         "#iree_codegen.compilation_info<\n      lowering_config = "
      << row.loweringConfig
      << ",\n      translation_info = #iree_codegen.translation_info<pipeline "
         "= #iree_cpu.pipeline<DoubleTilingExpert>>> -> "
         "!transform.any_param\n"
      << "    transform.yield %op, %config : !transform.any_op, "
         "!transform.any_param\n  }\n";
}

std::string printTuningSpec(ArrayRef<SpecRow> rows) {
  std::string text;
  raw_string_ostream out(text);
  out << "module @attune_spec attributes {transform.with_named_sequence, "
         "iree_codegen.tuning_spec_with_default_entrypoint} {\n"
         "  transform.named_sequence @apply_op_config(%op: !transform.any_op "
         "{transform.readonly}, %config: !transform.any_param "
         "{transform.readonly}) {\n"
         "    transform.annotate %op \"compilation_info\" = %config : "
         "!transform.any_op, !transform.any_param\n"
         "    transform.yield\n  }\n";
  for (auto [number, row] : enumerate(rows))
    printMatcher(out, number, row);
  out << "  transform.named_sequence @__kernel_config(%variant: "
         "!transform.any_op {transform.consumed}) -> !transform.any_op "
         "attributes {iree_codegen.tuning_spec_entrypoint} {\n"
         "    %res = transform.foreach_match in %variant";
  for (size_t i = 0; i < rows.size(); ++i)
    out << (i ? ",\n      " : "\n      ") << "@match_" << i
        << " -> @apply_op_config";
  out << "\n      : (!transform.any_op) -> !transform.any_op\n"
         "    transform.yield %res : !transform.any_op\n  }\n}\n";
  return text;
}

std::string explainMissing(ArrayRef<SpecRow> rows,
                           ArrayRef<std::string> dumps) {
  for (const SpecRow &row : rows) {
    size_t hits = 0;
    std::string wanted = "lowering_config = " + row.loweringConfig;
    for (const std::string &dump : dumps) {
      std::vector<Contraction> inDump;
      for (StringRef line : split(dump, '\n'))
        if (line.contains(wanted))
          findContractions(line, inDump);
      for (const Contraction &one : inDump)
        if (one.key() == row.contraction->key())
          hits += one.dispatches.size();
    }
    if (hits != row.contraction->dispatches.size())
      return formatv("the configuration arrived in {0} of {1} dispatches with "
                     "{2}",
                     hits, row.contraction->dispatches.size(),
                     row.contraction->shapes())
          .str();
  }
  return "";
}

} // namespace attune::iree
