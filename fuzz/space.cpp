//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Spaces as JSON, and the expressions of constraints. What begins with a brace
// is a space, anything else an expression.

#include "Fuzz.h"
#include "attune/Space/FromJSON.h"
#include "attune/Space/Listing.h"

using namespace attune;
using namespace attune::fuzz;

static void checkExpression(llvm::StringRef text) {
  std::optional<Expression> expression = accept(Expression::parse(text));
  if (!expression)
    return;
  std::string written = expression->str();
  // Euclidean division can be written and not read; no text makes one.
  Expression again = mustWork(Expression::parse(written), written);
  require(again.str() == written, "an expression changes: " + written);
  for (int64_t value : {int64_t(0), int64_t(3), INT64_MIN}) {
    auto lookup = [&](llvm::StringRef) { return std::optional(value); };
    std::optional<int64_t> first = accept(expression->evaluate(lookup));
    require(accept(again.evaluate(lookup)) == first,
            "another value: " + written);
  }
}

static void checkSpace(llvm::StringRef text) {
  std::optional<Space> space = accept(parseSpace(text, "space.json"));
  if (!space)
    return;
  require(space->count() > 0, "an empty space is an error");
  std::string listed;
  llvm::raw_string_ostream out(listed);
  describeSpace(*space, out);
  listSpace(*space, 3, out);
  out << toJSON(*space);
  for (const Configuration &configuration : sampleDistinct(*space, 3, 1)) {
    require(space->contains(configuration),
            "a sample that is not in the space");
    std::optional<uint64_t> index = space->indexOf(configuration);
    require(!index || space->at(*index).values == configuration.values,
            "a configuration has another number");
    auto codes = space->encode(configuration);
    require(codes && space->decode(*codes).values == configuration.values,
            "a configuration changes by being encoded");
    require(space->nearest(configuration).values == configuration.values,
            "something else is nearer to a configuration than itself");
    for (const Configuration &other : space->neighbours(configuration))
      require(space->contains(other), "a neighbour that is not in the space");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text = textOf(data, size);
  if (text.starts_with("{"))
    checkSpace(text);
  else
    checkExpression(text);
  return 0;
}
