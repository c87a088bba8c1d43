//===- LoopPair.cpp - loops that run over the same entries ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Autodiff/LoopPair.h"
#include "dialects/Nd/Ops/LoopEdit.h"

using namespace mlir;

namespace meshc::steps {

std::optional<LoopPair> LoopPair::getOuter() {
  if (producer->getBlock() == consumer->getBlock())
    return std::nullopt;
  return LoopPair{cast<nd::ScanOp>(producer->getParentOp()),
                  cast<nd::ScanOp>(consumer->getParentOp())};
}

bool LoopPair::canReach(Value value) {
  std::optional<LoopPair> outer = getOuter();
  return !outer || outer->canLoad(value);
}

Value LoopPair::reach(Value value) {
  std::optional<LoopPair> outer = getOuter();
  return outer ? outer->load(value) : value;
}

bool LoopPair::canLoad(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    nd::Tie tie = producer.getTie(argument);
    if (tie.kind != nd::TieKind::Carried)
      return canReach(tie.operand);
  } else if (value.getDefiningOp()->getNumOperands() == 0) {
    return true;
  }
  OpResult stacked = nd::findStackedResult(producer, value);
  return stacked && canReach(stacked);
}

Value LoopPair::load(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    nd::Tie tie = producer.getTie(argument);
    if (tie.kind == nd::TieKind::StackedOperand)
      return nd::getStackedArgument(consumer, reach(tie.operand));
    if (tie.kind == nd::TieKind::Whole)
      return nd::getWholeArgument(consumer, reach(tie.operand));
  } else if (Operation *op = value.getDefiningOp(); op->getNumOperands() == 0) {
    OpBuilder builder = OpBuilder::atBlockBegin(&consumer.getBlock());
    return builder.clone(*op)->getResult(
        cast<OpResult>(value).getResultNumber());
  }
  return nd::getStackedArgument(consumer,
                                reach(nd::findStackedResult(producer, value)));
}

/// The argument that has the entries of the use along `dim`; null for another
/// use.
static BlockArgument getEntry(OpOperand &use, StringRef dim) {
  auto scan = dyn_cast<nd::ScanOp>(use.getOwner());
  unsigned index = use.getOperandNumber();
  if (!scan || scan.getDim() != dim)
    return {};
  BlockArgument argument = scan.getBlock().getArgument(index);
  bool isEntry = scan.getTie(argument).kind == nd::TieKind::StackedOperand;
  return isEntry ? argument : BlockArgument();
}

/// If the use yields an entry to the loop around it, the stacked result that
/// the entry goes to; otherwise null.
static OpResult getOuterStacked(OpOperand &use) {
  auto scan = dyn_cast<nd::ScanOp>(use.getOwner()->getParentOp());
  unsigned index = use.getOperandNumber();
  bool isEntry = scan && use.getOwner() == scan.getYield() &&
                 index >= scan.getCarriedCount();
  return isEntry ? cast<OpResult>(scan->getResult(index)) : OpResult();
}

/// Appends the loops over the producer's dim that read `value`: its result, or
/// an entry of it in another loop. Returns whether all uses are such.
static bool addReaders(Value value, nd::ScanOp producer,
                       SmallVectorImpl<EntryReader> &readers) {
  for (OpOperand &use : value.getUses()) {
    if (BlockArgument entry = getEntry(use, producer.getDim())) {
      readers.push_back({{producer, cast<nd::ScanOp>(use.getOwner())}, entry});
      continue;
    }
    // From the body around the producer, to those that read its entries.
    OpResult outer = getOuterStacked(use);
    if (!outer || value.getDefiningOp() != producer)
      return false;
    SmallVector<EntryReader> outerReaders;
    if (!addReaders(outer, cast<nd::ScanOp>(outer.getOwner()), outerReaders))
      return false;
    for (const EntryReader &reader : outerReaders)
      if (!addReaders(reader.entry, producer, readers))
        return false;
  }
  return true;
}

std::optional<SmallVector<EntryReader>> findReaders(OpResult stacked) {
  SmallVector<EntryReader> readers;
  if (!addReaders(stacked, cast<nd::ScanOp>(stacked.getOwner()), readers))
    return std::nullopt;
  return readers;
}

} // namespace meshc::steps
