//===- Residence.cpp - where results stay, and what may share a buffer ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Residence.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::schedule {

/// In a step function.
static BlockArgument getReplacedArgument(func::FuncOp function,
                                         unsigned index) {
  auto result = nd::TensorAttributes::ofResult(function, index);
  if (!result.getName() || !result.getRole() || nd::isOutput(result.getRole()))
    return {};
  auto isReplaced = [&](BlockArgument argument) {
    auto known =
        nd::TensorAttributes::ofArgument(function, argument.getArgNumber());
    return known.getName() == result.getName() &&
           known.getRole() == result.getRole();
  };
  // State mostly comes and goes in one order.
  if (index < function.getNumArguments() &&
      isReplaced(function.getArgument(index)))
    return function.getArgument(index);
  auto found = llvm::find_if(function.getArguments(), isReplaced);
  return found == function.getArguments().end() ? BlockArgument() : *found;
}

/// In the body of a loop, of a stacked result: the entry of the stacked operand
/// that the result replaces in the block around the loop.
static BlockArgument getReplacedEntry(nd::ScanOp scan, unsigned index) {
  Block *outer = scan->getBlock();
  for (OpOperand &use : scan->getResult(index).getUses()) {
    if (use.getOwner() != outer->getTerminator())
      continue;
    BlockArgument replaced =
        getReplacedArgument(*outer, use.getOperandNumber());
    if (!replaced || llvm::count(scan->getOperands(), replaced) != 1)
      continue;
    for (unsigned number = 0; number < scan.getStackedCount(); ++number)
      if (scan.getStacked()[number] == replaced)
        return scan.getBlock().getArgument(scan.getCarriedCount() + number);
  }
  return {};
}

BlockArgument getReplacedArgument(Block &block, unsigned index) {
  auto scan = dyn_cast<nd::ScanOp>(block.getParentOp());
  if (!scan)
    return getReplacedArgument(cast<func::FuncOp>(block.getParentOp()), index);
  return index < scan.getCarriedCount() ? block.getArgument(index)
                                        : getReplacedEntry(scan, index);
}

ValueRange getTakenOver(Operation *op) {
  auto scan = dyn_cast<nd::ScanOp>(op);
  return scan ? ValueRange(scan.getCarried()) : ValueRange();
}

bool canWriteOver(Operation *op, unsigned operand, unsigned result) {
  Value read = op->getOperand(operand);
  if (exec::getOrder(read) != exec::getOrder(op->getResult(result)) ||
      llvm::count(op->getOperands(), read) != 1)
    return false;
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    return getReplacedArgument(scan.getBlock(), result) ==
           scan.getBlock().getArgument(operand);
  auto scheduled = dyn_cast<exec::ScheduledOpInterface>(op);
  return scheduled && scheduled.mayOverwrite(operand, result);
}

bool isUpdate(exec::FusionOp fusion) {
  Block &block = *fusion->getBlock();
  return fusion.getPlan().getReduce().empty() &&
         llvm::all_of(fusion.getResults(), [&](Value result) {
           if (!result.hasOneUse())
             return false;
           OpOperand &use = *result.use_begin();
           if (use.getOwner() != block.getTerminator())
             return false;
           BlockArgument replaced =
               getReplacedArgument(block, use.getOperandNumber());
           return replaced &&
                  llvm::is_contained(fusion.getInputs(), Value(replaced));
         });
}

/// The loop of whose body the op is, if the loop has a next iteration.
static nd::ScanOp getLoopAround(Operation *op) {
  auto scan = dyn_cast<nd::ScanOp>(op->getParentOp());
  return scan && scan.getSize() > 1 ? scan : nd::ScanOp();
}

bool canBeginAhead(spmd::CollectiveOpInterface collective) {
  nd::ScanOp scan = getLoopAround(collective);
  // A loop with `while` may not have the next iteration.
  if (!scan || scan.getConditional())
    return false;
  return spmd::sendsEntries(collective) &&
         llvm::all_of(collective->getResults(), [&](Value result) {
           return !result.use_empty() &&
                  !llvm::is_contained(result.getUsers(), scan.getYield());
         });
}

bool canGoOn(spmd::CollectiveOpInterface collective) {
  nd::ScanOp scan = getLoopAround(collective);
  return scan && llvm::all_of(collective->getResults(), [&](Value result) {
           return result.hasOneUse() &&
                  result.use_begin()->getOwner() == scan.getYield() &&
                  result.use_begin()->getOperandNumber() >=
                      scan.getCarriedCount();
         });
}

/// Users of the value but these two.
static SmallVector<Operation *> getOtherUsers(Value value, Operation *one,
                                              Operation *two) {
  SmallVector<Operation *> users;
  for (Operation *user : value.getUsers())
    if (user != one && user != two && !llvm::is_contained(users, user))
      users.push_back(user);
  return users;
}

SmallVector<Operation *> getReadersBefore(Block &block, unsigned index) {
  Operation *terminator = block.getTerminator();
  Value value = terminator->getOperand(index);
  BlockArgument argument = getReplacedArgument(block, index);
  if (!argument || value == argument)
    return {};
  return getOtherUsers(argument, terminator, value.getDefiningOp());
}

SmallVector<Operation *> getReadersBefore(nd::ScanOp scan, Value takenOver) {
  return getOtherUsers(takenOver, scan, scan->getBlock()->getTerminator());
}

llvm::DenseMap<Value, Operation *> findOverwriting(Block &block) {
  llvm::DenseMap<Value, Operation *> overwriting;
  Operation *terminator = block.getTerminator();
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index) {
    Operation *op = terminator->getOperand(index).getDefiningOp();
    if (BlockArgument argument = getReplacedArgument(block, index);
        argument && op)
      overwriting[argument] = op;
  }
  for (Operation &op : block)
    for (Value value : getTakenOver(&op))
      overwriting[value] = &op;
  return overwriting;
}

} // namespace meshc::schedule
