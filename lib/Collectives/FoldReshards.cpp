//===- FoldReshards.cpp - straight where a value is resharded twice -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_FOLDRESHARDS
#include "lib/Collectives/Passes.h.inc"

namespace {
struct FoldReshards : impl::FoldReshardsBase<FoldReshards> {
  void runOnOperation() override {
    spmd::ReshardPlanner planner(nd::MeshAttr::of(getOperation()));
    llvm::SmallVector<spmd::ReshardOp> reshards;
    getOperation().walk([&](spmd::ReshardOp op) { reshards.push_back(op); });
    // Last first: a chain folds from its end.
    for (spmd::ReshardOp op : llvm::reverse(reshards))
      fold(op, planner);
  }

  static nd::TensorType getType(Value value) {
    return nd::getTensorType(value);
  }

  void fold(spmd::ReshardOp op, spmd::ReshardPlanner &planner) {
    nd::TensorType end;
    for (Operation *user : op->getUsers()) {
      auto next = dyn_cast<spmd::ReshardOp>(user);
      if (!next || (end && next.getType() != end))
        return;
      end = next.getType();
    }
    if (!end)
      return;
    nd::TensorType start = getType(op.getInput());
    double through = planner.getBytes(start, op.getType());
    through += planner.getBytes(op.getType(), end);
    if (planner.getBytes(start, end) > through)
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
