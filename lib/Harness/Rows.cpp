//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Problems over whole rows: softmax, norms, attention.

#include "Shipped.h"

namespace attune {

using Dimension = ProblemDimension;
static constexpr auto Reduction = Dimension::Kind::Reduction;

/// A sum along rows of `%name` into the temporary `$sum`.
static std::string rowSum(std::string sum, std::string name) {
  return "\n    %" + sum + " = linalg.reduce {arith.addf} ins(%" + name +
         " : $X) outs(%" + sum + ".zero : $" + sum + ") dimensions = [1]";
}

/// A generic over rows and columns; `rows` are values with one element a row,
/// `columns` with one a column.
static std::string overRows(std::string result, std::string wide,
                            std::vector<std::string> rows,
                            std::vector<std::string> columns,
                            std::string body) {
  std::string maps = "affine_map<(i, j) -> (i, j)>", names = "%" + wide,
              types = "$X", arguments = "%x: $type";
  for (const auto *list : {&rows, &columns})
    for (const std::string &name : *list) {
      maps += list == &rows ? ", affine_map<(i, j) -> (i)>"
                            : ", affine_map<(i, j) -> (j)>";
      names += ", %" + name;
      types += ", $" + name;
      arguments += ", %in_" + name + ": $type";
    }
  return "\n    %" + result + " = linalg.generic {indexing_maps = [" + maps +
         ", affine_map<(i, j) -> (i, j)>],\n        iterator_types = "
         "[\"parallel\", \"parallel\"]} ins(" +
         names + " : " + types + ") outs(%Y.empty : $Y) {\n    ^bb0(" +
         arguments + ", %o: $type):" + body +
         "\n      linalg.yield %r : $type\n    } -> $Y";
}

/// The number of columns as a float, %count.
static constexpr const char *columnCount = R"(
    %count_i = arith.index_cast %n.size : index to i64
    %count = arith.sitofp %count_i : i64 to $type
    %epsilon = arith.constant 1.0e-5 : $type)";

static Problem layerNorm() {
  Problem problem;
  problem.name = "layernorm";
  problem.dimensions = {{"m"}, {"n", Reduction}};
  problem.inputs = {{"X", "m n"}, {"scale", "n"}, {"shift", "n"}};
  problem.outputs = {{"Y", "m n"}};
  problem.temporaries = {{"sum", "m"}, {"squares", "m"}};
  problem.flops = "8 * m * n";
  problem.body = columnCount + rowSum("sum", "X") +
                 overRows("centred", "X", {"sum"}, {}, R"(
      %mean = arith.divf %in_sum, %count : $type
      %r = arith.subf %x, %mean : $type)") +
                 overRows("squared", "centred", {}, {}, R"(
      %r = arith.mulf %x, %x : $type)") +
                 rowSum("squares", "squared") +
                 overRows("Y", "centred", {"squares"}, {"scale", "shift"}, R"(
      %variance = arith.divf %in_squares, %count : $type
      %v = arith.addf %variance, %epsilon : $type
      %d = math.rsqrt %v : $type
      %a = arith.mulf %x, %d : $type
      %b = arith.mulf %a, %in_scale : $type
      %r = arith.addf %b, %in_shift : $type)");
  return problem;
}

static Problem rmsNorm() {
  Problem problem;
  problem.name = "rmsnorm";
  problem.dimensions = {{"m"}, {"n", Reduction}};
  problem.inputs = {{"X", "m n"}, {"scale", "n"}};
  problem.outputs = {{"Y", "m n"}};
  problem.temporaries = {{"squares", "m"}};
  problem.flops = "4 * m * n";
  problem.body = columnCount + overRows("squared", "X", {}, {}, R"(
      %r = arith.mulf %x, %x : $type)") +
                 rowSum("squares", "squared") +
                 overRows("Y", "X", {"squares"}, {"scale"}, R"(
      %mean = arith.divf %in_squares, %count : $type
      %v = arith.addf %mean, %epsilon : $type
      %d = math.rsqrt %v : $type
      %a = arith.mulf %x, %d : $type
      %r = arith.mulf %a, %in_scale : $type)");
  return problem;
}

