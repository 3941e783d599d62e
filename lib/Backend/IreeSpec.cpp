//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Tuning specs of upstream match ops, and whether they arrived.

#include "IreeRoots.h"
#include "IreeText.h"

#include "attune/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attune::iree {

static std::string dimsOf(const RootOp &root, char kind) {
  std::vector<std::string> sizes;
  for (auto [size, one] : zip_equal(root.sizes, root.kinds)) {
    if (one != kind)
      continue;
    if (size < 0) // Matched whatever it is.
      return "";
    sizes.push_back(std::to_string(size));
  }
  return "[" + join(sizes, ", ") + "]";
}

static void matchContraction(raw_ostream &out, const RootOp &root) {
  auto element = [&](size_t operand) {
    return parseShape(root.operandTypes[operand])->second;
  };
  out << "    %batch, %m, %n, %k = transform.iree.match.contraction %op, "
      << "lhs_type = " << element(0) << ", rhs_type = " << element(1)
      << ", output_type = " << element(2) << ",\n      indexing_maps = ["
      << join(root.maps, ", ")
      << "]\n      : !transform.any_op -> !transform.param<i64>\n";
  for (auto [kind, name] :
       {std::pair('b', "batch"), {'m', "m"}, {'n', "n"}, {'k', "k"}})
    if (std::string sizes = dimsOf(root, kind); !sizes.empty())
      out << "    transform.iree.match.dims_equal %" << name << ", " << sizes
          << " : !transform.param<i64>\n";
}

static void matchNumber(raw_ostream &out, StringRef what, size_t number) {
  out << "      %" << what << " = transform.match.structured." << what
      << " %linalg : (!transform.any_op) -> !transform.param<i64>\n      %"
      << what << "_wanted = transform.param.constant " << number
      << " : i64 -> !transform.param<i64>\n"
      << "      transform.match.param.cmpi eq %" << what << ", %" << what
      << "_wanted : !transform.param<i64>\n";
}

/// Name, loops, inputs and the types of all operands.
static void matchByTypes(raw_ostream &out, const RootOp &root) {
  out << "    transform.match.operation_name %op [\"" << root.opName
      << "\"] : !transform.any_op\n";
  if (root.opName == "linalg.generic") {
    out << "    %same = transform.match.structured failures(propagate) %op : "
           "(!transform.any_op) -> !transform.any_op {\n"
           "    ^bb0(%linalg: !transform.any_op):\n";
    matchNumber(out, "rank", root.sizes.size());
    matchNumber(out, "num_inputs", root.inputCount);
    out << "      transform.match.structured.yield %linalg : "
           "!transform.any_op\n    }\n";
  }
  for (auto [number, type] : enumerate(root.operandTypes))
    if (StringRef(type).starts_with("tensor<"))
      out << "    %operand" << number << " = transform.get_operand %op["
          << number << "] : (!transform.any_op) -> !transform.any_value\n"
          << "    transform.iree.match.cast_compatible_type %operand" << number
          << " = " << type << " : !transform.any_value\n";
}

static void printMatcher(raw_ostream &out, size_t number, const SpecRow &row) {
  const RootOp &root = *row.root;
  out << "  transform.named_sequence @match_" << number
      << "(%op: !transform.any_op {transform.readonly}) -> "
         "(!transform.any_op, !transform.any_param) {\n"
      << "    // In " << join(root.dispatches, ", ") << "\n";
  root.isContraction() ? matchContraction(out, root) : matchByTypes(out, root);
  out << "    %config = transform.param.constant "
         "#iree_codegen.compilation_info<\n      lowering_config = "
      << row.loweringConfig << ",\n      translation_info = " << row.translation
      << "> -> !transform.any_param\n"
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

std::string nestSpecs(StringRef first, StringRef second) {
  return ("module @linked attributes {transform.with_named_sequence} {\n" +
          first + "\n" + second + "\n}\n")
      .str();
}

std::string explainMissing(ArrayRef<SpecRow> rows,
                           ArrayRef<std::string> dumps) {
  std::vector<RootOp> found;
  for (const std::string &dump : dumps)
    findRoots(dump, found);
  for (const SpecRow &row : rows) {
    size_t hits = 0, wanted = row.root->dispatches.size();
    for (const RootOp &root : found)
      if (root.key() == row.root->key())
        hits += count(root.configs, row.loweringConfig);
    if (hits != wanted)
      return formatv("the configuration arrived in {0} of {1} dispatches with "
                     "{2} {3}",
                     hits, wanted, row.root->rootOp, row.root->shapes())
          .str();
  }
  return "";
}

} // namespace attune::iree
