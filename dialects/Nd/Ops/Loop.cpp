//===- Loop.cpp - blocks that run once per entry of a dim -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "dialects/Nd/Ops/Loop.cpp.inc"

namespace meshc::nd {

void NdDialect::registerLoop() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Nd/Ops/Loop.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static TensorType keepPartial(TensorType type, TensorType from) {
  return from.isPartial()
             ? type.withPartial(from.getPartialKind(), from.getPartialAxes())
             : type;
}

TensorType getEntryType(TensorType stacked, StringRef dim) {
  auto name = StringAttr::get(stacked.getContext(), dim);
  return keepPartial(stacked.withoutDims(name), stacked);
}

TensorType getStackedType(TensorType entry, StringRef dim, int64_t size) {
  SmallVector<DimAttr> dims(entry.getDims());
  dims.push_back(DimAttr::get(entry.getContext(), dim, size));
  return keepPartial(entry.withDims(dims), entry);
}

int64_t countRuns(Operation *op) {
  int64_t runs = 1;
  for (auto loop = op->getParentOfType<ScanOp>(); loop;
       loop = loop->getParentOfType<ScanOp>())
    runs *= static_cast<int64_t>(loop.getSize());
  return runs;
}

/// Calls `body` with the offset of each element of the entry, in the entry and
/// in the stacked block.
static void forEachOfEntry(const HostTensor &entry, const HostTensor &stacked,
                           StringRef dim, int64_t index,
                           function_ref<void(int64_t, int64_t)> body) {
  int64_t first = index * stacked.getStrideOf(dim);
  SmallVector<SmallVector<int64_t>> strides = {
      entry.getStrides(), stacked.getStridesAlong(entry.type)};
  forEachIndex(entry.sizes, strides, [&](auto, ArrayRef<int64_t> offsets) {
    body(offsets[0], first + offsets[1]);
  });
}

HostTensor takeEntry(const HostTensor &stacked, StringRef dim, int64_t index,
                     TensorType type) {
  HostTensor entry;
  entry.type = type;
  for (auto [each, size] : llvm::zip(stacked.type.getDims(), stacked.sizes))
    if (each.getName().getValue() != dim)
      entry.sizes.push_back(size);
  entry.data.resize(stacked.getElementCount() /
                    stacked.sizes[stacked.type.getDimIndex(dim)]);
  forEachOfEntry(entry, stacked, dim, index, [&](int64_t to, int64_t from) {
    entry.data[to] = stacked.data[from];
  });
  return entry;
}

void putEntry(const HostTensor &entry, StringRef dim, int64_t index,
              HostTensor &stacked) {
  forEachOfEntry(entry, stacked, dim, index, [&](int64_t from, int64_t to) {
    stacked.data[to] = entry.data[from];
  });
}

SmallVector<Block *> getBlocks(FunctionOpInterface function) {
  SmallVector<Block *> blocks;
  if (function.isDeclaration())
    return blocks;
  blocks.push_back(&function.getFunctionBody().front());
  function.walk<WalkOrder::PreOrder>(
      [&](ScanOp scan) { blocks.push_back(&scan.getBlock()); });
  return blocks;
}

bool isStepBlock(Block &block) {
  auto loop = dyn_cast<ScanOp>(block.getParentOp());
  return !loop || loop.getMicroBatches();
}

//===----------------------------------------------------------------------===//
// ScanOp
//===----------------------------------------------------------------------===//

void ScanOp::build(OpBuilder &builder, OperationState &state, StringRef dim,
                   int64_t size, bool backwards, ValueRange carried,
                   ValueRange stacked, ValueRange whole,
                   TypeRange stackedResults) {
  SmallVector<Type> types(carried.getTypes());
  llvm::append_range(types, stackedResults);
  build(builder, state, types, dim, size, backwards, /*conditional=*/false,
        /*micro_batches=*/false, nullptr, carried, stacked, whole);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(state.regions.front().get());
  for (Value value : carried)
    block->addArgument(value.getType(), value.getLoc());
  for (Value value : stacked)
    block->addArgument(getEntryType(getTensorType(value), dim), value.getLoc());
  for (Value value : whole)
    block->addArgument(value.getType(), value.getLoc());
}

YieldOp ScanOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

SmallVector<Tie> ScanOp::getTies() {
  SmallVector<Tie> ties;
  for (BlockArgument argument : getBlock().getArguments())
    ties.push_back(getTie(argument));
  for (OpResult result :
       getOperation()->getResults().drop_front(getCarriedCount()))
    ties.push_back(getTie(result));
  return ties;
}

Tie ScanOp::getTie(BlockArgument argument) {
  unsigned index = argument.getArgNumber(), carried = getCarriedCount();
  Value operand = getOperands()[index];
  if (index < carried)
    return {TieKind::Carried, operand, argument, getYield().getOperand(index),
            cast<OpResult>(getResult(index))};
  TieKind kind = index < carried + getStackedCount() ? TieKind::StackedOperand
                                                     : TieKind::Whole;
  return {kind, operand, argument, Value(), OpResult()};
}

Tie ScanOp::getTie(OpResult result) {
  unsigned index = result.getResultNumber();
  if (index < getCarriedCount())
    return getTie(getBlock().getArgument(index));
  return {TieKind::StackedResult, Value(), BlockArgument(),
          getYield().getOperand(index), result};
}

DictionaryAttr ScanOp::getResultAttributes(unsigned result) {
  return getResAttrs() ? cast<DictionaryAttr>((*getResAttrs())[result])
                       : DictionaryAttr();
}

void ScanOp::setResultAttributes(unsigned result, DictionaryAttr attributes) {
  auto none = DictionaryAttr::get(getContext());
  SmallVector<Attribute> all(getNumResults(), none);
  if (getResAttrs())
    llvm::copy(*getResAttrs(), all.begin());
  all[result] = attributes ? attributes : none;
  setResAttrsAttr(ArrayAttr::get(getContext(), all));
}

SmallVector<int64_t> ScanOp::getIterations() {
  SmallVector<int64_t> entries;
  for (int64_t i = 0, count = getSize(); i < count; ++i)
    entries.push_back(getBackwards() ? count - 1 - i : i);
  return entries;
}

/// Whether the stacked tensor has the loop's dim, whole, with its size.
static LogicalResult verifyStacked(ScanOp op, Value value, StringRef what,
                                   unsigned index) {
  TensorType type = getTensorType(value);
  DimAttr dim = type.getDim(op.getDim());
  if (!dim || dim.getSize() != static_cast<int64_t>(op.getSize()))
    return op.emitOpError("runs over ")
           << op.getSize() << " entries of dim '" << op.getDim()
           << "', which stacked " << what << " " << index << " must have; got "
           << type;
  if (!dim.getAxes().empty())
    return op.emitOpError("runs over dim '")
           << op.getDim() << "', which must be whole on every rank; stacked "
           << what << " " << index << " is " << type;
  return success();
}

/// Whether the first carried value can be the condition of a loop with `while`.
static LogicalResult verifyCondition(ScanOp op) {
  if (op.getCarried().empty())
    return op.emitOpError("with 'while' must carry its condition, a scalar i1, "
                          "as the first value");
  TensorType type = getTensorType(op.getCarried().front());
  if (type.getRank() == 0 && type.getElementType().isSignlessInteger(1) &&
      !type.isPartial())
    return success();
  return op.emitOpError("with 'while' must carry its condition as the first "
                        "value, a scalar i1 that is not partial; got ")
         << type;
}

static InFlightDiagnostic reportMismatch(ScanOp op, const Twine &what, Type got,
                                         Type wanted) {
  return op.emitOpError() << what << " has type " << got << ", expected "
                          << wanted;
}

static LogicalResult verifyArguments(ScanOp op) {
  Block &block = op.getBlock();
  if (block.getNumArguments() != op->getNumOperands())
    return op.emitOpError("has ")
           << op->getNumOperands() << " operands, but its block has "
           << block.getNumArguments() << " arguments";
  for (auto [index, value] : llvm::enumerate(op.getStacked()))
    if (failed(verifyStacked(op, value, "operand", index)))
      return failure();
  for (auto [index, argument, operand] :
       llvm::enumerate(block.getArguments(), op->getOperands())) {
    bool isEntry = index >= op.getCarriedCount() &&
                   index < op.getCarriedCount() + op.getStackedCount();
    TensorType wanted = getTensorType(operand);
    if (isEntry)
      wanted = getEntryType(wanted, op.getDim());
    if (argument.getType() != wanted)
      return reportMismatch(op, "argument " + Twine(index) + " of the block",
                            argument.getType(), wanted);
  }
  for (Value carried : op.getCarried())
    if (getTensorType(carried).hasDim(op.getDim()))
      return op.emitOpError("a carried value cannot have the loop's dim '")
             << op.getDim() << "'; got " << carried.getType();
  return success();
}

static LogicalResult verifyResults(ScanOp op) {
  auto yield = dyn_cast<YieldOp>(op.getBlock().getTerminator());
  if (!yield)
    return op.emitOpError("the block must end with nd.yield");
  if (op->getNumResults() < op.getCarriedCount() ||
      yield->getNumOperands() != op->getNumResults())
    return op.emitOpError("carries ")
           << op.getCarriedCount() << " values and yields "
           << yield->getNumOperands() << ", but has " << op->getNumResults()
           << " results; expected a result for each yielded value, the carried "
              "ones first";
  for (auto [index, result, yielded] :
       llvm::enumerate(op->getResults(), yield->getOperands())) {
    TensorType wanted = getTensorType(result);
    if (index >= op.getCarriedCount()) {
      if (failed(verifyStacked(op, result, "result",
                               index - op.getCarriedCount())))
        return failure();
      wanted = getEntryType(wanted, op.getDim());
    } else if (result.getType() != op.getCarried()[index].getType()) {
      return reportMismatch(op, "carried result " + Twine(index),
                            result.getType(), op.getCarried()[index].getType());
    }
    if (yielded.getType() != wanted)
      return reportMismatch(op, "yielded value " + Twine(index),
                            yielded.getType(), wanted);
  }
  return success();
}

LogicalResult ScanOp::verify() {
  if (static_cast<int64_t>(getSize()) < 1)
    return emitOpError("must run at least once, got size ")
           << static_cast<int64_t>(getSize());
  if (getDim().empty())
    return emitOpError("needs the name of a dim");
  if (getBlock().empty() || !getBlock().mightHaveTerminator())
    return emitOpError("the block must end with nd.yield");
  if (failed(verifyArguments(*this)) || failed(verifyResults(*this)) ||
      (getConditional() && failed(verifyCondition(*this))))
    return failure();
  if (getResAttrs() && getResAttrs()->size() != getNumResults())
    return emitOpError("'res_attrs' must have one dictionary for each of ")
           << getNumResults() << " results, got " << getResAttrs()->size();
  for (unsigned i = 0; getResAttrs() && i < getNumResults(); ++i)
    if (failed(verifyTensorAttributes(*this, getResultAttributes(i),
                                      "result " + Twine(i))))
      return failure();
  return success();
}

} // namespace meshc::nd
