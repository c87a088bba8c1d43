//===- CustomGradient.cpp - gradients that a model states -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/CustomGradientOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "mlir/IR/IRMapping.h"

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/CustomGradient.cpp.inc"

using namespace mlir;

namespace meshc::nd {

void NdDialect::registerCustomGradient() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/CustomGradient.cpp.inc"
      >();
}

LogicalResult CustomGradientOp::verify() {
  if (getValues().empty() || getValues().getTypes() != getResultTypes())
    return emitOpError("the results must have the types of the values, ")
           << getValues().getTypes() << ", got " << getResultTypes();
  for (Type type : getArguments().getTypes())
    if (!cast<TensorType>(type).isFloat())
      return emitOpError("only floats have gradients, got an argument ")
             << type;
  Block &block = getGradient().front();
  SmallVector<Type> wanted(getResultTypes());
  llvm::append_range(wanted, getResiduals().getTypes());
  if (block.getArgumentTypes() != TypeRange(wanted))
    return emitOpError("the block's arguments must be the gradients of the "
                       "results and the residuals, ")
           << wanted << ", got " << block.getArgumentTypes();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  if (!yield || yield.getValues().getTypes() != getArguments().getTypes())
    return emitOpError("the block must yield the gradients of the arguments, ")
           << getArguments().getTypes();
  return success();
}

SmallVector<HostTensor>
CustomGradientOp::evaluate(ArrayRef<const HostTensor *> operands,
                           const EvaluationContext &) {
  SmallVector<HostTensor> results;
  for (const HostTensor *value : operands.take_front(getNumResults()))
    results.push_back(*value);
  return results;
}

LogicalResult
CustomGradientOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGrads,
                                SmallVectorImpl<Value> &operandGrads) {
  Block &block = getGradient().front();
  IRMapping mapping;
  for (auto [index, gradient] : llvm::enumerate(resultGrads)) {
    BlockArgument argument = block.getArgument(index);
    mapping.map(argument, gradient
                              ? gradient
                              : ConstantOp::create(
                                    builder, getLoc(),
                                    cast<TensorType>(argument.getType()), 0.0));
  }
  mapping.map(block.getArguments().drop_front(getNumResults()), getResiduals());
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  for (auto [index, value] :
       llvm::enumerate(block.getTerminator()->getOperands()))
    operandGrads[getNumResults() + index] = mapping.lookup(value);
  return success();
}

PartitionRule CustomGradientOp::getPartitionRule() {
  return getRuleByNames(*this);
}

OpCost CustomGradientOp::getCost() { return {}; }

SmallVector<Value> CustomGradientOp::decompose(OpBuilder &) {
  return getValues();
}

} // namespace meshc::nd
