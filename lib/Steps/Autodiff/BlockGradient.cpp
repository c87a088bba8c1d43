//===- BlockGradient.cpp - reverse mode through one block -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Autodiff/BlockGradient.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/RoundedParts.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Autodiff/ScanGradient.h"

using namespace mlir;

namespace meshc::steps {

llvm::DenseSet<Value> findDependent(Block &block, ValueRange variables) {
  llvm::DenseSet<Value> depends(variables.begin(), variables.end());
  for (Operation &op : block)
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return depends.contains(operand); }))
      depends.insert(op.result_begin(), op.result_end());
  return depends;
}

namespace {
/// Marks new ops with results of 16 bits: parts of their sums are rounded as
/// those of the op are that they differentiate.
class PartsMarker : public OpBuilder::Listener {
public:
  PartsMarker(OpBuilder &builder, Operation *differentiated)
      : builder(builder), before(builder.getListener()) {
    if (nd::hasRoundedParts(differentiated))
      builder.setListener(this);
  }
  ~PartsMarker() override { builder.setListener(before); }

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (llvm::any_of(op->getResults(), isShort))
      nd::setRoundedParts(op);
    if (before)
      before->notifyOperationInserted(op, previous);
  }

  static bool isShort(Value value) {
    nd::TensorType type = nd::getTensorType(value);
    return type && type.isShortFloat();
  }

private:
  OpBuilder &builder;
  OpBuilder::Listener *before;
};

/// Visits the ops of a block, last first.
class BlockGradient {
public:
  BlockGradient(OpBuilder &builder, Block &block, ValueRange variables,
                SmallVectorImpl<ScanPair> &scans)
      : builder(builder), scans(scans), block(block),
        depends(findDependent(block, variables)) {}

  LogicalResult run(ArrayRef<Seed> seeds);
  Value lookup(Value of) const { return gradients.lookup(of); }

private:
  SmallVector<Operation *> findActiveOps(ArrayRef<Seed> seeds) const;
  LogicalResult visit(Operation *op);
  LogicalResult build(Operation *op, ArrayRef<Value> resultGrads,
                      SmallVectorImpl<Value> &operandGrads);
  void add(Location loc, Value of, Value gradient);

  OpBuilder &builder;
  SmallVectorImpl<ScanPair> &scans;
  Block &block;
  llvm::DenseSet<Value> depends; ///< on a variable
  /// Gradients found so far; several uses of a value add up.
  llvm::DenseMap<Value, Value> gradients;
};
} // namespace

/// The ops that lie on a path from a variable to a seed, last first.
SmallVector<Operation *>
BlockGradient::findActiveOps(ArrayRef<Seed> seeds) const {
  llvm::DenseSet<Value> needed;
  for (const Seed &seed : seeds)
    needed.insert(seed.value);
  SmallVector<Operation *> active;
  for (Operation &op : llvm::reverse(block)) {
    if (llvm::none_of(op.getResults(), [&](Value result) {
          return needed.contains(result) && depends.contains(result);
        }))
      continue;
    active.push_back(&op);
    needed.insert(op.operand_begin(), op.operand_end());
  }
  return active;
}

void BlockGradient::add(Location loc, Value of, Value gradient) {
  Value &sum = gradients[of];
  if (!sum) {
    sum = gradient;
    return;
  }
  auto total = nd::AddOp::create(builder, loc, sum, gradient);
  if (Operation *op = of.getDefiningOp(); op && PartsMarker::isShort(total))
    nd::copyRoundedParts(op, total);
  sum = total;
}

/// A loop that ends early cannot be run backwards: how many iterations there
/// were is known only when it runs.
static LogicalResult rejectConditional(nd::ScanOp scan,
                                       ArrayRef<Value> resultGrads) {
  const auto *found =
      llvm::find_if(resultGrads, [](Value grad) { return bool(grad); });
  StringAttr name =
      nd::TensorAttributes::of(scan.getResult(found - resultGrads.begin()))
          .getName();
  std::string text = name ? name.str() : "x";
  return scan.emitError()
         << "a loop with 'while' has no gradient, and the loss needs that of '"
         << text << "'; write " << text << " = stop_gradient(" << text
         << ") after the loop, or give a function around it a gradient of its "
            "own: fn f(…) { … } gradient(g) { … }";
}

LogicalResult BlockGradient::build(Operation *op, ArrayRef<Value> resultGrads,
                                   SmallVectorImpl<Value> &operandGrads) {
  OpBuilder::InsertionGuard guard(builder);
  if (auto scan = dyn_cast<nd::ScanOp>(op)) {
    if (scan.getConditional())
      return rejectConditional(scan, resultGrads);
    llvm::BitVector dependent;
    for (Value operand : op->getOperands())
      dependent.push_back(depends.contains(operand));
    return buildScanGradient(builder, scan, resultGrads, dependent,
                             operandGrads, scans);
  }
  if (auto named = dyn_cast<nd::NamedOpInterface>(op)) {
    PartsMarker marker(builder, op);
    return named.buildGradient(builder, resultGrads, operandGrads);
  }
  return op->emitError() << "'" << op->getName()
                         << "' cannot be differentiated";
}

LogicalResult BlockGradient::visit(Operation *op) {
  SmallVector<Value> resultGrads;
  for (Value result : op->getResults())
    resultGrads.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGrads, [](Value grad) { return bool(grad); }))
    return success();

  SmallVector<Value> operandGrads(op->getNumOperands());
  if (failed(build(op, resultGrads, operandGrads)))
    return failure();
  for (auto [operand, grad] : llvm::zip(op->getOperands(), operandGrads)) {
    if (!grad || !depends.contains(operand))
      continue;
    if (!nd::haveSameGlobalType(grad.getType(), operand.getType()))
      return op->emitError() << "gradient of type " << grad.getType()
                             << " for an operand of type " << operand.getType()
                             << " (a defect of '" << op->getName() << "')";
    add(op->getLoc(), operand, grad);
  }
  return success();
}

LogicalResult BlockGradient::run(ArrayRef<Seed> seeds) {
  for (const Seed &seed : seeds)
    if (depends.contains(seed.value))
      add(seed.value.getLoc(), seed.value, seed.gradient);
  for (Operation *op : findActiveOps(seeds))
    if (failed(visit(op)))
      return failure();
  return success();
}

FailureOr<SmallVector<Value>>
differentiateBlock(OpBuilder &builder, Block &block, ArrayRef<Seed> seeds,
                   ValueRange variables, SmallVectorImpl<ScanPair> &scans) {
  BlockGradient gradient(builder, block, variables, scans);
  if (failed(gradient.run(seeds)))
    return failure();
  SmallVector<Value> results;
  for (Value variable : variables)
    results.push_back(gradient.lookup(variable));
  return results;
}

} // namespace meshc::steps
