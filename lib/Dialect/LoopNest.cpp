//===----------------------------------------------------------------------===//
// Part of Attune, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoopNest.h"

#include "attune/Dialect/Classify.h"

#include "mlir/IR/AffineExpr.h"

using namespace mlir;
using namespace attune;

LoopNest attune::loopNestOf(linalg::LinalgOp op) {
  LoopNest nest;
  nest.extents = loopExtents(op);
  nest.iterators = op.getIteratorTypesArray();
  nest.maps = op.getIndexingMapsArray();
  nest.original = llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
  return nest;
}

LoopNest attune::withoutUnitLoops(linalg::LinalgOp op) {
  LoopNest all = loopNestOf(op), nest;
  MLIRContext *context = op.getContext();
  SmallVector<AffineExpr> replacements;
  for (auto [loop, extent] : llvm::enumerate(all.extents)) {
    if (extent == 1) {
      replacements.push_back(getAffineConstantExpr(0, context));
      continue;
    }
    replacements.push_back(getAffineDimExpr(nest.extents.size(), context));
    nest.extents.push_back(extent);
    nest.iterators.push_back(all.iterators[loop]);
    nest.original.push_back(loop);
  }
  for (auto [map, operand] : llvm::zip_equal(all.maps, op->getOpOperands())) {
    SmallVector<AffineExpr> results;
    auto type = dyn_cast<ShapedType>(operand.get().getType());
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      AffineExpr changed = simplifyAffineExpr(expr.replaceDims(replacements),
                                              nest.extents.size(), 0);
      if (type && type.getDimSize(dim) == 1 && isa<AffineConstantExpr>(changed))
        continue;
      results.push_back(changed);
    }
    nest.maps.push_back(
        AffineMap::get(nest.extents.size(), 0, results, context));
  }
  return nest;
}

static bool addTerms(AffineExpr expr, int64_t factor, LinearTerms &sum) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    sum.terms.emplace_back(dim.getPosition(), factor);
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    sum.constant += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), factor, sum) &&
           addTerms(binary.getRHS(), factor, sum);
  auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Mul && constant &&
         addTerms(binary.getLHS(), factor * constant.getValue(), sum);
}

std::optional<LinearTerms> attune::linearTerms(AffineExpr expr) {
  LinearTerms sum;
  if (!addTerms(expr, 1, sum))
    return std::nullopt;
  return sum;
}

namespace {

/// Finds for each loop of a pattern the one that plays its part.
class Unifier {
public:
  Unifier(const LoopNest &pattern, const LoopNest &found,
          llvm::function_ref<bool(int64_t, int64_t)> admits)
      : loops(pattern.extents.size(), -1), pattern(pattern), found(found),
        admits(admits), taken(found.extents.size(), false) {}

  bool run(ArrayRef<unsigned> operands) {
    if (pattern.extents.size() != found.extents.size() ||
        operands.size() != pattern.maps.size())
      return false;
    // Plain subscripts first: they leave no choice.
    for (bool plain : {true, false})
      for (auto [map, number] : llvm::zip_equal(pattern.maps, operands)) {
        AffineMap other = found.maps[number];
        if (map.getNumResults() != other.getNumResults())
          return false;
        for (auto [a, b] :
             llvm::zip_equal(map.getResults(), other.getResults()))
          if (isa<AffineDimExpr>(a) == plain && !unify(a, b))
            return false;
      }
    return !llvm::is_contained(loops, -1);
  }

  SmallVector<int64_t> loops;

private:
  bool bind(unsigned loop, unsigned other) {
    if (loops[loop] >= 0)
      return loops[loop] == other;
    if (taken[other] || pattern.iterators[loop] != found.iterators[other] ||
        !admits(pattern.extents[loop], found.extents[other]))
      return false;
    loops[loop] = other;
    taken[other] = true;
    return true;
  }

  /// A term of `b` for one of `a`: the one that is bound, else the first that
  /// fits.
  bool unifyTerm(std::pair<unsigned, int64_t> term,
                 SmallVectorImpl<std::pair<unsigned, int64_t>> &others) {
    for (auto *other = others.begin(); other != others.end(); ++other) {
      bool isBound = loops[term.first] >= 0;
      if (other->second != term.second ||
          (isBound && loops[term.first] != other->first) ||
          !bind(term.first, other->first))
        continue;
      others.erase(other);
      return true;
    }
    return false;
  }

  bool unify(AffineExpr a, AffineExpr b) {
    auto termsA = linearTerms(a), termsB = linearTerms(b);
    if (!termsA || !termsB)
      return unifyOther(a, b);
    if (termsA->constant != termsB->constant ||
        termsA->terms.size() != termsB->terms.size())
      return false;
    llvm::stable_sort(termsA->terms, [&](auto &first, auto &second) {
      return (loops[first.first] >= 0) > (loops[second.first] >= 0);
    });
    return llvm::all_of(termsA->terms, [&](auto term) {
      return unifyTerm(term, termsB->terms);
    });
  }

  /// Divisions and remainders, of loops that are known.
  bool unifyOther(AffineExpr a, AffineExpr b) {
    SmallVector<AffineExpr> replacements;
    for (int64_t loop : loops)
      replacements.push_back(
          getAffineDimExpr(std::max<int64_t>(0, loop), a.getContext()));
    bool known = true;
    a.walk([&](AffineExpr e) {
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        known &= loops[dim.getPosition()] >= 0;
    });
    return known && a.replaceDims(replacements) == b;
  }

  const LoopNest &pattern, &found;
  llvm::function_ref<bool(int64_t, int64_t)> admits;
  SmallVector<bool> taken;
};

} // namespace

bool attune::unifyLoops(const LoopNest &pattern, const LoopNest &found,
                        ArrayRef<unsigned> operands,
                        llvm::function_ref<bool(int64_t, int64_t)> admits,
                        SmallVectorImpl<int64_t> &loops) {
  Unifier unifier(pattern, found, admits);
  if (!unifier.run(operands))
    return false;
  loops.assign(unifier.loops.begin(), unifier.loops.end());
  return true;
}
