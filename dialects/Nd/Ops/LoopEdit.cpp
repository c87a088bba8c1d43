//===- LoopEdit.cpp - changes of a loop's ties ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::nd {

OpResult findStackedResult(ScanOp scan, Value yielded) {
  for (OpResult result : scan->getResults().drop_front(scan.getCarriedCount()))
    if (scan.getTie(result).yielded == yielded)
      return result;
  return {};
}

BlockArgument getStackedArgument(ScanOp scan, Value operand) {
  unsigned index = scan.getCarriedCount();
  for (Value each : scan.getStacked()) {
    if (each == operand)
      return scan.getBlock().getArgument(index);
    ++index;
  }
  scan.getStackedMutable().append(operand);
  return scan.getBlock().insertArgument(
      index, getEntryType(getTensorType(operand), scan.getDim()),
      operand.getLoc());
}

BlockArgument getWholeArgument(ScanOp scan, Value operand) {
  unsigned index = scan.getCarriedCount() + scan.getStackedCount();
  for (Value each : scan.getWhole()) {
    if (each == operand)
      return scan.getBlock().getArgument(index);
    ++index;
  }
  scan.getWholeMutable().append(operand);
  return scan.getBlock().addArgument(operand.getType(), operand.getLoc());
}

OpOperand *getWholeOperand(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto scan = argument ? dyn_cast<ScanOp>(argument.getOwner()->getParentOp())
                       : ScanOp();
  if (!scan || scan.getTie(argument).kind != TieKind::Whole)
    return nullptr;
  return &scan->getOpOperand(argument.getArgNumber());
}

Value getOutsideLoops(Value value) {
  while (OpOperand *whole = getWholeOperand(value))
    value = whole->get();
  return value;
}

NamedOpInterface findAddition(ScanOp loop, unsigned carried) {
  BlockArgument total = loop.getBlock().getArgument(carried);
  if (loop.getConditional() || !total.hasOneUse())
    return {};
  auto op = dyn_cast<NamedOpInterface>(*total.user_begin());
  if (!op || op->getNumOperands() != 2 || op->getNumResults() != 1 ||
      !op.getPartitionRule().jointlyLinear)
    return {};
  Value result = op->getResult(0);
  Value summand = op->getOperand(op->getOperand(0) == total ? 1 : 0);
  if (loop.getYield()->getOperand(carried) != result || !result.hasOneUse() ||
      summand.getType() != total.getType() ||
      result.getType() != total.getType())
    return {};
  return op;
}

void dropStackedOperand(ScanOp scan, BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  scan.getStackedMutable().erase(index - scan.getCarriedCount());
  scan.getBlock().eraseArgument(index);
}

void eraseDeadOps(RewriterBase &rewriter, Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

/// The name, class and parameter of a value.
static DictionaryAttr getIdentity(Value value) {
  MLIRContext *context = value.getContext();
  auto tensor = TensorAttributes::of(value);
  NamedAttrList attributes;
  if (StringAttr name = tensor.getName())
    setName(attributes, name);
  if (auto tensorClass = tensor.getClass())
    setClass(attributes, context, *tensorClass);
  if (StringAttr parameter = tensor.getParameter())
    setParameter(attributes, parameter);
  return attributes.getDictionary(context);
}

static void setAttributes(ScanOp scan, ArrayRef<DictionaryAttr> attributes) {
  for (auto [index, each] : llvm::enumerate(attributes))
    if (each && !each.empty())
      scan.setResultAttributes(index, each);
}

/// A loop before `scan` with its body and these operands and types of results.
static ScanOp createLike(RewriterBase &rewriter, ScanOp scan,
                         ValueRange carried, ValueRange stacked,
                         ValueRange whole, TypeRange results) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(scan);
  auto made =
      ScanOp::create(rewriter, scan.getLoc(), results, scan.getDim(),
                     scan.getSize(), scan.getBackwards(), scan.getConditional(),
                     scan.getMicroBatches(), nullptr, carried, stacked, whole);
  made->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(scan.getRegion(), made.getRegion(),
                              made.getRegion().end());
  return made;
}

ScanOp addStackedResults(RewriterBase &rewriter, ScanOp scan,
                         ValueRange entries) {
  unsigned known = scan.getNumResults();
  SmallVector<Type> types(scan.getResultTypes());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < known; ++i)
    attributes.push_back(scan.getResultAttributes(i));
  for (Value entry : entries) {
    types.push_back(
        getStackedType(getTensorType(entry), scan.getDim(), scan.getSize()));
    attributes.push_back(getIdentity(entry));
  }
  ScanOp made = createLike(rewriter, scan, scan.getCarried(), scan.getStacked(),
                           scan.getWhole(), types);
  rewriter.modifyOpInPlace(made.getYield(), [&] {
    made.getYield()->insertOperands(known, entries);
  });
  setAttributes(made, attributes);
  rewriter.replaceOp(scan, made.getResults().take_front(known));
  return made;
}

template <typename Range, typename Container>
static void appendKept(Range &&range, const llvm::BitVector &kept,
                       unsigned first, Container &to) {
  for (auto [index, element] : llvm::enumerate(range))
    if (kept[first + index])
      to.push_back(element);
}

ScanOp keepTies(RewriterBase &rewriter, ScanOp scan,
                const llvm::BitVector &arguments,
                const llvm::BitVector &results) {
  unsigned carriedCount = scan.getCarriedCount();
  SmallVector<Value> carried, stacked, whole;
  appendKept(scan.getCarried(), arguments, 0, carried);
  appendKept(scan.getStacked(), arguments, carriedCount, stacked);
  appendKept(scan.getWhole(), arguments, carriedCount + scan.getStackedCount(),
             whole);
  SmallVector<Type> types;
  appendKept(scan.getResultTypes(), results, 0, types);
  SmallVector<DictionaryAttr> attributes;
  for (unsigned index : results.set_bits())
    attributes.push_back(scan.getResultAttributes(index));

  ScanOp made = createLike(rewriter, scan, carried, stacked, whole, types);
  llvm::BitVector dropped = results;
  dropped.flip();
  rewriter.modifyOpInPlace(made.getYield(),
                           [&] { made.getYield()->eraseOperands(dropped); });
  eraseDeadOps(rewriter, made.getBlock());
  dropped = arguments;
  dropped.flip();
  made.getBlock().eraseArguments(dropped);
  setAttributes(made, attributes);
  SmallVector<Value> replacements(scan.getNumResults());
  for (auto [index, result] : llvm::zip(results.set_bits(), made.getResults()))
    replacements[index] = result;
  rewriter.replaceOp(scan, replacements);
  return made;
}

} // namespace meshc::nd
