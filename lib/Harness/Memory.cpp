//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Problems that move data: copies, transpositions, chains, reductions, and
// what works on whole rows.

#include "Shipped.h"

#include "attune/Support/Error.h"
#include "llvm/ADT/StringExtras.h"

namespace attune {

using Dimension = ProblemDimension;
static constexpr auto Reduction = Dimension::Kind::Reduction;

static Problem transpose(const char *name, std::vector<Dimension> dimensions,
                         std::string from, std::string to,
                         std::string permutation) {
  Problem problem;
  problem.name = name;
  problem.dimensions = std::move(dimensions);
  problem.inputs = {{"A", std::move(from)}};
  problem.outputs = {{"B", std::move(to)}};
  problem.body = "%B = linalg.transpose ins(%A : $A) outs(%B.empty : $B) "
                 "permutation = [" +
                 permutation + "]";
  return problem;
}

/// A loop that only passes values on is removed before anything is scheduled,
/// and the host copies instead. That a number with its own sign is itself is
/// known to LLVM, and to nobody before.
static Problem copy(const char *name, std::vector<Dimension> dimensions,
                    std::string shape, std::string map, std::string loops) {
  Problem problem;
  problem.name = name;
  problem.dimensions = std::move(dimensions);
  problem.inputs = {{"A", shape}};
  problem.outputs = {{"B", shape}};
  problem.body = "%B = linalg.generic {indexing_maps = [affine_map<" + map +
                 ">, affine_map<" + map + ">], iterator_types = [" + loops +
                 R"(]}
        ins(%A : $A) outs(%B.empty : $B) {
    ^bb0(%a: $type, %o: $type):
      %r = math.copysign %a, %a : $type
      linalg.yield %r : $type
    } -> $B)";
  return problem;
}

/// An elementwise op over two dimensions: `body` makes %r from %a, %b, ...
static Problem elementwise(const char *name, std::vector<std::string> inputs,
                           std::string flops, std::string body) {
  Problem problem;
  problem.name = name;
  problem.dimensions = {{"m"}, {"n"}};
  std::string names, types, maps, arguments;
  for (const std::string &input : inputs) {
    problem.inputs.push_back({input, "m n"});
    names += (names.empty() ? "%" : ", %") + input;
    types += (types.empty() ? "$" : ", $") + input;
    maps += "affine_map<(i, j) -> (i, j)>, ";
    arguments += "%" + llvm::StringRef(input).lower() + ": $type, ";
  }
  problem.outputs = {{"R", "m n"}};
  problem.flops = std::move(flops);
  problem.body = "%R = linalg.generic {indexing_maps = [" + maps +
                 "affine_map<(i, j) -> (i, j)>],\n        iterator_types = "
                 "[\"parallel\", \"parallel\"]} ins(" +
                 names + " : " + types + ") outs(%R.empty : $R) {\n    ^bb0(" +
                 arguments + "%o: $type):" + body +
                 "\n      linalg.yield %r : $type\n    } -> $R";
  return problem;
}

std::vector<Problem> memoryProblems() {
  return {
      copy("copy1d", {{"n"}}, "n", "(i) -> (i)", "\"parallel\""),
      copy("copy2d", {{"m"}, {"n"}}, "m n", "(i, j) -> (i, j)",
           "\"parallel\", \"parallel\""),
      transpose("transpose2d", {{"m"}, {"n"}}, "m n", "n m", "1, 0"),
      transpose("transpose_021", {{"b"}, {"m"}, {"n"}}, "b m n", "b n m",
                "0, 2, 1"),
      transpose("transpose4d_0213", {{"a"}, {"b"}, {"c"}, {"d"}}, "a b c d",
                "a c b d", "0, 2, 1, 3"),
      elementwise("elementwise_add", {"A", "B"}, "m * n",
                  "\n      %r = $add %a, %b : $type"),
      elementwise("elementwise_chain", {"A", "B", "C"}, "3 * m * n", R"(
      %z = $sub %a, %a : $type
      %p = $mul %a, %b : $type
      %s = $add %p, %c : $type
      %r = $max %s, %z : $type)"),
      // x / 2 * (1 + erf(x / sqrt(2))).
      elementwise("elementwise_gelu", {"A"}, "5 * m * n", R"(
      %half = arith.constant 0.5 : $type
      %one = arith.constant 1.0 : $type
      %root = arith.constant 0.70710678118654752 : $type
      %x = arith.mulf %a, %root : $type
      %e = math.erf %x : $type
      %t = arith.addf %e, %one : $type
      %h = arith.mulf %a, %half : $type
      %r = arith.mulf %h, %t : $type)"),
      {.name = "row_reduction",
       .dimensions = {{"m"}, {"n", Reduction}},
       .inputs = {{"A", "m n"}},
       .outputs = {{"s", "m"}},
       .flops = "m * n",
       .body = "%s = linalg.reduce {$add} ins(%A : $A) outs(%s.zero : $s) "
               "dimensions = [1]"},
      {.name = "column_reduction",
       .dimensions = {{"m", Reduction}, {"n"}},
       .inputs = {{"A", "m n"}},
       .outputs = {{"s", "n"}},
       .flops = "m * n",
       .body = "%s = linalg.reduce {$add} ins(%A : $A) outs(%s.zero : $s) "
               "dimensions = [0]"},
      {.name = "reduction1d",
       .dimensions = {{"n", Reduction}},
       .inputs = {{"A", "n"}},
       .outputs = {{"s", ""}},
       .flops = "n",
       .body = "%s = linalg.reduce {$add} ins(%A : $A) outs(%s.zero : $s) "
               "dimensions = [0]"},
  };
}

} // namespace attune
