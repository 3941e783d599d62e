//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The valid configurations of one group as a decision diagram: one layer for
// each variable, one node for each different state (what the values chosen so
// far mean for the rest), edges for values, and at each node the number of ways
// to go on. Its size is that of the structure of the constraints, not that of
// the space.

#ifndef ATTUNE_LIB_SPACE_DIAGRAM_H
#define ATTUNE_LIB_SPACE_DIAGRAM_H

#include "Propagate.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attune {

using Count = unsigned __int128;

class Diagram {
public:
  /// Errors: a configuration for which no constraint is false and one divides
  /// by zero or overflows (which, and for what values); too many states.
  static llvm::Expected<Diagram> build(llvm::ArrayRef<Knob> knobs,
                                       llvm::ArrayRef<KnobVariable> variables,
                                       const Group &group);

  /// Of listed rows: one number for each of `width` variables. Equal ends of
  /// rows share their nodes.
  static Diagram table(size_t width, std::vector<std::vector<uint64_t>> rows);

  /// Exact up to 2^128-1; more is an error of `build`.
  Count count() const { return root == dead ? 0 : nodes[root].count; }
  llvm::ArrayRef<int> getOrder() const { return order; }
  size_t nodeCount() const { return nodes.size(); }
  size_t edgeCount() const { return edges.size(); }

  /// `chosen` has one entry for each knob of the space: the number of its value
  /// in its domain. These read or write the entries of the group's variables.
  void at(Count index, std::vector<uint64_t> &chosen) const;
  std::optional<Count> indexOf(llvm::ArrayRef<uint64_t> chosen) const;

  /// Calls `visit` with every value other than the chosen one of a variable for
  /// which the rest of `chosen` stays valid; `chosen` itself must be valid.
  void forEachNeighbour(
      llvm::ArrayRef<uint64_t> chosen,
      llvm::function_ref<void(int variable, uint64_t value)> visit) const;

  /// Writes the valid values of least total cost; ties go to the earlier path
  /// found, always the same. `cost` is not negative, infinite to forbid.
  /// Returns the cost; infinity (and nothing written) if all are forbidden.
  double nearest(llvm::function_ref<double(int variable, uint64_t value)> cost,
                 std::vector<uint64_t> &chosen) const;

private:
  friend class DiagramBuilder;
  friend class TableBuilder;
  struct Edge {
    uint32_t value; ///< Number in the domain of the variable; ascending.
    uint32_t child; ///< Ignored in the last layer.
  };
  struct Node {
    Count count;
    uint32_t firstEdge, edgeCount;
  };
  static constexpr uint32_t dead = UINT32_MAX;
  static constexpr uint32_t terminal = 0; ///< nodes[0]: nothing left to choose.

  llvm::ArrayRef<Edge> edgesOf(uint32_t node) const {
    return llvm::ArrayRef(edges).slice(nodes[node].firstEdge,
                                       nodes[node].edgeCount);
  }
  /// The child that `value` leads to, or `dead`.
  uint32_t follow(uint32_t node, uint64_t value) const;

  std::vector<int> order;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  uint32_t root = dead;
};

} // namespace attune

#endif // ATTUNE_LIB_SPACE_DIAGRAM_H
