//===- PlaceResults.cpp - results written to their final buffers ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/Alignment.h"
#include "dialects/Exec/Order.h"
#include "lib/Schedule/Passes.h"
#include "lib/Schedule/Residence.h"

using namespace mlir;

namespace meshc::schedule {

#define GEN_PASS_DEF_PLACERESULTS
#include "lib/Schedule/Passes.h.inc"

namespace {
/// Copies the results of one function that cannot be written in place.
class ResultPlacer {
public:
  explicit ResultPlacer(func::FuncOp function)
      : function(function),
        terminator(function.getBody().front().getTerminator()) {}

  void run();

private:
  bool canBeWrittenInPlace(unsigned index);
  bool overwritesItsOperand(unsigned index);
  bool reaches(Operation *from, ArrayRef<Operation *> targets);
  Value copy(Value value);

  func::FuncOp function;
  Operation *terminator;
  /// Order beyond that of values: these wait for the key.
  DenseMap<Operation *, SmallVector<Operation *>> waiting;
  DenseSet<Value> placed;
};
} // namespace

/// Creates a fusion that copies the value as its last reader.
Value ResultPlacer::copy(Value value) {
  OpBuilder builder(terminator);
  nd::MeshAttr mesh = nd::MeshAttr::of(function);
  nd::TensorType type = nd::getTensorType(value);
  exec::Order order = exec::getOrder(value).value_or(exec::Order());
  SmallVector<int64_t> sizes;
  for (StringAttr dim : order)
    sizes.push_back(type.getLocalSize(type.getDimIndex(dim.getValue()), mesh));
  StringAttr lanes = order.empty() ? builder.getStringAttr("") : order.back();
  auto plan = exec::PlanAttr::get(builder.getContext(), order,
                                  ArrayRef<StringAttr>(), lanes, sizes);
  auto fusion = exec::FusionOp::create(builder, value.getLoc(),
                                       TypeRange(value.getType()), value, plan);
  fusion->setAttr(exec::ordersAttrName, builder.getArrayAttr(exec::getOrderAttr(
                                            builder.getContext(), order)));
  Block &body = fusion.getBody().emplaceBlock();
  Value argument = body.addArgument(value.getType(), value.getLoc());
  builder.setInsertionPointToEnd(&body);
  exec::YieldOp::create(builder, value.getLoc(), argument);
  return fusion.getResult(0);
}

/// Whether one of `targets` depends on `from`, through values or waits.
bool ResultPlacer::reaches(Operation *from, ArrayRef<Operation *> targets) {
  SmallVector<Operation *> stack = {from};
  DenseSet<Operation *> seen;
  while (!stack.empty()) {
    Operation *op = stack.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    if (llvm::is_contained(targets, op))
      return true;
    llvm::append_range(stack, op->getUsers());
    llvm::append_range(stack, waiting.lookup(op));
  }
  return false;
}

/// Whether the op that computes the result also reads the replaced argument at
/// other points.
bool ResultPlacer::overwritesItsOperand(unsigned index) {
  BlockArgument argument = getReplacedArgument(function, index);
  auto value = cast<OpResult>(terminator->getOperand(index));
  Operation *op = value.getOwner();
  for (OpOperand &operand : op->getOpOperands())
    if (argument && operand.get() == argument &&
        !canWriteOver(op, operand.getOperandNumber(), value.getResultNumber()))
      return true;
  return false;
}

bool ResultPlacer::canBeWrittenInPlace(unsigned index) {
  Value value = terminator->getOperand(index);
  if (isa<BlockArgument>(value) || placed.contains(value) ||
      overwritesItsOperand(index))
    return false;
  SmallVector<Operation *> readers = getReadersBefore(function, index);
  if (reaches(value.getDefiningOp(), readers))
    return false;
  for (Operation *reader : readers)
    waiting[reader].push_back(value.getDefiningOp());
  return true;
}

void ResultPlacer::run() {
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index) {
    Value value = terminator->getOperand(index);
    if (value == getReplacedArgument(function, index))
      continue;
    if (!canBeWrittenInPlace(index)) {
      // Two copies, as another result may be written over the argument before
      // this one's old value is read for the last time.
      if (isa<BlockArgument>(value))
        value = copy(value);
      value = copy(value);
      terminator->setOperand(index, value);
      for (Operation *reader : getReadersBefore(function, index))
        waiting[reader].push_back(value.getDefiningOp());
    }
    placed.insert(value);
  }
}

namespace {
struct PlaceResults : impl::PlaceResultsBase<PlaceResults> {
  void runOnOperation() override {
    if (!getOperation().isDeclaration())
      ResultPlacer(getOperation()).run();
  }
};
} // namespace

} // namespace meshc::schedule
