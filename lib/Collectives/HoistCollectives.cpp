//===- HoistCollectives.cpp - out of loops that do not change them --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/ParameterGathers.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/InvariantOps.h"
#include "lib/Collectives/Passes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace meshc::collectives {

#define GEN_PASS_DEF_HOISTCOLLECTIVES
#include "lib/Collectives/Passes.h.inc"

llvm::SetVector<Operation *> findInvariantOps(nd::ScanOp loop) {
  llvm::SetVector<Operation *> invariant;
  auto isInvariant = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return loop.getTie(argument).kind == nd::TieKind::Whole;
    return invariant.contains(value.getDefiningOp());
  };
  bool keepsGathers = loop.getMicroBatches() &&
                      !spmd::gathersOnce(loop->getParentOfType<ModuleOp>());
  for (Operation &op : loop.getBlock().without_terminator())
    if (isMemoryEffectFree(&op) &&
        llvm::all_of(op.getOperands(), isInvariant) &&
        !(keepsGathers && spmd::gathersForMicroBatch(&op)))
      invariant.insert(&op);
  return invariant;
}

namespace {
struct HoistCollectives : impl::HoistCollectivesBase<HoistCollectives> {
  void runOnOperation() override {
    // Inner loops first: what leaves one may leave the next one, too.
    getOperation().walk<WalkOrder::PostOrder>(
        [](nd::ScanOp loop) { hoist(loop); });
    spmd::clearGathersOnce(getOperation());
  }

  /// The collectives among the ops, and what they need of them.
  static llvm::DenseSet<Operation *>
  findHoisted(const llvm::SetVector<Operation *> &invariant) {
    llvm::DenseSet<Operation *> hoisted;
    for (Operation *op : llvm::reverse(invariant.getArrayRef()))
      if (isa<spmd::CollectiveOpInterface>(op) ||
          llvm::any_of(op->getUsers(),
                       [&](Operation *user) { return hoisted.contains(user); }))
        hoisted.insert(op);
    return hoisted;
  }

  /// Computes the invariant collectives before the loop. Their results become
  /// whole operands.
  static void hoist(nd::ScanOp loop) {
    llvm::SetVector<Operation *> invariant = findInvariantOps(loop);
    llvm::DenseSet<Operation *> hoisted = findHoisted(invariant);
    OpBuilder builder(loop);
    IRMapping outside;
    for (auto [argument, operand] :
         llvm::zip(loop.getBlock().getArguments(), loop->getOperands()))
      outside.map(argument, operand);
    for (Operation *op : invariant)
      if (hoisted.contains(op))
        builder.clone(*op, outside);
    // Users first: what only hoisted ops use is no operand of the loop.
    for (Operation *op : llvm::reverse(invariant.getArrayRef())) {
      if (!hoisted.contains(op))
        continue;
      if (isa<spmd::CollectiveOpInterface>(op))
        for (Value result : op->getResults())
          if (!result.use_empty())
            result.replaceAllUsesWith(addWhole(loop, outside.lookup(result)));
      if (op->use_empty())
        op->erase();
    }
  }

  /// Makes the value a whole operand; returns its argument of the body.
  static Value addWhole(nd::ScanOp loop, Value value) {
    loop.getWholeMutable().append(value);
    return loop.getBlock().addArgument(value.getType(), value.getLoc());
  }
};
} // namespace

} // namespace meshc::collectives
