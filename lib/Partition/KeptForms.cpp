//===- KeptForms.cpp - how a loop keeps values for another one ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/KeptForms.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/DesiredSharding.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

/// All loops, in the order of the program, which the phase keeps.
static llvm::SmallVector<nd::ScanOp> findLoops(ModuleOp module) {
  llvm::SmallVector<nd::ScanOp> loops;
  module.walk<WalkOrder::PreOrder>(
      [&](nd::ScanOp loop) { loops.push_back(loop); });
  return loops;
}

/// The values that hold an entry of the stack in loops that read it.
static llvm::SmallVector<BlockArgument> findEntries(OpResult stack) {
  llvm::SmallVector<BlockArgument> entries;
  for (Operation *user : stack.getUsers())
    if (auto loop = dyn_cast<nd::ScanOp>(user))
      for (nd::Tie tie : loop.getTies())
        if (tie.kind == nd::TieKind::StackedOperand && tie.operand == stack)
          entries.push_back(tie.argument);
  return entries;
}

/// The sharding to which loops move the entries of the stack at the highest
/// cost, of those that the layout allows the kept value: its rules hold,
/// perhaps with further axes behind theirs. Null if there is none.
static TensorType findUse(OpResult stack, const DesiredSharding &wanted,
                          spmd::ReshardPlanner &planner) {
  TensorType costly;
  double highest = 0;
  for (BlockArgument entry : findEntries(stack))
    for (Operation *user : entry.getUsers()) {
      auto reshard = dyn_cast<spmd::ReshardOp>(user);
      if (!reshard)
        continue;
      TensorType type = nd::getTensorType(reshard.getResult());
      double cost = planner.getCost(nd::getTensorType(entry), type);
      if (cost > highest && !type.isPartial() && wanted.settle(type) == type) {
        costly = type;
        highest = cost;
      }
    }
  return costly;
}

/// Places all dims of the result.
static void place(OpResult result, TensorType sharding) {
  Operation *op = result.getOwner();
  unsigned index = result.getResultNumber();
  auto shardings = llvm::to_vector(nd::getShardings(op).getValue());
  shardings[index] = TypeAttr::get(sharding);
  nd::setShardings(op, shardings);
  if (ArrayAttr open = nd::getOpenDims(op)) {
    auto dims = llvm::to_vector(open.getValue());
    dims[index] = ArrayAttr::get(op->getContext(), {});
    nd::setOpenDims(op, dims);
  }
}

bool keepAsUsed(ModuleOp layout, ModuleOp partitioned) {
  auto before = findLoops(layout), after = findLoops(partitioned);
  auto planner = spmd::ReshardPlanner::of(partitioned);
  bool any = false;
  auto haveSameResults = [](nd::ScanOp a, nd::ScanOp b) {
    return llvm::equal(a->getResultTypes(), b->getResultTypes(),
                       [](Type x, Type y) {
                         return cast<TensorType>(x).getGlobal() ==
                                cast<TensorType>(y).getGlobal();
                       });
  };
  if (!llvm::equal(before, after, haveSameResults))
    return false;
  for (auto [loop, local] : llvm::zip(before, after))
    for (nd::Tie tie : loop.getTies()) {
      auto made = dyn_cast_or_null<OpResult>(tie.yielded);
      if (tie.kind != nd::TieKind::StackedResult || !made)
        continue;
      std::optional<DesiredSharding> wanted = readDesired(made);
      if (!wanted || !readDesired(tie.result))
        continue;
      wanted->mayCutFurther = true;
      TensorType use = findUse(local->getResult(tie.result.getResultNumber()),
                               *wanted, planner);
      if (!use)
        continue;
      place(made, use);
      place(tie.result,
            nd::getStackedType(use, loop.getDim(),
                               static_cast<int64_t>(loop.getSize())));
      any = true;
    }
  return any;
}

} // namespace meshc::partition
