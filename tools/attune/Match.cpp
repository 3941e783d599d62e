//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "attune/Dialect/Attune.h"
#include "attune/Dialect/Match.h"
#include "attune/Dialect/Matcher.h"
#include "attune/Dispatch/RootOp.h"
#include "attune/Support/Error.h"
#include "attune/Support/Nesting.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace attune::cli {
namespace {

struct MatchFlags {
  std::string model, matchers;
  bool json = false;
};

/// One root op.
struct Root {
  std::string function, op, opClass, location;
  std::vector<int64_t> loops;
  std::vector<std::pair<std::string, std::vector<int64_t>>> dimensions;
  std::vector<std::string> matchers;
};

/// Any module of upstream's dialects, as it is.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> parse(mlir::MLIRContext &context,
                                                  StringRef path) {
  auto text = readFile(path);
  if (!text)
    return text.takeError();
  if (isNestedDeeper(*text, maxMlirDepth, Syntax::Mlir))
    return makeError("{0}: nested more than {1} deep", path, maxMlirDepth);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &said) {
    if (message.empty() &&
        said.getSeverity() == mlir::DiagnosticSeverity::Error)
      message = said.str();
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      *text, mlir::ParserConfig(&context), path);
  if (!module)
    return makeError("{0}: {1}", path, StringRef(message).split('\n').first);
  return std::move(module);
}

void addDimensions(mlir::linalg::LinalgOp op, Root &root) {
  SmallVector<int64_t> extents = loopExtents(op);
  auto add = [&](StringRef name, ArrayRef<unsigned> loops) {
    auto &sizes =
        root.dimensions.emplace_back(name.str(), std::vector<int64_t>()).second;
    for (unsigned loop : loops)
      sizes.push_back(extents[loop]);
  };
  if (auto dims = contractionDims(op)) {
    add("batch", dims->batch);
    add("m", dims->m);
    add("n", dims->n);
    add("k", dims->k);
  } else if (auto dims = convolutionDims(op)) {
    add("batch", dims->batch);
    add("outputImage", dims->outputImage);
    add("outputChannel", dims->outputChannel);
    add("window", dims->window);
    add("inputChannel", dims->inputChannel);
    add("depth", dims->depth);
    root.dimensions.emplace_back(
        "strides",
        std::vector<int64_t>(dims->strides.begin(), dims->strides.end()));
    root.dimensions.emplace_back(
        "dilations",
        std::vector<int64_t>(dims->dilations.begin(), dims->dilations.end()));
  }
}

std::string placeOf(mlir::Location location) {
  auto place = location->findInstanceOf<mlir::FileLineColLoc>();
  return place ? (place.getFilename().getValue() + ":" + Twine(place.getLine()))
                     .str()
               : "";
}

Root describe(mlir::func::FuncOp func, mlir::Operation *op,
              ArrayRef<Matcher> matchers) {
  Root root;
  root.function = func.getName().str();
  root.op = op->getName().getStringRef().str();
  root.opClass = toString(classify(op)).str();
  root.location = placeOf(op->getLoc());
  if (auto linalgOp = dyn_cast<mlir::linalg::LinalgOp>(op)) {
    SmallVector<int64_t> extents = loopExtents(linalgOp);
    root.loops.assign(extents.begin(), extents.end());
    addDimensions(linalgOp, root);
  }
  for (const Matcher &matcher : matchers)
    if (matcher.takes(op))
      root.matchers.push_back(matcher.getName());
  return root;
}

json::Object toJSON(const Root &root) {
  json::Object dimensions;
  for (const auto &[name, sizes] : root.dimensions)
    dimensions[name] = json::Array(sizes);
  return json::Object{{"function", root.function},
                      {"op", root.op},
                      {"class", root.opClass},
                      {"location", root.location},
                      {"loops", json::Array(root.loops)},
                      {"dimensions", std::move(dimensions)},
                      {"matchers", json::Array(root.matchers)}};
}

std::string sizesText(ArrayRef<int64_t> sizes) {
  return join(map_range(sizes,
                        [](int64_t size) {
                          return size < 0 ? "?" : std::to_string(size);
                        }),
              "x");
}

void print(const Root &root) {
  outs() << root.location << ": " << root.opClass << ' '
         << sizesText(root.loops) << " in @" << root.function;
  for (const auto &[name, sizes] : root.dimensions)
    if (!sizes.empty())
      outs() << ", " << name << " " << sizesText(sizes);
  for (const std::string &name : root.matchers)
    outs() << ", @" << name;
  outs() << '\n';
}

Error match(const MatchFlags &flags) {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = parse(context, flags.model);
  if (!module)
    return module.takeError();
  std::vector<Matcher> matchers;
  if (!flags.matchers.empty()) {
    auto text = readFile(flags.matchers);
    if (!text)
      return text.takeError();
    auto parsed = parseMatchers(context, *text, flags.matchers);
    if (!parsed)
      return parsed.takeError();
    matchers = std::move(*parsed);
  }
  json::Array rows;
  for (auto func : (*module)->getOps<mlir::func::FuncOp>())
    for (mlir::Operation *op : findRootOps(func)) {
      Root root = describe(func, op, matchers);
      if (flags.json)
        rows.push_back(toJSON(root));
      else
        print(root);
    }
  if (flags.json)
    outs() << json::Value(
                  json::Object{{"version", 1}, {"roots", std::move(rows)}})
           << '\n';
  return Error::success();
}

} // namespace

void addMatch(CLI::App &app, Action &chosen) {
  auto *command = app.add_subcommand(
      "match",
      "the root ops of a program, their dimensions, and which matchers "
      "take them\n"
      "  attune match model.mlir --matchers=matchers.mlir");
  auto flags = std::make_shared<MatchFlags>();
  command->add_option("MODEL", flags->model, "MLIR, as it is")->required();
  command->add_option("--matchers", flags->matchers,
                      "a module with named sequences of match ops");
  command->add_flag("--json", flags->json, "results as JSON on stdout");
  command->callback(
      [&chosen, flags] { chosen = [flags] { return match(*flags); }; });
}

} // namespace attune::cli