/// softmax(Q K^T / sqrt(head_dim)) V; `mask` makes %r of a score %s.
static Problem attention(const char *name, const char *mask,
                         std::vector<ProblemTensor> more) {
  Problem problem;
  problem.name = name;
  problem.dimensions = {
      {"batch"}, {"heads"}, {"q_len"}, {"kv_len", Reduction}, {"head_dim"}};
  problem.inputs = {{"Q", "batch heads q_len head_dim"},
                    {"K", "batch heads kv_len head_dim"},
                    {"V", "batch heads kv_len head_dim"}};
  problem.outputs = {{"O", "batch heads q_len head_dim"}};
  problem.temporaries = {{"S", "batch heads q_len kv_len"}};
  problem.flops = "4 * batch * heads * q_len * kv_len * head_dim + "
                  "5 * batch * heads * q_len * kv_len";
  std::string scores = "affine_map<(b, h, q, k) -> (b, h, q, k)>";
  std::string maskMaps, maskNames, maskTypes, maskArguments;
  for (const ProblemTensor &tensor : more) {
    problem.inputs.push_back(tensor);
    maskMaps += "affine_map<(b, h, q, k) -> (b, q, k)>, ";
    maskNames += ", %" + tensor.name;
    maskTypes += ", $" + tensor.name;
    maskArguments += "%in_" + tensor.name + ": $type, ";
  }
  problem.body = R"(
    %dim_i = arith.index_cast %head_dim.size : index to i64
    %dim = arith.sitofp %dim_i : i64 to $type
    %scale = math.rsqrt %dim : $type
    %products = linalg.generic {indexing_maps = [affine_map<(b, h, q, k, d) -> (b, h, q, d)>,
        affine_map<(b, h, q, k, d) -> (b, h, k, d)>, affine_map<(b, h, q, k, d) -> (b, h, q, k)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%Q, %K : $Q, $K) outs(%S.zero : $S) {
    ^bb0(%q: $type, %k: $type, %o: $type):
      %p = arith.mulf %q, %k : $type
      %r = arith.addf %o, %p : $type
      linalg.yield %r : $type
    } -> $S
    %scaled = linalg.generic {indexing_maps = [)" +
                 scores + ", " + maskMaps + scores + R"(],
        iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
        ins(%products)" +
                 maskNames + " : $S" + maskTypes + R"() outs(%S.empty : $S) {
    ^bb0(%p: $type, )" +
                 maskArguments + R"(%o: $type):
      %s = arith.mulf %p, %scale : $type)" +
                 mask + R"(
      linalg.yield %r : $type
    } -> $S
    %weights = linalg.softmax dimension(3) ins(%scaled : $S) outs(%S.empty : $S) -> $S
    %O = linalg.generic {indexing_maps = [affine_map<(b, h, q, d, k) -> (b, h, q, k)>,
        affine_map<(b, h, q, d, k) -> (b, h, k, d)>, affine_map<(b, h, q, d, k) -> (b, h, q, d)>],
        iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
        ins(%weights, %V : $S, $V) outs(%O.zero : $O) {
    ^bb0(%w: $type, %v: $type, %o: $type):
      %p = arith.mulf %w, %v : $type
      %r = arith.addf %o, %p : $type
      linalg.yield %r : $type
    } -> $O)";
  return problem;
}

std::vector<Problem> rowProblems() {
  return {
      {.name = "softmax",
       .dimensions = {{"m"}, {"n", Reduction}},
       .inputs = {{"X", "m n"}},
       .outputs = {{"Y", "m n"}},
       .flops = "5 * m * n",
       .body = "%Y = linalg.softmax dimension(1) ins(%X : $X) "
               "outs(%Y.empty : $Y) -> $Y"},
      layerNorm(),
      rmsNorm(),
      attention("attention", R"(
      %nothing = arith.constant -0.0 : $type
      %r = arith.addf %s, %nothing : $type)",
                {}),
      // A query sees the keys up to its own place, counted from the end.
      attention("attention_causal", R"(
      %q = linalg.index 2 : index
      %k = linalg.index 3 : index
      %ahead = arith.subi %kv_len.size, %q_len.size : index
      %last = arith.addi %q, %ahead : index
      %seen = arith.cmpi sle, %k, %last : index
      %hidden = arith.constant -1.0e30 : $type
      %r = arith.select %seen, %s, %hidden : $type)",
                {}),
      attention("attention_mask", R"(
      %r = arith.addf %s, %in_mask : $type)",
                {{"mask", "batch q_len kv_len"}}),
  };
}

} // namespace attune
