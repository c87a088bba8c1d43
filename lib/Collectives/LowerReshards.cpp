//===- LowerReshards.cpp - the cheapest collectives for each reshard ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Reshard/ReshardPlan.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "meshc-lower-reshards"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_LOWERRESHARDS
#include "lib/Collectives/Passes.h.inc"

using spmd::CollectiveKind;

static ArrayAttr getArray(OpBuilder &builder, ArrayRef<StringAttr> names) {
  return builder.getArrayAttr(
      llvm::SmallVector<Attribute>(names.begin(), names.end()));
}

/// The op of one step of a plan, on `value`. Its result has the element type of
/// the value.
static Operation *buildStep(OpBuilder &builder, Location loc,
                            const reshard::ReshardStep &step, Value value) {
  ArrayAttr axes = getArray(builder, step.axes);
  nd::TensorType type =
      step.result.withElementType(nd::getTensorType(value).getElementType());
  TypeRange result(type);
  if (!step.kind && !step.to)
    return spmd::ToPartialOp::create(builder, loc, type, axes, value);
  if (!step.kind)
    return spmd::SliceOp::create(builder, loc, type, step.to, axes, value);
  nd::ReductionKind reduction = nd::getTensorType(value).getPartialKind();
  switch (*step.kind) {
  case CollectiveKind::AllReduce:
    return spmd::AllReduceOp::create(builder, loc, result, reduction, axes,
                                     value);
  case CollectiveKind::ReduceScatter:
    return spmd::ReduceScatterOp::create(builder, loc, result, reduction, axes,
                                         getArray(builder, step.to), value);
  case CollectiveKind::AllGather:
    return spmd::AllGatherOp::create(builder, loc, result, axes,
                                     getArray(builder, step.from), value);
  case CollectiveKind::AllToAll:
    return spmd::AllToAllOp::create(builder, loc, result, axes,
                                    getArray(builder, step.from),
                                    getArray(builder, step.to), value);
  case CollectiveKind::Permute:
    return spmd::PermuteOp::create(builder, loc, result, axes,
                                   getArray(builder, step.receivers),
                                   /*shift=*/0, spmd::RoundAttr(), value);
  }
  return nullptr;
}

static LogicalResult lower(spmd::ReshardOp op,
                           reshard::ReshardPlanner &planner) {
  OpBuilder builder(op);
  Value value = op.getInput();
  nd::TensorType from = nd::getTensorType(value);
  for (const reshard::ReshardStep &step :
       planner.plan(from, op.getType()).steps) {
    Operation *built = buildStep(builder, op.getLoc(), step, value);
    LDBG() << op.getLoc() << ": " << built->getName() << " from "
           << value.getType() << " to " << step.result;
    nd::copyName(op, built);
    value = built->getResult(0);
    if (value.getType() == step.result)
      continue;
    // A sum of f32 ends.
    value = nd::CastOp::create(builder, op.getLoc(), step.result, value);
    nd::copyName(op, value.getDefiningOp());
  }
  if (value.getType() != op.getType())
    return op.emitError("has no way of collectives from ")
           << from << " to " << op.getType();
  op.replaceAllUsesWith(value);
  op.erase();
  return success();
}

namespace {
struct LowerReshards : impl::LowerReshardsBase<LowerReshards> {
  void runOnOperation() override {
    auto planner = reshard::ReshardPlanner::of(getOperation());
    llvm::SmallVector<spmd::ReshardOp> reshards;
    getOperation().walk([&](spmd::ReshardOp op) { reshards.push_back(op); });
    for (spmd::ReshardOp op : reshards)
      if (failed(lower(op, planner)))
        return signalPassFailure();
  }
};
} // namespace

} // namespace meshc::collectives
