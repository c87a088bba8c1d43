//===- CauseName.cpp - the name by which a reader knows a value -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/CauseName.h"
#include "dialects/Nd/TensorAttributes.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/CheapOps.h"

using namespace mlir;

namespace meshc::partition {

/// The name of the result of the function or loop that this operand of the
/// terminator becomes.
static StringAttr getNameAtEnd(OpOperand &use) {
  Operation *parent = use.getOwner()->getParentOp();
  unsigned index = use.getOperandNumber();
  if (auto function = dyn_cast<FunctionOpInterface>(parent))
    return nd::TensorAttributes::ofResult(function, index).getName();
  return nd::TensorAttributes::of(parent->getResult(index)).getName();
}

/// The first user of the value in program order, or null.
static Operation *getFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

/// The name of the first named value on the way from this one through its first
/// users, or null. `alone`: as long as there is one user only; otherwise ops of
/// a class are passed by, since gradients of many parameters may come from one
/// value.
static StringAttr findNameAhead(Value value, bool alone) {
  for (int hops = 0; hops < 8; ++hops) {
    auto tensor = nd::TensorAttributes::of(value);
    if (tensor.getName() && (alone || !tensor.getClass()))
      return tensor.getName();
    if (alone && !hasOneUser(value))
      return {};
    Operation *user = getFirstUser(value);
    if (!user || user->getNumResults() != 1)
      return {};
    value = user->getResult(0);
  }
  return {};
}

StringAttr getCauseName(Value value,
                        llvm::function_ref<bool(Value)> isPartial) {
  if (isa<BlockArgument>(value))
    return nd::TensorAttributes::of(value).getName();
  if (StringAttr name = findNameAhead(value, /*alone=*/true))
    return name;
  for (OpOperand &use : value.getUses())
    if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      return getNameAtEnd(use);
  for (Value operand : value.getDefiningOp()->getOperands())
    if (isPartial(operand))
      return getCauseName(operand, isPartial);
  return findNameAhead(value, /*alone=*/false);
}

void moveAttributes(Operation *from, Operation *to) {
  to->setDiscardableAttrs(from->getDiscardableAttrDictionary());
  from->setDiscardableAttrs(DictionaryAttr::get(from->getContext()));
}

void setCause(Operation *window, Value value) {
  if (nd::TensorAttributes::of(window).getName())
    return;
  if (StringAttr name = getCauseName(value, [](Value) { return false; }))
    spmd::setCause(window, name);
}

} // namespace meshc::partition
