//===- KeptForms.cpp - how a loop keeps values for another one ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/KeptForms.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/ReshardPlan.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/DesiredSharding.h"
#include "lib/Partition/LoopPairs.h"

using namespace mlir;

namespace meshc::partition {

using nd::TensorType;

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

/// Another sharding of the stack's entries: one to which a loop moves them, or
/// in which their own loop keeps a copy. The rules of the layout hold in it,
/// perhaps with further axes behind theirs. If there are several, the one that
/// is costliest to move to; null if there is none.
static TensorType findUse(OpResult stack, const DesiredSharding &wanted,
                          spmd::ReshardPlanner &planner) {
  TensorType costly;
  double highest = 0;
  auto consider = [&](Operation *user) {
    auto reshard = dyn_cast<spmd::ReshardOp>(user);
    if (!reshard)
      return;
    TensorType type = nd::getTensorType(reshard.getResult());
    double cost =
        planner.getCost(nd::getTensorType(reshard.getOperand()), type);
    if (cost > highest && !type.isPartial() && wanted.settle(type) == type) {
      costly = type;
      highest = cost;
    }
  };
  for (BlockArgument entry : findEntries(stack))
    llvm::for_each(entry.getUsers(), consider);
  auto loop = cast<nd::ScanOp>(stack.getOwner());
  for (Operation *user : loop.getTie(stack).yielded.getUsers())
    if (user->getNumResults() == 1 &&
        nd::findStackedResult(loop, user->getResult(0)))
      consider(user);
  return costly;
}

static constexpr llvm::StringLiteral exactStacksName = "spmd.exact_stacks";

static ArrayRef<int64_t> getExactStacks(nd::ScanOp loop) {
  auto stacks = loop->getAttrOfType<DenseI64ArrayAttr>(exactStacksName);
  return stacks ? stacks.asArrayRef() : ArrayRef<int64_t>();
}

bool isExact(OpResult stack) {
  return llvm::is_contained(getExactStacks(cast<nd::ScanOp>(stack.getOwner())),
                            stack.getResultNumber());
}

static void setExact(OpResult stack) {
  auto loop = cast<nd::ScanOp>(stack.getOwner());
  auto stacks = llvm::to_vector(getExactStacks(loop));
  if (!isExact(stack))
    stacks.push_back(stack.getResultNumber());
  loop->setAttr(exactStacksName,
                DenseI64ArrayAttr::get(loop.getContext(), stacks));
}

void dropExact(nd::ScanOp loop) { loop->removeAttr(exactStacksName); }

namespace {
/// A value that a loop keeps, and a sharding in which it may be kept as well.
struct KeptValue {
  OpResult made, stack;
  TensorType use;
  bool isPlaced; ///< so by the layout already, if not cut further
};
} // namespace

static void findKeptValues(nd::ScanOp loop, nd::ScanOp local,
                           spmd::ReshardPlanner &planner,
                           llvm::SmallVectorImpl<KeptValue> &values) {
  for (nd::Tie tie : loop.getTies()) {
    auto made = dyn_cast_or_null<OpResult>(tie.yielded);
    if (tie.kind != nd::TieKind::StackedResult || !made)
      continue;
    std::optional<DesiredSharding> wanted = readDesired(made);
    if (!wanted || !readDesired(tie.result))
      continue;
    wanted->mayCutFurther = true;
    if (TensorType use = findUse(local->getResult(tie.result.getResultNumber()),
                                 *wanted, planner))
      values.push_back(
          {made, tie.result, use, wanted->type == use && wanted->open.empty()});
  }
}

bool keepAsUsed(ModuleOp layout, ModuleOp partitioned, KeptForm form) {
  auto planner = spmd::ReshardPlanner::of(partitioned);
  llvm::SmallVector<KeptValue> values;
  for (auto [loop, local] : findLoopPairs(layout, partitioned))
    findKeptValues(loop, local, planner, values);
  if (form == KeptForm::Placed)
    llvm::erase_if(values,
                   [](const KeptValue &value) { return value.isPlaced; });
  for (const KeptValue &value : values) {
    auto loop = cast<nd::ScanOp>(value.stack.getOwner());
    writeDesired(value.made, value.use, {});
    writeDesired(value.stack,
                 nd::getStackedType(value.use, loop.getDim(),
                                    static_cast<int64_t>(loop.getSize())),
                 {});
    if (form == KeptForm::Exact)
      setExact(value.stack);
  }
  return !values.empty();
}

} // namespace meshc::partition
