//===- Fusion.cpp - a kernel on tensor values -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Exec.h"
#include "dialects/Exec/Holder.h"
#include "dialects/Exec/Parts.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace meshc::exec {

LogicalResult FusionOp::verify() {
  Block &block = getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield)
    return emitOpError("must end with exec.yield");
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError() << "takes " << getInputs().getTypes()
                         << " but its block has arguments "
                         << block.getArgumentTypes();
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError() << "gives " << getResultTypes()
                         << " but its block yields "
                         << yield.getValues().getTypes();
  for (Operation &op : block.without_terminator())
    if (!isa<nd::NamedOpInterface>(op))
      return emitOpError() << "cannot hold '" << op.getName() << "'";
  return verifyParts(*this, getPlan(), getPartsAttr());
}

LogicalResult YieldOp::verify() {
  if (isa<KernelOp, FusionOp, LibraryOpInterface>((*this)->getParentOp()))
    return success();
  return emitOpError(
      "must end the block of a kernel, a fusion or a library op");
}

SmallVector<nd::HostTensor> evaluate(Block &block,
                                     ArrayRef<const nd::HostTensor *> operands,
                                     const nd::EvaluationContext &context) {
  DenseMap<Value, const nd::HostTensor *> values;
  for (auto [argument, operand] : llvm::zip(block.getArguments(), operands))
    values[argument] = operand;
  SmallVector<std::unique_ptr<nd::HostTensor>> owned;
  for (Operation &op : block.without_terminator()) {
    SmallVector<const nd::HostTensor *> inputs;
    for (Value operand : op.getOperands())
      inputs.push_back(values.lookup(operand));
    auto results = cast<nd::NamedOpInterface>(op).evaluate(inputs, context);
    for (auto [value, tensor] : llvm::zip(op.getResults(), results)) {
      owned.push_back(std::make_unique<nd::HostTensor>(std::move(tensor)));
      values[value] = owned.back().get();
    }
  }
  SmallVector<nd::HostTensor> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(*values.lookup(value));
  return results;
}

SmallVector<nd::HostTensor>
FusionOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                   const nd::EvaluationContext &context) {
  return exec::evaluate(getBody().front(), operands, context);
}

LogicalResult reportHolderGradient(Operation *holder) {
  return holder->emitOpError("is made after the gradients and has none; "
                             "differentiate the ops that it holds");
}

nd::PartitionRule getHolderRule(Operation *holder) {
  nd::PartitionRule rule = nd::getRuleByNames(holder);
  for (nd::Factor &factor : rule.factors)
    factor.effect = nd::FactorEffect::Whole;
  return rule;
}

nd::OpCost getHolderCost(Operation *holder) {
  nd::OpCost cost;
  for (Operation &op : holder->getRegion(0).front().without_terminator()) {
    nd::OpCost inner = cast<nd::NamedOpInterface>(op).getCost();
    cost.flops += inner.flops;
    cost.transcendentals += inner.transcendentals;
  }
  cost.bytes = nd::getTrafficBytes(holder);
  return cost;
}

LogicalResult FusionOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                      SmallVectorImpl<Value> &) {
  return reportHolderGradient(*this);
}

nd::PartitionRule FusionOp::getPartitionRule() { return getHolderRule(*this); }

nd::OpCost FusionOp::getCost() { return getHolderCost(*this); }

} // namespace meshc::exec
