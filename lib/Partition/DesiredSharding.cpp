//===- DesiredSharding.cpp - how a value lies if users leave the choice ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/DesiredSharding.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::partition {

using nd::DimAttr;
using nd::Factor;
using nd::FactorEffect;
using nd::TensorType;
using spmd::AxisList;

TensorType getSharding(Attribute attribute) {
  auto type = dyn_cast_or_null<TypeAttr>(attribute);
  return type ? dyn_cast<TensorType>(type.getValue()) : TensorType();
}

/// The type with the dim cut over the longest beginning of `axes` that nothing
/// else of the type uses.
static TensorType cutWhereUnused(TensorType type, StringAttr dim,
                                 ArrayRef<StringAttr> axes) {
  AxisList used = spmd::getUsedAxes(type);
  ArrayRef<StringAttr> unused = axes.take_while(
      [&](StringAttr axis) { return !llvm::is_contained(used, axis); });
  return unused.empty() ? type : spmd::addAxes(type, dim.getValue(), unused);
}

void DesiredSharding::prefer(StringAttr dim, ArrayRef<StringAttr> axes) {
  if (!isOpen(dim))
    return;
  TensorType others = spmd::dropAxes(
      preferred, dim.getValue(), spmd::getAxesOf(preferred, dim.getValue()));
  if (TensorType wished = spmd::addAxes(others, dim.getValue(), axes))
    preferred = wished;
}

void DesiredSharding::prefer(TensorType wish) {
  if (wish)
    for (DimAttr dim : wish.getDims())
      if (!dim.getAxes().empty())
        prefer(dim.getName(), dim.getAxes());
}

/// Cuts placed dims by the axes of `made` that follow those of `type`.
TensorType DesiredSharding::cutFurther(TensorType settled,
                                       TensorType made) const {
  for (DimAttr dim : type.getDims()) {
    ArrayRef<StringAttr> axes = spmd::getAxesOf(made, dim.getName().getValue());
    settled = cutWhereUnused(settled, dim.getName(),
                             spmd::getAxesBehind(axes, dim.getAxes()));
  }
  return settled;
}

TensorType DesiredSharding::settle(TensorType made) const {
  TensorType settled = mayCutFurther ? cutFurther(type, made) : type;
  for (StringAttr dim : open)
    settled =
        cutWhereUnused(settled, dim, spmd::getAxesOf(made, dim.getValue()));
  for (StringAttr dim : open) {
    ArrayRef<StringAttr> wish = spmd::getAxesOf(preferred, dim.getValue());
    bool areSummed = llvm::all_of(wish, [&](StringAttr axis) {
      return llvm::is_contained(made.getPartialAxes(), axis);
    });
    if (areSummed && spmd::getAxesOf(settled, dim.getValue()).empty())
      settled = cutWhereUnused(settled, dim, wish);
  }
  return settled;
}

TensorType scatterSum(TensorType made, TensorType placed) {
  if (!made.isPartial() || made.getPartialKind() != nd::ReductionKind::Sum)
    return made;
  for (DimAttr wanted : placed.getDims()) {
    StringRef dim = wanted.getName().getValue();
    if (!made.hasDim(dim))
      continue;
    ArrayRef<StringAttr> before = spmd::getAxesOf(made, dim);
    AxisList summed = llvm::filter_to_vector(wanted.getAxes(), [&](auto axis) {
      return llvm::is_contained(made.getPartialAxes(), axis);
    });
    if (summed.empty())
      continue;
    TensorType rest = spmd::dropPartial(made, summed);
    bool staysCut = llvm::any_of(before, [&](StringAttr axis) {
      return !llvm::is_contained(wanted.getAxes(), axis);
    });
    TensorType scattered =
        staysCut ? spmd::addAxes(rest, dim, summed)
                 : spmd::addAxes(spmd::dropAxes(rest, dim, before), dim,
                                 wanted.getAxes());
    if (scattered)
      made = scattered;
  }
  // The sum of f32 parts of 16 bits ends.
  return made.isPartial() ? made
                          : made.withElementType(placed.getElementType());
}

std::optional<DesiredSharding> readDesired(OpResult result) {
  ArrayAttr shardings = nd::getShardings(result.getOwner()),
            open = nd::getOpenDims(result.getOwner());
  unsigned index = result.getResultNumber();
  TensorType type = nd::getTensorType(result);
  TensorType sharding =
      shardings ? getSharding(shardings[index]) : TensorType();
  if (!type || !sharding || sharding.getGlobal() != type.getGlobal())
    return std::nullopt;
  return DesiredSharding(sharding,
                         open ? spmd::getNames(cast<ArrayAttr>(open[index]))
                              : AxisList());
}

/// The axes over which the desired results cut the factor; empty if they do not
/// say so, or if it cannot be cut.
static ArrayRef<StringAttr> getWish(Operation *op, const Factor &factor,
                                    const DesiredShardings &desired,
                                    nd::MeshAttr mesh) {
  if (factor.effect == FactorEffect::Whole)
    return {};
  for (auto [result, dim] : llvm::zip(op->getResults(), factor.resultDims)) {
    auto known = desired.find(result);
    if (!dim || known == desired.end() || !known->second.preferred)
      continue;
    ArrayRef<StringAttr> axes =
        spmd::getAxesOf(known->second.preferred, dim.getValue());
    if (!axes.empty() &&
        nd::mayCutOrExchange(op, factor, mesh.getProduct(axes)))
      return axes;
  }
  return {};
}

/// Passes the wishes for a loop's carried results on to their initial values.
static void passThroughLoop(nd::ScanOp loop, DesiredShardings &desired) {
  for (const nd::Tie &tie : loop.getTies()) {
    if (tie.kind != nd::TieKind::Carried)
      continue;
    auto initial = desired.find(tie.operand);
    TensorType wish = desired.lookup(tie.result).preferred;
    if (initial != desired.end())
      initial->second.prefer(wish);
  }
}

void propagatePreferences(Block &block, DesiredShardings &desired) {
  nd::MeshAttr mesh = nd::MeshAttr::of(block.getParentOp());
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    if (auto loop = dyn_cast<nd::ScanOp>(op))
      passThroughLoop(loop, desired);
    auto named = dyn_cast<nd::NamedOpInterface>(op);
    if (!named || op.getNumRegions() != 0)
      continue;
    nd::PartitionRule rule = nd::joinAlternatives(named.getPartitionRule());
    for (const Factor &factor : rule.factors) {
      ArrayRef<StringAttr> wish = getWish(&op, factor, desired, mesh);
      if (wish.empty())
        continue;
      for (auto [operand, dim] :
           llvm::zip(op.getOperands(), factor.operandDims))
        if (auto known = desired.find(operand); dim && known != desired.end())
          known->second.prefer(dim, wish);
    }
  }
}

} // namespace meshc::partition
