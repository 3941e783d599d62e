//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Each step as ops of the transform dialect.

#include "Emitter.h"

#include <numeric>

using namespace llvm;
using Kind = attune::Transformation::Kind;

namespace attune {

Error Emitter::emitTile(const Transformation &step) {
  static constexpr StringLiteral roles[] = {"batch", "m", "n", "k", "window"};
  if (step.loops.empty() || step.loops.size() != step.variables.size())
    return wrong(step, Twine(step.loops.size()) + " loops and " +
                           Twine(step.variables.size()) +
                           " sizes; it needs one size for each loop");
  for (const std::string &loop : step.loops)
    if (!is_contained(roles, loop) || count(step.loops, loop) > 1)
      return wrong(step, "'" + loop +
                             "' is no loop, or is there twice; loops are "
                             "batch, m, n, k, window");
  std::vector<std::string> sizes, types;
  for (const Variable &variable : step.variables)
    sizes.push_back(numberOf(variable));
  std::string target;
  bool fuses = step.kind != Kind::Tile;
  if (!fuses) {
    target = root();
  } else if (!tiled && !parts.continues) {
    usesLast = true;
    target = "%last";
  } else if (!chain.empty()) {
    target = chain;
  } else {
    std::string epilogue = fresh("epilogue"), inner = root();
    target = fresh("both");
    line(formatv("{0} = transform.structured.match attributes {{attune.kind = "
                 "\"epilogue\"} in %func : ({1}) -> {1}",
                 epilogue, handle)
             .str());
    line(formatv("{0} = transform.merge_handles {1}, {2} : {3}", target, inner,
                 epilogue, handle)
             .str());
  }
  std::vector<std::string> loops;
  for (const std::string &loop : step.loops)
    loops.push_back("\"" + loop + "\"");
  types.assign(1 + sizes.size(), number.str());
  types[0] = handle.str();
  std::string text = formatv("transform.attune.tile {0} loops [{1}] sizes({2})",
                             target, join(loops, ", "), join(sizes, ", "));
  if (!step.order.empty()) {
    text += " order(" + valueOf(step.order[0]) + ")";
    types.push_back(typeOf(step.order[0]));
    if (types.back() != anyParam)
      return wrong(step, "its order is no permutation");
  }
  if (step.kind == Kind::TileToThreads) {
    text += " threads(" + bind("threads") + ")";
    types.push_back(number.str());
  }
  if (fuses)
    text += " {fuse = [\"root\", \"init\", \"epilogue\"]}";
  std::string result = fresh("tiles");
  line(result + " = " + text + " : (" + join(types, ", ") + ") -> " +
       handle.str());
  chain = fuses ? result : "";
  tiled = true;
  return Error::success();
}

Error Emitter::emitPad(const Transformation &step) {
  if (step.numbers.empty() || step.numbers.size() != step.variables.size())
    return wrong(step, Twine(step.numbers.size()) + " loops and " +
                           Twine(step.variables.size()) +
                           " multiples; it needs one for each loop");
  std::string target = root();
  std::vector<std::string> sizes, types(1, handle.str()), dimensions;
  for (auto [variable, dimension] : zip_equal(step.variables, step.numbers)) {
    sizes.push_back(numberOf(variable));
    types.push_back(number.str());
    dimensions.push_back(std::to_string(dimension));
  }
  std::string padded = fresh("padded"), copy = fresh("copy");
  padding = fresh("padding");
  line(
      formatv("{0}, {1}, {2} = transform.structured.pad {3} pad_to_multiple_of "
              "[{4}] {{copy_back_op = \"linalg.copy\", padding_dimensions = "
              "[{5}]} : ({6}) -> ({7}, {7}, {7})",
              padded, padding, copy, target, join(sizes, ", "),
              join(dimensions, ", "), join(types, ", "), handle)
          .str());
  return Error::success();
}

Error Emitter::emitHoistPadding(const Transformation &step) {
  if (padding.empty())
    return wrong(step, "there is no pad before it");
  if (step.numbers[0] < 1)
    return wrong(step, "it goes out of one loop or more");
  // What cannot move (the padded result is carried by the loops) stays.
  line(formatv("transform.sequence {0} : {1} failures(suppress) {{\n    "
               "^bb0(%pads: {1}):\n      %hoisted = "
               "transform.structured.hoist_pad %pads by {2} loops : ({1}) -> "
               "{1}\n    }",
               padding, handle, step.numbers[0])
           .str());
  padding.clear();
  return Error::success();
}

void Emitter::emitPack(const Transformation &step) {
  std::string type = typeOf(step.variables[0]);
  std::string when = valueOf(step.variables[0]), target = root();
  line(formatv("transform.attune.pack {0} panel \"{1}\" lanes({2}) when({3}) : "
               "({4}, {5}, {6}) -> ()",
               target, step.loops[0], lanes(), when, handle, number, type)
           .str());
}

/// One region for each value: upstream's op takes an attribute.
void Emitter::emitInterchange(const Transformation &step) {
  std::vector<int64_t> order(step.numbers[0]);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::string> regions;
  do {
    std::string before = ops;
    ops.clear();
    std::string target = root();
    line(formatv(
             "{0} = transform.structured.interchange {1} "
             "iterator_interchange = [{2}] : ({3}) -> {3}",
             fresh("reordered"), target,
             join(map_range(order, [](int64_t v) { return std::to_string(v); }),
                  ", "),
             handle)
             .str());
    regions.push_back("{\n" + ops + "    }");
    ops = std::move(before);
  } while (std::next_permutation(order.begin(), order.end()));
  line("transform.tune.alternatives<\"" + step.knob + "\"> " +
       join(regions, ", "));
}

void Emitter::emitUnroll(const Transformation &step) {
  std::vector<std::string> regions;
  for (int64_t factor : step.numbers) {
    std::string before = ops;
    ops.clear();
    if (factor > 1)
      line(formatv("transform.loop.unroll {0} {{factor = {1}} : {2}",
                   loopsOf(root(), handle), factor, handle)
               .str());
    regions.push_back("{\n" + ops + "    }");
    ops = std::move(before);
  }
  line("transform.tune.alternatives<\"" + step.knob + "\"> " +
       join(regions, ", "));
}

/// One region for each strategy, chosen by a param.
void Emitter::emitLowerVectors(const Transformation &step) {
  static constexpr struct {
    StringLiteral pattern, option;
    std::initializer_list<StringLiteral> strategies;
  } kinds[] = {
      {"lower_contraction",
       "lowering_strategy",
       {"outerproduct", "dot", "parallelarith"}},
      {"lower_multi_reduction",
       "lowering_strategy",
       {"innerparallel", "innerreduction"}},
      {"lower_transpose", "lowering_strategy", {"eltwise", "shuffle_1d"}},
  };
  for (auto [index, variable] : enumerate(step.variables)) {
    auto emitOne = [&](StringRef strategy) {
      return formatv("    transform.apply_patterns to %func {{\n      "
                     "transform.apply_patterns.vector.{0} {1} = "
                     "\"{2}\"\n    } : {3}\n",
                     kinds[index].pattern, kinds[index].option, strategy,
                     handle)
          .str();
    };
    std::vector<StringLiteral> strategies = kinds[index].strategies;
    if (!variable.isKnob()) {
      int64_t chosen = std::get<int64_t>(variable.getSelected());
      ops += emitOne(strategies[std::clamp<int64_t>(
          chosen, 0, int64_t(strategies.size()) - 1)]);
      continue;
    }
    std::vector<std::string> regions;
    for (StringRef strategy : strategies)
      regions.push_back("{\n" + emitOne(strategy) + "    }");
    // The knob is declared where Space looks for it; the choice here has its
    // name, and gets its value.
    ops += "    transform.tune.alternatives<\"" + variable.getName() + "\"> " +
           join(regions, ", ") + "\n";
  }
}

/// Loops that cannot be pipelined (outer ones, too short ones) stay.
void Emitter::emitPipeline(const Transformation &step) {
  std::vector<std::string> regions;
  for (int64_t latency : step.numbers) {
    std::string region = "{\n";
    if (latency > 0)
      region +=
          formatv(
              "      %loops = transform.structured.match "
              "ops{{[\"scf.for\"]} in %func : ({0}) -> {1}\n"
              "      transform.sequence %loops : {1} failures(suppress) {{\n"
              "      ^bb0(%whole: {1}):\n"
              "        %pipelined = transform.loop.pipeline %whole "
              "{{iteration_interval = 1 : i64, read_latency = {2} : i64} : "
              "({1}) -> {0}\n      }\n",
              handle, loopHandle, latency)
              .str();
    regions.push_back(region + "    }");
  }
  // As for lower_vectors, the knob is declared where Space looks for it.
  line("transform.tune.alternatives<\"" + step.variables[0].getName() + "\"> " +
       join(regions, ", "));
}

Error Emitter::emit(const Transformation &step) {
  if (ended)
    return wrong(step, "lower_to_llvm was the end");
  bool isForBuffers = step.kind == Kind::LowerVectors ||
                      step.kind == Kind::SoftwarePipeline ||
                      step.kind == Kind::LowerToLLVM;
  if (onBuffers && !isForBuffers)
    return wrong(step, "it works on tensors, and comes after bufferize");
  if (!onBuffers && isForBuffers) {
    onBuffers = true;
    std::swap(ops, lowering);
  }
  bool keepsChain =
      step.kind == Kind::TileAndFuse || step.kind == Kind::TileToThreads;
  if (!keepsChain)
    chain.clear();
  switch (step.kind) {
  case Kind::Tile:
  case Kind::TileAndFuse:
  case Kind::TileToThreads:
    return emitTile(step);
  case Kind::Interchange:
    emitInterchange(step);
    break;
  case Kind::Pad:
    return emitPad(step);
  case Kind::HoistPadding:
    return emitHoistPadding(step);
  case Kind::Pack:
    if (step.loops[0] != "m" && step.loops[0] != "n")
      return wrong(step, "the panel is m or n, not '" + step.loops[0] + "'");
    emitPack(step);
    break;
  case Kind::Peel:
    // Loops that come out even have nothing to split off.
    line(formatv("transform.sequence {0} : {1} failures(suppress) {{\n    "
                 "^bb0(%whole: {1}):\n      %main, %rest = "
                 "transform.loop.peel %whole : ({1}) -> ({2}, {2})\n    }",
                 loopsOf(root(), loopHandle), loopHandle, handle)
             .str());
    break;
  case Kind::Unroll:
    emitUnroll(step);
    break;
  case Kind::Generalize:
    line(formatv("{0} = transform.structured.generalize {1} : ({2}) -> {2}",
                 fresh("generic"), root(), handle)
             .str());
    break;
  case Kind::Decompose: {
    std::string target = root(), one = constant(1);
    line(formatv("{0} = transform.attune.tile {1} loops [\"window\"] "
                 "sizes({2}) : ({3}, {4}) -> {3}",
                 fresh("positions"), target, one, handle, number)
             .str());
    break;
  }
  case Kind::TileRest:
    line(formatv("transform.attune.tile_rest %func lanes({0}) : ({1}, {2}) -> "
                 "()",
                 lanes(), handle, number)
             .str());
    break;
  case Kind::TileReduction: {
    std::string vectors = numberOf(step.variables[0]), targets = fresh("ops"),
                width = fresh("lanes");
    line(formatv("{0} = transform.attune.compute affine_map<()[s0, s1] -> (s0 "
                 "* s1)> ({1}, {2}) : ({3}, {3}) -> {3}",
                 width, lanes(), vectors, number)
             .str());
    line(formatv("{0} = transform.structured.match interface{{LinalgOp} in "
                 "%func : ({1}) -> {1}",
                 targets, handle)
             .str());
    line(formatv("transform.attune.tile_reduction {0} lanes({1}) : ({2}, {3}) "
                 "-> ()",
                 targets, width, handle, number)
             .str());
    break;
  }
  case Kind::Vectorize:
    if (step.numbers[0] < 1)
      return wrong(step, "ops of at most " + Twine(step.numbers[0]) +
                             " points are none");
    line(formatv("transform.attune.vectorize %func {0}: {1}",
                 step.numbers[0] == 4096
                     ? std::string()
                     : formatv("{{max_elements = {0} : i64} ", step.numbers[0])
                           .str(),
                 handle)
             .str());
    break;
  case Kind::Bufferize:
    onBuffers = true;
    std::swap(ops, lowering);
    break;
  case Kind::LowerVectors:
    emitLowerVectors(step);
    break;
  case Kind::SoftwarePipeline:
    emitPipeline(step);
    break;
  case Kind::LowerToLLVM:
    ended = true;
    break;
  }
  return Error::success();
}

} // namespace attune
