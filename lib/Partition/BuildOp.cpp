//===- BuildOp.cpp - one op on blocks -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BuildOp.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CauseName.h"
#include "lib/Partition/GroupBuilder.h"
#include "lib/Partition/OverlapBuilder.h"
#include "lib/Partition/WideSums.h"

using namespace mlir;

namespace meshc::partition {

using nd::Factor;
using nd::PartitionRule;
using nd::TensorType;

static PartitionRule getRule(Operation *op) {
  return nd::joinAlternatives(
      cast<nd::NamedOpInterface>(op).getPartitionRule());
}

size_t countFactors(Operation *op) { return getRule(op).factors.size(); }

bool isExchanged(Operation &op, ArrayRef<spmd::AxisList> axes,
                 nd::MeshAttr mesh) {
  PartitionRule rule = getRule(&op);
  return llvm::any_of(llvm::zip(rule.factors, axes), [&](auto pair) {
    const auto &[factor, ofFactor] = pair;
    bool readsOthers = factor.kind == nd::FactorKind::Halo ||
                       factor.kind == nd::FactorKind::Overlap;
    return (readsOthers && !ofFactor.empty()) ||
           isExchanged(op, factor, ofFactor, mesh);
  });
}

/// The op where a factor is cut along which ranks need entries of others'
/// blocks.
static Operation *buildWindow(Operation &op, const Factor &halo,
                              ArrayRef<Value> blocks, OpBuilder &builder) {
  llvm::SmallVector<int64_t> segments;
  for (const nd::Segment &segment : halo.segments)
    segments.append({segment.operand, segment.at, segment.from, segment.size});
  auto window = spmd::WindowOp::create(
      builder, op.getLoc(), op.getResult(0).getType(), halo.resultDims[0],
      builder.getDenseI64ArrayAttr(segments), /*repeat=*/nullptr,
      builder.getF64FloatAttr(halo.fill), blocks);
  window->setDiscardableAttrs(op.getDiscardableAttrDictionary());
  setCause(window, op.getResult(0));
  return window;
}

/// The op on blocks; its results do not have their types yet. Null if the op
/// cannot be cut so.
static Operation *buildLocal(Operation &op, const PartitionRule &rule,
                             const FactorChoice &choice, ArrayRef<Value> blocks,
                             OpBuilder &builder, nd::MeshAttr mesh) {
  for (auto [factor, axes] : llvm::zip(rule.factors, choice.axesOfFactor)) {
    if (factor.kind == nd::FactorKind::Halo && !axes.empty())
      return buildWindow(op, factor, blocks, builder);
    if (factor.kind == nd::FactorKind::Overlap && !axes.empty()) {
      if (!spmd::planOverlap(factor, choice.operandTypes, choice.resultTypes,
                             mesh))
        return nullptr;
      return OverlapBuilder(op, factor, choice, builder, mesh).build(blocks);
    }
    if (isExchanged(op, factor, axes, mesh)) {
      if (!spmd::planGroups(factor, choice.operandTypes[0],
                            choice.resultTypes[0], mesh))
        return nullptr;
      return buildGroups(op, factor, choice, blocks[0], builder, mesh);
    }
  }
  Operation *local = builder.clone(op);
  local->setOperands(blocks);
  return local;
}

/// The value, which was computed in f32, in its own type.
static Value round(Value computed, TensorType type, OpBuilder &builder) {
  if (computed.getType() == type)
    return computed;
  auto rounded = nd::CastOp::create(builder, computed.getLoc(), type, computed);
  nd::copyName(computed.getDefiningOp(), rounded);
  nd::copyClass(computed.getDefiningOp(), rounded);
  nd::copyParameter(computed.getDefiningOp(), rounded);
  return rounded;
}

llvm::SmallVector<Value> buildOp(Operation &op, const FactorChoice &choice,
                                 ArrayRef<Value> blocks, OpBuilder &builder,
                                 nd::MeshAttr mesh) {
  PartitionRule rule = getRule(&op);
  FactorChoice computed = choice;
  const bool addsBlocks =
      llvm::any_of(llvm::zip(rule.factors, choice.axesOfFactor), [](auto pair) {
        return addsOverlaps(std::get<0>(pair), std::get<1>(pair));
      });
  computed.resultTypes = getComputedTypes(op, choice.resultTypes, addsBlocks);
  auto widened = widenBlocks(op, computed.resultTypes, blocks, builder);
  computed.operandTypes = llvm::map_to_vector(
      widened, [](Value block) { return nd::getTensorType(block); });
  Operation *local = buildLocal(op, rule, computed, widened, builder, mesh);
  if (!local)
    return {};
  nd::removeShardings(local);
  for (auto [result, type] :
       llvm::zip(local->getResults(), computed.resultTypes))
    result.setType(type);
  // A cast of parts that are f32 already.
  if (isa<nd::CastOp>(local) &&
      local->getOperandTypes() == local->getResultTypes()) {
    Value same = local->getOperand(0);
    local->erase();
    return {same};
  }
  llvm::SmallVector<Value> results;
  for (auto [made, type] : llvm::zip(local->getResults(), choice.resultTypes))
    results.push_back(round(made, type, builder));
  return results;
}

} // namespace meshc::partition
