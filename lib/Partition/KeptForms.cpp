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

/// Whether the result of an op may be kept as `type` instead of `from`: if only
/// dims that no rule places are cut otherwise.
static bool mayKeep(OpResult result, TensorType from, TensorType type) {
  if (type.isPartial() || type.getGlobal() != from.getGlobal())
    return false;
  ArrayAttr open = nd::getOpenDims(result.getOwner());
  auto isOpen = [&](StringAttr dim) {
    return open && llvm::is_contained(
                       cast<ArrayAttr>(open[result.getResultNumber()]), dim);
  };
  return llvm::all_of(type.getDims(), [&](nd::DimAttr dim) {
    return isOpen(dim.getName()) ||
           dim.getAxes() == spmd::getAxesOf(from, dim.getName().getValue());
  });
}

/// The sharding to which loops move the entries of the stack at the highest
/// cost, of those in which `made`, the value that is kept, may be; null if
/// there is none.
static TensorType findUse(OpResult stack, OpResult made,
                          spmd::ReshardPlanner &planner) {
  TensorType costly;
  double highest = 0;
  for (BlockArgument entry : findEntries(stack))
    for (Operation *user : entry.getUsers()) {
      auto reshard = dyn_cast<spmd::ReshardOp>(user);
      if (!reshard)
        continue;
      TensorType from = nd::getTensorType(entry),
                 type = nd::getTensorType(reshard.getResult());
      double cost = planner.getCost(from, type);
      if (cost > highest && mayKeep(made, from, type)) {
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
    return a->getNumResults() == b->getNumResults();
  };
  if (!llvm::equal(before, after, haveSameResults))
    return false;
  for (auto [loop, local] : llvm::zip(before, after)) {
    for (nd::Tie tie : loop.getTies()) {
      auto made = dyn_cast_or_null<OpResult>(tie.yielded);
      if (tie.kind != nd::TieKind::StackedResult || !made ||
          !nd::getShardings(made.getOwner()) || !nd::getShardings(loop))
        continue;
      TensorType use = findUse(local->getResult(tie.result.getResultNumber()),
                               made, planner);
      if (!use || use.getGlobal() != nd::getTensorType(made).getGlobal())
        continue;
      place(made, use);
      place(tie.result,
            nd::getStackedType(use, loop.getDim(),
                               static_cast<int64_t>(loop.getSize())));
      any = true;
    }
  }
  return any;
}

} // namespace meshc::partition
