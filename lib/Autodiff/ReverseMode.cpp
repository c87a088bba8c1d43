//===- ReverseMode.cpp - gradients of one value ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Autodiff/ReverseMode.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace meshc::autodiff {

/// The ops of the block that lie on a path from a variable to the loss, in
/// program order.
static SmallVector<Operation *> findActiveOps(Value loss,
                                              ValueRange variables) {
  Block *block = loss.getParentBlock();
  llvm::DenseSet<Value> depends(variables.begin(), variables.end());
  SmallVector<Operation *> candidates;
  for (Operation &op : *block) {
    if (llvm::none_of(op.getOperands(),
                      [&](Value operand) { return depends.contains(operand); }))
      continue;
    candidates.push_back(&op);
    depends.insert(op.result_begin(), op.result_end());
  }

  llvm::DenseSet<Value> needed{loss};
  SmallVector<Operation *> active;
  for (Operation *op : llvm::reverse(candidates)) {
    if (llvm::none_of(op->getResults(),
                      [&](Value result) { return needed.contains(result); }))
      continue;
    active.push_back(op);
    needed.insert(op->operand_begin(), op->operand_end());
  }
  std::reverse(active.begin(), active.end());
  return active;
}

namespace {
/// Gradients found so far; several uses of a value add up.
class GradientMap {
public:
  explicit GradientMap(OpBuilder &builder) : builder(builder) {}

  void add(Location loc, Value of, Value gradient) {
    Value &sum = gradients[of];
    sum = sum ? nd::AddOp::create(builder, loc, sum, gradient).getResult()
              : gradient;
  }
  Value lookup(Value of) const { return gradients.lookup(of); }

private:
  OpBuilder &builder;
  llvm::DenseMap<Value, Value> gradients;
};
} // namespace

static LogicalResult visit(Operation *op, OpBuilder &builder,
                           GradientMap &gradients) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
    return success();

  auto named = dyn_cast<nd::NamedOpInterface>(op);
  if (!named)
    return op->emitError() << "'" << op->getName()
                           << "' cannot be differentiated";
  SmallVector<Value> operandGrads(op->getNumOperands());
  builder.setInsertionPointToEnd(op->getBlock());
  if (failed(named.buildGradient(builder, resultGrads, operandGrads)))
    return failure();
  for (auto [operand, grad] : llvm::zip(op->getOperands(), operandGrads)) {
    if (!grad)
      continue;
    if (!nd::haveSameGlobalType(grad.getType(), operand.getType()))
      return op->emitError() << "gradient of type " << grad.getType()
                             << " for an operand of type " << operand.getType()
                             << " (a defect of '" << op->getName() << "')";
    gradients.add(op->getLoc(), operand, grad);
  }
  return success();
}

FailureOr<SmallVector<Value>> buildGradients(OpBuilder &builder, Value loss,
                                             ValueRange variables) {
  SmallVector<Operation *> active = findActiveOps(loss, variables);
  builder.setInsertionPointToEnd(loss.getParentBlock());
  GradientMap gradients(builder);
  auto type = cast<nd::TensorType>(loss.getType());
  gradients.add(loss.getLoc(), loss,
                nd::ConstantOp::create(builder, loss.getLoc(), type, 1.0));
  for (Operation *op : llvm::reverse(active))
    if (failed(visit(op, builder, gradients)))
      return failure();

  SmallVector<Value> results;
  for (Value variable : variables)
    results.push_back(gradients.lookup(variable));
  return results;
}

} // namespace meshc::autodiff
