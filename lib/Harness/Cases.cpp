//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// The problems by name, and tables of sizes.

#include "Shipped.h"

#include "attune/Support/Error.h"
#include "attune/Support/Files.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attune {

const std::vector<Problem> &shippedProblems() {
  static const std::vector<Problem> problems = [] {
    std::vector<Problem> all;
    for (auto &&part : {contractionProblems(), convolutionProblems(),
                        memoryProblems(), rowProblems()})
      append_range(all, part);
    return all;
  }();
  return problems;
}

static const Problem *findShipped(StringRef name) {
  auto found = find_if(shippedProblems(), [&](const Problem &problem) {
    return problem.name == name;
  });
  return found == shippedProblems().end() ? nullptr : &*found;
}

Expected<Problem> findProblem(StringRef name) {
  if (const Problem *problem = findShipped(name))
    return *problem;
  return makeError("there is no problem '{0}'; there are {1}", name,
                   join(map_range(shippedProblems(),
                                  [](const Problem &p) { return p.name; }),
                        ", "));
}

namespace {

/// One row of a table, by the names of its columns.
struct Row {
  std::string problem, label;
  std::vector<int64_t> shape;
  ProblemSizes columns;
};

} // namespace

static Expected<Row> readRow(ArrayRef<StringRef> header,
                             ArrayRef<StringRef> cells) {
  Row row;
  if (cells.size() != header.size())
    return makeError("{0} columns where the first line has {1}", cells.size(),
                     header.size());
  for (auto [column, cell] : zip_equal(header, cells)) {
    if (column == "name") {
      row.label = cell.str();
    } else if (column == "op") {
      row.problem = cell.str();
    } else if (column == "shape") {
      for (StringRef part : split(cell, 'x')) {
        int64_t size;
        if (part.getAsInteger(10, size))
          return makeError("'{0}' is no shape, as 128x64 is", cell);
        row.shape.push_back(size);
      }
    } else {
      int64_t size;
      if (cell.getAsInteger(10, size))
        return makeError("column {0}: '{1}' is no number", column, cell);
      row.columns.push_back({column.str(), size});
    }
  }
  return row;
}

static bool hasDimension(const Problem &problem, StringRef name) {
  return any_of(problem.dimensions, [&](const ProblemDimension &dimension) {
    return dimension.name == name;
  });
}

/// `transpose` of a shape of two sizes is `transpose2d`; `attention` with
/// `causal` is `attention_causal`.
static Expected<Problem> chooseProblem(const Row &row, StringRef wanted) {
  std::string name = row.problem.empty() ? wanted.str() : row.problem;
  if (!findShipped(name) && !row.shape.empty())
    if (std::string ranked = name + std::to_string(row.shape.size()) + "d";
        findShipped(ranked))
      name = ranked;
  auto problem = findProblem(name);
  if (!problem)
    return problem.takeError();
  for (const auto &[column, value] : row.columns)
    if (!hasDimension(*problem, column) && value == 1)
      return findProblem(name + "_" + column);
  return problem;
}

static Expected<ProblemCase> makeCase(const Row &row, StringRef wanted,
                                      int64_t dynamicSize) {
  auto problem = chooseProblem(row, wanted);
  if (!problem)
    return problem.takeError();
  ProblemCase result{std::move(*problem), {}, {}, row.label};
  ProblemSizes sizes = row.columns;
  size_t next = 0;
  for (const ProblemDimension &dimension : result.problem.dimensions)
    if (dimension.expression.empty() && next < row.shape.size())
      sizes.push_back({dimension.name, row.shape[next++]});
  if (next < row.shape.size())
    return makeError("problem '{0}' has {1} dimensions, not {2}",
                     result.problem.name, next, row.shape.size());
  for (const auto &[name, size] : sizes) {
    if (!hasDimension(result.problem, name)) {
      if (size == 0 || result.problem.name.ends_with("_" + name))
        continue;
      return makeError("problem '{0}' has no dimension '{1}'",
                       result.problem.name, name);
    }
    if (size == -1)
      result.dynamic.push_back(name);
    result.sizes.push_back({name, size == -1 ? dynamicSize : size});
  }
  auto resolved = resolveSizes(result.problem, result.sizes);
  if (!resolved)
    return resolved.takeError();
  return result;
}

Expected<std::vector<ProblemCase>>
readProblemCases(StringRef path, StringRef problem, int64_t dynamicSize) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  SmallVector<StringRef> lines, header;
  StringRef(*text).split(lines, '\n');
  std::vector<ProblemCase> cases;
  for (auto [index, line] : enumerate(lines)) {
    SmallVector<StringRef> cells;
    line.trim().split(cells, ',');
    for (StringRef &cell : cells)
      cell = cell.trim();
    if (line.trim().empty())
      continue;
    if (header.empty()) {
      header = cells;
      continue;
    }
    auto row = readRow(header, cells);
    if (!row)
      return makeError("{0}:{1}: {2}", path, index + 1,
                       toString(row.takeError()));
    auto made = makeCase(*row, problem, dynamicSize);
    if (!made)
      return makeError("{0}:{1}: {2}", path, index + 1,
                       toString(made.takeError()));
    cases.push_back(std::move(*made));
  }
  if (cases.empty())
    return makeError("{0}: there are no sizes in it", path);
  return cases;
}

} // namespace attune
