//===- FoldReshards.cpp - straight where a value is resharded twice -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Reshard/ReshardPlan.h"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_FOLDRESHARDS
#include "lib/Collectives/Passes.h.inc"

namespace {
struct FoldReshards : impl::FoldReshardsBase<FoldReshards> {
  void runOnOperation() override {
    auto planner = reshard::ReshardPlanner::of(getOperation());
    // Outer loops first: what enters one may enter a loop in it, too.
    llvm::SmallVector<nd::ScanOp> loops;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](nd::ScanOp loop) { loops.push_back(loop); });
    for (nd::ScanOp loop : loops)
      for (Value result : loop.getStackedResults())
        foldEntries(loop, cast<OpResult>(result), planner);
    llvm::SmallVector<spmd::ReshardOp> reshards;
    getOperation().walk([&](spmd::ReshardOp op) { reshards.push_back(op); });
    // Last first: a chain folds from its end.
    for (spmd::ReshardOp op : llvm::reverse(reshards))
      fold(op, planner);
  }

  static nd::TensorType getType(Value value) {
    return nd::getTensorType(value);
  }

  /// The one sharding that all users of the value reshard it to; null if there
  /// is another user, another sharding, or none.
  static nd::TensorType getEnd(Value value) {
    nd::TensorType end;
    for (Operation *user : value.getUsers()) {
      auto next = dyn_cast<spmd::ReshardOp>(user);
      if (!next || (end && next.getType() != end))
        return {};
      end = next.getType();
    }
    return end;
  }

  /// A stacked result whose entries are resharded in the loop, and which is
  /// resharded again after it.
  static void foldEntries(nd::ScanOp loop, OpResult result,
                          reshard::ReshardPlanner &planner) {
    Value yielded = loop.getTie(result).yielded;
    auto inside = yielded.getDefiningOp<spmd::ReshardOp>();
    nd::TensorType end = getEnd(result);
    if (!inside || !inside->hasOneUse() || !end ||
        !spmd::getAxesOf(end, loop.getDim()).empty())
      return;
    auto count = static_cast<double>(loop.getSize());
    nd::TensorType start = getType(inside.getInput());
    nd::TensorType entry = nd::getEntryType(end, loop.getDim());
    double through = planner.getCost(start, inside.getType()) * count;
    through += planner.getCost(getType(result), end);
    if (planner.getCost(start, entry) * count > through)
      return;
    inside.getResult().setType(entry);
    for (Operation *user : llvm::to_vector(result.getUsers())) {
      user->replaceAllUsesWith(ValueRange(Value(result)));
      user->erase();
    }
    result.setType(end);
  }

  static void fold(spmd::ReshardOp op, reshard::ReshardPlanner &planner) {
    nd::TensorType end = getEnd(op.getResult());
    if (!end)
      return;
    nd::TensorType start = getType(op.getInput());
    double through = planner.getCost(start, op.getType());
    through += planner.getCost(op.getType(), end);
    if (planner.getCost(start, end) > through)
      return;
    for (Operation *user : llvm::make_early_inc_range(op->getUsers())) {
      if (start == end) {
        user->replaceAllUsesWith(ValueRange(op.getInput()));
        user->erase();
      } else {
        user->setOperand(0, op.getInput());
      }
    }
    op.erase();
  }
};
} // namespace

} // namespace meshc::collectives
