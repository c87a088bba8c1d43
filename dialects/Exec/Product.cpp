//===- Product.cpp - a matrix product and what follows it, in one call ----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Epilogues.h"
#include "dialects/Exec/Holder.h"
#include "dialects/Nd/Ops/ContractionOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace meshc::exec {

nd::EinsumOp ProductOp::getEinsum() {
  auto ops = getBody().front().getOps<nd::EinsumOp>();
  return ops.empty() ? nd::EinsumOp() : *ops.begin();
}

FusionOp ProductOp::getFusion() {
  auto ops = getBody().front().getOps<FusionOp>();
  return ops.empty() ? FusionOp() : *ops.begin();
}

int64_t ProductOp::getInputOf(Value inner) {
  auto argument = dyn_cast<BlockArgument>(inner);
  return argument && argument.getOwner() == &getBody().front()
             ? argument.getArgNumber()
             : -1;
}

/// What the block must hold.
static LogicalResult verifyBody(ProductOp op) {
  Block &block = op.getBody().front();
  auto yield = dyn_cast<YieldOp>(block.getTerminator());
  bool hasEpilogue = op.getEpilogue().has_value();
  if (!yield || block.getOperations().size() != (hasEpilogue ? 3 : 2) ||
      !op.getEinsum() || hasEpilogue != bool(op.getFusion()))
    return op.emitOpError(
        hasEpilogue
            ? "must hold an 'nd.einsum', an 'exec.fusion' and an 'exec.yield'"
            : "without an epilogue must hold an 'nd.einsum' and an "
              "'exec.yield'");
  if (block.getArgumentTypes() != op.getInputs().getTypes())
    return op.emitOpError()
           << "takes " << op.getInputs().getTypes()
           << " but its block has arguments " << block.getArgumentTypes();
  ValueRange factors = op.getEinsum().getInputs();
  if (factors.size() != 2 || llvm::any_of(factors, [&](Value factor) {
        return op.getInputOf(factor) < 0;
      }))
    return op.emitOpError("must multiply two of its inputs");
  return success();
}

/// The fusion and the mask.
static LogicalResult verifyTraits(ProductOp op, const EpilogueTraits &traits) {
  FusionOp fusion = op.getFusion();
  size_t inputs = traits.getInputCount(), results = fusion.getNumResults();
  if (fusion.getNumOperands() != inputs || results < 1 ||
      results > (traits.mayKeepArgument() ? 2 : 1))
    return op.emitOpError()
           << "with epilogue '" << traits.name << "' needs a fusion of "
           << inputs << " inputs and "
           << (traits.mayKeepArgument() ? "1 or 2 results" : "1 result")
           << ", got " << fusion.getNumOperands() << " and " << results;
  if (op.getMask() &&
      (!traits.mayHaveMask() ||
       (traits.readsMask() ? op.getInputs().empty() : op.getResults().empty())))
    return op.emitOpError("has a mask, which relu and its gradient alone have");
  return success();
}

LogicalResult ProductOp::verify() {
  if (failed(verifyBody(*this)))
    return failure();
  const EpilogueTraits *traits = getTraits(getEpilogue());
  if (traits && failed(verifyTraits(*this, *traits)))
    return failure();
  if (getMask() && !traits)
    return emitOpError("has a mask without an epilogue");
  auto yield = cast<YieldOp>(getBody().front().getTerminator());
  TypeRange yielded = yield.getValues().getTypes();
  TypeRange given = getResultTypes();
  if (getMask() && traits->writesMask())
    given = given.drop_back();
  if (yielded != given)
    return emitOpError() << "gives " << given << " but its block yields "
                         << yielded;
  return success();
}

SmallVector<nd::HostTensor>
ProductOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                    const nd::EvaluationContext &context) {
  auto results = exec::evaluate(getBody().front(), operands, context);
  if (results.size() < getNumResults())
    results.push_back(
        nd::HostTensor(nd::getTensorType(getResults().back()), context.mesh));
  return results;
}

LogicalResult ProductOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                       SmallVectorImpl<Value> &) {
  return reportHolderGradient(*this);
}

nd::PartitionRule ProductOp::getPartitionRule() { return getHolderRule(*this); }

nd::OpCost ProductOp::getCost() { return getHolderCost(*this); }

} // namespace meshc::exec
