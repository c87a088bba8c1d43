//===- CheapOps.cpp - ops that are made again rather than resharded -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/CheapOps.h"
#include "dialects/Nd/Ops/ShapeOps.h"
#include "dialects/Spmd/Sharding.h"
#include "lib/Partition/FactorChoice.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

bool hasOneUser(Value value) {
  Operation *user = nullptr;
  for (Operation *other : value.getUsers()) {
    if (user && user != other)
      return false;
    user = other;
  }
  return user != nullptr;
}

/// Whether the value is a whole number that every rank has, such as that of an
/// iteration.
static bool isNumber(Value value) {
  TensorType type = nd::getTensorType(value);
  return type && type.getRank() == 0 && !type.isFloat();
}

bool isRecomputable(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  return named && llvm::all_of(op->getOperands(), isNumber) &&
         op->getNumResults() == 1 &&
         llvm::all_of(
             named.getPartitionRule().factors,
             [](const nd::Factor &factor) { return factor.isLocal(); });
}

bool isCopy(Operation *op) {
  auto named = dyn_cast_or_null<nd::NamedOpInterface>(op);
  if (!named || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      op->getNumRegions() != 0)
    return false;
  nd::OpCost cost = named.getCost();
  return cost.flops == 0 && cost.transcendentals == 0 &&
         llvm::all_of(
             named.getPartitionRule().factors,
             [](const nd::Factor &factor) { return factor.isLocal(); });
}

llvm::SmallVector<CopySource, 1> findCopySources(Value value) {
  llvm::SmallVector<CopySource, 1> sources;
  if (Operation *op = value.getDefiningOp(); isCopy(op))
    sources.push_back({op->getOperand(0), op, /*isResult=*/false});
  for (Operation *user : value.getUsers())
    if (isa<nd::RenameOp>(user) && user->getBlock() == value.getParentBlock())
      sources.push_back({user->getResult(0), user, /*isResult=*/true});
  // Users have no order of their own.
  llvm::sort(sources, [](const CopySource &a, const CopySource &b) {
    return a.op->isBeforeInBlock(b.op);
  });
  return sources;
}

TensorType CopySource::getNeeded(TensorType type) const {
  return mapThroughCopy(op, type, /*forward=*/isResult);
}

TensorType CopySource::getCopied(TensorType type) const {
  return mapThroughCopy(op, type, /*forward=*/!isResult);
}

TensorType mapThroughCopy(Operation *op, TensorType type, bool forward) {
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  nd::MeshAttr mesh = nd::MeshAttr::of(op);
  auto getDim = [&](const nd::Factor &factor, bool ofResult) {
    return ofResult ? factor.resultDims[0] : factor.operandDims[0];
  };
  llvm::SmallVector<spmd::AxisList> axes;
  for (const nd::Factor &factor : rule.factors) {
    StringAttr dim = getDim(factor, !forward);
    axes.emplace_back(dim ? spmd::getAxesOf(type, dim.getValue())
                          : ArrayRef<StringAttr>());
    if (!nd::mayCut(op, factor, mesh.getProduct(axes.back())))
      return {};
  }
  auto along = [&](Value value, bool ofResult) {
    return getTypeAlong(
        nd::getTensorType(value), rule, axes,
        [&](const nd::Factor &factor) { return getDim(factor, ofResult); });
  };
  // Several factors along one dim would each claim its axes.
  Value known = forward ? op->getOperand(0) : op->getResult(0);
  Value other = forward ? op->getResult(0) : op->getOperand(0);
  return along(known, !forward) == type ? along(other, forward) : TensorType();
}

} // namespace meshc::partition
