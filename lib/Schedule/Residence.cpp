//===- Residence.cpp - where results stay, and what may share a buffer ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Schedule/Residence.h"
#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"

using namespace mlir;

namespace meshc::schedule {

BlockArgument getReplacedArgument(func::FuncOp function, unsigned index) {
  auto result = nd::TensorAttributes::ofResult(function, index);
  if (!result.getName() || !result.getRole() ||
      result.hasRole(nd::TensorRole::Metric))
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

bool canWriteOver(Operation *op, unsigned operand, unsigned result) {
  Value read = op->getOperand(operand);
  if (exec::getOrder(read) != exec::getOrder(op->getResult(result)) ||
      llvm::count(op->getOperands(), read) != 1)
    return false;
  if (auto fusion = dyn_cast<exec::FusionOp>(op))
    return exec::canWriteOver(fusion.getBody().front(), operand, result,
                              fusion.getPlan(), nd::MeshAttr::of(op));
  auto collective = dyn_cast<spmd::CollectiveOpInterface>(op);
  return collective && operand == result &&
         collective.getCollectiveKind() == spmd::CollectiveKind::AllReduce;
}

SmallVector<Operation *> getReadersBefore(func::FuncOp function,
                                          unsigned index) {
  SmallVector<Operation *> readers;
  Operation *terminator = function.getBody().front().getTerminator();
  Value value = terminator->getOperand(index);
  BlockArgument argument = getReplacedArgument(function, index);
  if (!argument || value == argument)
    return readers;
  for (Operation *user : argument.getUsers())
    if (user != terminator && user != value.getDefiningOp() &&
        !llvm::is_contained(readers, user))
      readers.push_back(user);
  return readers;
}

} // namespace meshc::schedule
