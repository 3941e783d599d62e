//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Diagram.h"

#include "StateTable.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>
#include <queue>

using namespace attune;

namespace attune {
/// Builds a diagram from sorted rows, bottom up.
class TableBuilder {
public:
  TableBuilder(Diagram &diagram, llvm::ArrayRef<std::vector<uint64_t>> rows)
      : diagram(diagram), rows(rows) {}

  /// The node for rows begin .. end-1, which agree in the columns before.
  uint32_t build(size_t begin, size_t end, size_t column) {
    if (column == diagram.order.size())
      return Diagram::terminal;
    std::vector<int64_t> key; // Values and children.
    while (begin < end) {
      size_t next = begin + 1;
      while (next < end && rows[next][column] == rows[begin][column])
        ++next;
      key.push_back(rows[begin][column]);
      key.push_back(build(begin, next, column + 1));
      begin = next;
    }
    auto [known, slot] = nodes.find(key);
    if (known)
      return *known;
    Diagram::Node node{0, uint32_t(diagram.edges.size()),
                       uint32_t(key.size() / 2)};
    for (size_t i = 0; i < key.size(); i += 2) {
      diagram.edges.push_back({uint32_t(key[i]), uint32_t(key[i + 1])});
      node.count += diagram.nodes[key[i + 1]].count;
    }
    diagram.nodes.push_back(node);
    nodes.set(slot, diagram.nodes.size() - 1);
    return diagram.nodes.size() - 1;
  }

private:
  Diagram &diagram;
  llvm::ArrayRef<std::vector<uint64_t>> rows;
  StateTable nodes;
};
} // namespace attune

Diagram Diagram::table(size_t width, std::vector<std::vector<uint64_t>> rows) {
  Diagram diagram;
  for (size_t i = 0; i < width; ++i)
    diagram.order.push_back(i);
  diagram.nodes.push_back({1, 0, 0}); // The terminal.
  llvm::sort(rows);
  rows.erase(llvm::unique(rows), rows.end());
  if (!rows.empty())
    diagram.root = TableBuilder(diagram, rows).build(0, rows.size(), 0);
  return diagram;
}

void Diagram::at(Count index, std::vector<uint64_t> &chosen) const {
  uint32_t node = root;
  for (int variable : order) {
    for (const Edge &edge : edgesOf(node)) {
      Count below = nodes[edge.child].count;
      if (index >= below) {
        index -= below;
        continue;
      }
      chosen[variable] = edge.value;
      node = edge.child;
      break;
    }
  }
}

uint32_t Diagram::follow(uint32_t node, uint64_t value) const {
  llvm::ArrayRef<Edge> edges = edgesOf(node);
  const Edge *edge = llvm::partition_point(
      edges, [&](const Edge &e) { return e.value < value; });
  return edge != edges.end() && edge->value == value ? edge->child : dead;
}

std::optional<Count> Diagram::indexOf(llvm::ArrayRef<uint64_t> chosen) const {
  if (root == dead)
    return std::nullopt;
  Count index = 0;
  uint32_t node = root;
  for (int variable : order) {
    uint32_t child = follow(node, chosen[variable]);
    if (child == dead)
      return std::nullopt;
    for (const Edge &edge : edgesOf(node)) {
      if (edge.value == chosen[variable])
        break;
      index += nodes[edge.child].count;
    }
    node = child;
  }
  return index;
}

void Diagram::forEachNeighbour(
    llvm::ArrayRef<uint64_t> chosen,
    llvm::function_ref<void(int, uint64_t)> visit) const {
  uint32_t node = root;
  for (size_t layer = 0; layer < order.size(); ++layer) {
    for (const Edge &edge : edgesOf(node)) {
      if (edge.value == chosen[order[layer]])
        continue;
      uint32_t below = edge.child;
      for (size_t rest = layer + 1; rest < order.size() && below != dead;
           ++rest)
        below = follow(below, chosen[order[rest]]);
      if (below != dead)
        visit(order[layer], edge.value);
    }
    node = follow(node, chosen[order[layer]]);
  }
}

// Dijkstra's algorithm over the layers: an edge costs what its value costs, and
// the first time the end is reached is the cheapest way to it.
double Diagram::nearest(llvm::function_ref<double(int, uint64_t)> cost,
                        std::vector<uint64_t> &chosen) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (root == dead)
    return infinity;
  struct Step {
    double cost;
    uint32_t node, layer, from; ///< `from` is the step before this one.
    uint64_t value;
  };
  std::vector<Step> steps{{0, root, 0, 0, 0}};
  auto later = [&](uint32_t a, uint32_t b) {
    const Step &x = steps[a], &y = steps[b];
    // Of equally cheap ones the deeper is nearer to the end.
    return std::make_tuple(x.cost, ~x.layer, a) >
           std::make_tuple(y.cost, ~y.layer, b);
  };
  std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> open(
      later);
  open.push(0);
  std::vector<bool> done(nodes.size());
  // What each value of each layer costs, by the number of the value.
  std::vector<std::vector<double>> costs(order.size());
  auto costOf = [&](uint32_t layer, uint32_t value) {
    std::vector<double> &known = costs[layer];
    if (value >= known.size())
      known.resize(value + 1, -1);
    if (known[value] < 0)
      known[value] = cost(order[layer], value);
    return known[value];
  };
  while (!open.empty()) {
    uint32_t current = open.top();
    open.pop();
    Step step = steps[current];
    if (step.layer == order.size()) {
      for (uint32_t at = current; steps[at].layer > 0; at = steps[at].from)
        chosen[order[steps[at].layer - 1]] = steps[at].value;
      return step.cost;
    }
    if (done[step.node])
      continue;
    done[step.node] = true;
    for (const Edge &edge : edgesOf(step.node)) {
      double total = step.cost + costOf(step.layer, edge.value);
      bool isLast = step.layer + 1 == order.size();
      if (total == infinity || (!isLast && done[edge.child]))
        continue;
      steps.push_back({total, edge.child, step.layer + 1, current, edge.value});
      open.push(steps.size() - 1);
    }
  }
  return infinity;
}
