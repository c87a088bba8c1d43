//===- BuildOp.cpp - one op on blocks -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/BuildOp.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Partition/ExchangeBuilder.h"
#include "lib/Partition/WideSums.h"

using namespace mlir;

namespace meshc::partition {

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
    return reshard::isExchanged(std::get<0>(pair), std::get<1>(pair), mesh);
  });
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
  Operation *local = buildExchange(op, rule, computed, widened, builder, mesh);
  if (!local)
    return {};
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
