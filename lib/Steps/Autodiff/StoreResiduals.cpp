//===- StoreResiduals.cpp - what the gradient of a loop reads -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Autodiff/StoreResiduals.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace meshc::steps {

/// Uses in the body of `backward` of values of the body of `forward`, by value.
static llvm::MapVector<Value, SmallVector<OpOperand *>>
findUses(ScanPair pair) {
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  pair.backward.getBlock().walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get().getParentBlock() == &pair.forward.getBlock())
        uses[operand.get()].push_back(&operand);
  });
  return uses;
}

/// The value in the body of `backward`, without storing it; null if it must be
/// stored.
static Value passOn(ScanPair pair, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    nd::Tie tie = pair.forward.getTie(argument);
    switch (tie.kind) {
    case nd::TieKind::StackedOperand:
      return nd::getStackedArgument(pair.backward, tie.operand);
    case nd::TieKind::Whole:
      return nd::getWholeArgument(pair.backward, tie.operand);
    case nd::TieKind::Carried:
    case nd::TieKind::StackedResult:
      return {};
    }
  }
  Operation *op = value.getDefiningOp();
  if (op->getNumOperands() != 0)
    return {};
  auto inside = OpBuilder::atBlockBegin(&pair.backward.getBlock());
  Operation *copy = inside.clone(*op);
  return copy->getResult(cast<OpResult>(value).getResultNumber());
}

static LogicalResult checkStackable(nd::ScanOp scan, Value value) {
  if (!nd::getTensorType(value).hasDim(scan.getDim()))
    return success();
  InFlightDiagnostic error =
      emitError(value.getLoc())
      << "the gradient of the loop over '" << scan.getDim()
      << "' reads this value, which cannot be stored once for each iteration, "
         "as it has dim '"
      << scan.getDim() << "' itself; rename the dim";
  error.attachNote(scan.getLoc()) << "the loop is here";
  return error;
}

LogicalResult storeResiduals(ScanPair pair) {
  auto uses = findUses(pair);
  SmallVector<Value> residuals, stored;
  for (auto &[value, operands] : uses) {
    if (Value inside = passOn(pair, value)) {
      for (OpOperand *operand : operands)
        operand->set(inside);
      continue;
    }
    if (failed(checkStackable(pair.forward, value)))
      return failure();
    residuals.push_back(value);
    if (!nd::findStackedResult(pair.forward, value))
      stored.push_back(value);
  }
  if (!stored.empty()) {
    IRRewriter rewriter(pair.forward.getContext());
    pair.forward = nd::addStackedResults(rewriter, pair.forward, stored);
  }
  for (Value value : residuals) {
    BlockArgument entry = nd::getStackedArgument(
        pair.backward, nd::findStackedResult(pair.forward, value));
    for (OpOperand *operand : uses[value])
      operand->set(entry);
  }
  return success();
}

} // namespace meshc::steps
