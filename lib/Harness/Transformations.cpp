//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Variables and the steps that take them: plain data.

#include "attune/Harness/Expert.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <numeric>

using namespace llvm;

namespace attune {

Variable::Variable(int64_t number) : selected(number) {}

Variable::Variable(StringRef name, KnobValue selected, std::string domain)
    : name(name), selected(std::move(selected)), domain(std::move(domain)) {}

Variable Variable::range(StringRef name, int64_t selected, int64_t lower,
                         int64_t upper, int64_t step) {
  std::string domain =
      step == 1
          ? formatv("#attune.range<{0}, {1}>", lower, upper).str()
          : formatv("#attune.range<{0}, {1}, step = {2}>", lower, upper, step)
                .str();
  return Variable(name, selected, std::move(domain));
}

Variable Variable::powerOfTwo(StringRef name, int64_t selected, int64_t lower,
                              int64_t upper) {
  return Variable(name, selected,
                  formatv("#attune.pow2<{0}, {1}>", lower, upper));
}

Variable Variable::divisor(StringRef name, int64_t selected, StringRef of) {
  return Variable(name, selected, formatv("#attune.divisors<\"{0}\">", of));
}

static std::string listOf(ArrayRef<int64_t> values) {
  return "[" +
         join(map_range(values, [](int64_t v) { return std::to_string(v); }),
              ", ") +
         "]";
}

Variable Variable::list(StringRef name, int64_t selected,
                        ArrayRef<int64_t> values) {
  return Variable(name, selected, listOf(values));
}

Variable Variable::boolean(StringRef name, bool selected) {
  return Variable(name, selected, "[true, false]");
}

Variable Variable::permutation(StringRef name, int64_t count) {
  std::vector<int64_t> identity(count);
  std::iota(identity.begin(), identity.end(), 0);
  return Variable(name, std::move(identity),
                  formatv("#attune.permutation<{0}>", count));
}

Variable Variable::times(const Variable &other) const {
  Variable product = *this;
  product.factors.push_back(other);
  return product;
}

using Kind = Transformation::Kind;

StringRef Transformation::getName() const {
  static constexpr StringLiteral names[] = {"tile",
                                            "tile_and_fuse",
                                            "tile_to_threads",
                                            "interchange",
                                            "pad",
                                            "hoist_padding",
                                            "pack",
                                            "peel",
                                            "unroll",
                                            "generalize",
                                            "decompose",
                                            "tile_rest",
                                            "tile_reduction",
                                            "vectorize",
                                            "bufferize",
                                            "lower_vectors",
                                            "software_pipeline",
                                            "lower_to_llvm"};
  return names[static_cast<int>(kind)];
}

Transformation tile(std::vector<std::string> loops, std::vector<Variable> sizes,
                    std::vector<Variable> order) {
  return {Kind::Tile, std::move(loops), std::move(sizes), std::move(order)};
}

Transformation tileAndFuse(std::vector<std::string> loops,
                           std::vector<Variable> sizes,
                           std::vector<Variable> order) {
  return {Kind::TileAndFuse, std::move(loops), std::move(sizes),
          std::move(order)};
}

Transformation tileToThreads(std::vector<std::string> loops,
                             std::vector<Variable> sizes) {
  return {Kind::TileToThreads, std::move(loops), std::move(sizes)};
}

Transformation interchange(StringRef name, int64_t loops) {
  return {Kind::Interchange, {}, {}, {}, {loops}, name.str()};
}

Transformation pad(std::vector<int64_t> dimensions,
                   std::vector<Variable> multiples) {
  return {Kind::Pad, {}, std::move(multiples), {}, std::move(dimensions)};
}

Transformation hoistPadding(int64_t loops) {
  return {Kind::HoistPadding, {}, {}, {}, {loops}};
}

Transformation pack(StringRef panel, const Variable &when) {
  return {Kind::Pack, {panel.str()}, {when}};
}

Transformation peel() { return {Kind::Peel}; }

Transformation unroll(StringRef name, std::vector<int64_t> factors) {
  return {Kind::Unroll, {}, {}, {}, std::move(factors), name.str()};
}

Transformation generalize() { return {Kind::Generalize}; }
Transformation decompose() { return {Kind::Decompose}; }
Transformation tileRest() { return {Kind::TileRest}; }

Transformation tileReduction(const Variable &vectors) {
  return {Kind::TileReduction, {}, {vectors}};
}

Transformation vectorize(int64_t points) {
  return {Kind::Vectorize, {}, {}, {}, {points}};
}

Transformation bufferize() { return {Kind::Bufferize}; }

Transformation lowerVectors(const Variable &contraction,
                            const Variable &reduction,
                            const Variable &transpose) {
  return {Kind::LowerVectors, {}, {contraction, reduction, transpose}};
}

Transformation softwarePipeline(StringRef name,
                                std::vector<int64_t> latencies) {
  std::vector<int64_t> indices(latencies.size());
  std::iota(indices.begin(), indices.end(), 0);
  return {Kind::SoftwarePipeline,
          {},
          {Variable::list(name, 0, indices)},
          {},
          std::move(latencies)};
}

Transformation lowerToLLVM() { return {Kind::LowerToLLVM}; }

} // namespace attune
