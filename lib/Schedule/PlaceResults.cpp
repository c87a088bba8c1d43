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
/// Copies the values of one block that cannot be written in place: operands of
/// its terminator, and initial values of the loops in it.
class ResultPlacer {
public:
  explicit ResultPlacer(Block &block)
      : block(block), terminator(block.getTerminator()) {}

  void run();

private:
  bool canBeWrittenInPlace(unsigned index);
  bool overwritesItsOperand(unsigned index);
  bool canBeTakenOver(nd::ScanOp scan, unsigned index);
  bool reaches(Operation *from, ArrayRef<Operation *> targets);
  void placeResult(unsigned index);
  void placeInitialValues(nd::ScanOp scan);
  Value copy(Value value, Operation *before);

  Block &block;
  Operation *terminator;
  /// Order beyond that of values: these wait for the key.
  DenseMap<Operation *, SmallVector<Operation *>> waiting;
  DenseSet<Value> placed, takenOver;
};
} // namespace

/// Creates a fusion that copies the value.
Value ResultPlacer::copy(Value value, Operation *before) {
  OpBuilder builder(before);
  nd::MeshAttr mesh = nd::MeshAttr::of(before);
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
  BlockArgument argument = getReplacedArgument(block, index);
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
  auto result = cast<OpResult>(value);
  // The op that computes the initial value of a loop writes to the same place.
  BlockArgument argument = getReplacedArgument(block, index);
  ValueRange carried = getTakenOver(result.getOwner());
  if (argument && result.getResultNumber() < carried.size() &&
      carried[result.getResultNumber()] != argument)
    return false;
  SmallVector<Operation *> readers = getReadersBefore(block, index);
  if (reaches(result.getOwner(), readers))
    return false;
  for (Operation *reader : readers)
    waiting[reader].push_back(result.getOwner());
  return true;
}

void ResultPlacer::placeResult(unsigned index) {
  Value value = terminator->getOperand(index);
  if (value == getReplacedArgument(block, index))
    return;
  if (!canBeWrittenInPlace(index)) {
    value = copy(value, terminator);
    terminator->setOperand(index, value);
    for (Operation *reader : getReadersBefore(block, index))
      waiting[reader].push_back(value.getDefiningOp());
  }
  placed.insert(value);
}

/// Whether the loop may overwrite the initial value of what it carries.
bool ResultPlacer::canBeTakenOver(nd::ScanOp scan, unsigned index) {
  Value value = scan.getCarried()[index];
  if (llvm::count(scan->getOperands(), value) != 1)
    return false;
  if (isa<BlockArgument>(value))
    return llvm::any_of(
        llvm::seq(terminator->getNumOperands()), [&](unsigned operand) {
          return terminator->getOperand(operand) == scan->getResult(index) &&
                 getReplacedArgument(block, operand) == value;
        });
  return !takenOver.contains(value) &&
         !llvm::is_contained(terminator->getOperands(), value) &&
         !reaches(scan, getReadersBefore(scan, value));
}

void ResultPlacer::placeInitialValues(nd::ScanOp scan) {
  for (unsigned index = 0; index < scan.getCarriedCount(); ++index) {
    if (!canBeTakenOver(scan, index))
      scan->setOperand(index, copy(scan.getCarried()[index], scan));
    Value value = scan.getCarried()[index];
    takenOver.insert(value);
    for (Operation *reader : getReadersBefore(scan, value))
      waiting[reader].push_back(scan);
  }
}

void ResultPlacer::run() {
  // Copies of arguments are readers of them.
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index)
    if (Value value = terminator->getOperand(index);
        isa<BlockArgument>(value) && value != getReplacedArgument(block, index))
      terminator->setOperand(index, copy(value, terminator));
  for (unsigned index = 0; index < terminator->getNumOperands(); ++index)
    placeResult(index);
  // The last loop that uses a value is the one that may overwrite it.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (auto scan = dyn_cast<nd::ScanOp>(op))
      placeInitialValues(scan);
}

namespace {
struct PlaceResults : impl::PlaceResultsBase<PlaceResults> {
  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    getOperation().walk(
        [](nd::ScanOp scan) { ResultPlacer(scan.getBlock()).run(); });
    ResultPlacer(getOperation().getBody().front()).run();
  }
};
} // namespace

} // namespace meshc::schedule
