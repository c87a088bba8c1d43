//===- DecodeLoops.cpp - loops and caches of a step of generation ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Generation/PositionDecoder.h"

using namespace mlir;

namespace meshc::steps {

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// Adds an operand to the loop that `block` becomes the body of. The argument.
Value PositionDecoder::addOperand(DecodingBlock &block,
                                  SmallVector<DecodingBlock::Operand> &list,
                                  Value operand, Type type) {
  Value argument = block.block->addArgument(type, operand.getLoc());
  list.push_back({operand, argument});
  return argument;
}

/// In a loop, the iterations' caches are the entries of a cache around it.
unsigned PositionDecoder::addCache(DecodingBlock &block, nd::TensorType type,
                                   StringRef name, ArrayRef<Attribute> order,
                                   Location loc) {
  DecodingCache cache;
  if (block.parent) {
    StringAttr dim = block.scan.getDimAttr();
    auto stacked = nd::getStackedType(type, dim, block.scan.getSize());
    SmallVector<Attribute> outerOrder = {dim};
    llvm::append_range(outerOrder, order);
    cache.outer =
        addCache(*block.parent, stacked, (dim.getValue() + "." + name).str(),
                 outerOrder, loc);
    DecodingCache &outer = block.parent->caches[cache.outer];
    cache.name = outer.name;
    cache.current = addOperand(block, block.stacked, outer.current, type);
  } else {
    std::string unique = ("cache." + name).str();
    for (unsigned i = 2; !names.insert(unique).second; ++i)
      unique = ("cache." + name + "_" + Twine(i)).str();
    cache.name = StringAttr::get(type.getContext(), unique);
    cache.order.assign(order.begin(), order.end());
    cache.current = block.block->addArgument(type, loc);
  }
  block.caches.push_back(cache);
  return block.caches.size() - 1;
}

Value PositionDecoder::addCache(OpResult result, Value operand, Value entry,
                                StringAttr along, StringRef name,
                                ArrayRef<Attribute> order) {
  Location loc = result.getLoc();
  DecodingBlock &block = blockOf(result);
  unsigned number =
      addCache(block, nd::getTensorType(operand), name, order, loc);
  OpBuilder builder = builderAt(result);
  Value position = getPosition(block);
  DecodingCache &cache = block.caches[number];
  cache.updated =
      nd::ValueBuilder(builder, loc)
          .make<nd::InsertOp>(cache.current, entry, position, along);
  extended[operand] = cache.updated;
  return cache.updated;
}

//===----------------------------------------------------------------------===//
// Loops over the positions
//===----------------------------------------------------------------------===//

FailureOr<Value> PositionDecoder::computeScan(nd::ScanOp scan,
                                              OpResult result) {
  if (varying.isOverPositions(scan))
    return computeRecurrence(scan, result);
  if (failed(rebuildScan(scan)))
    return failure();
  return values.lookup(getKey(result, varying.of(result)));
}

/// A step is one iteration. Carried values stay in caches.
FailureOr<Value> PositionDecoder::computeRecurrence(nd::ScanOp scan,
                                                    OpResult result) {
  nd::Tie tie = scan.getTie(result);
  StringRef dim = scan.getDim();
  if (tie.kind == nd::TieKind::Carried)
    return emitError(scan.getLoc())
           << "the logits of each position depend on a value after the last "
              "position of this loop over '"
           << dim
           << "'; use the values of all positions: those of a name that is "
              "first assigned inside the loop";
  if (!blocks.contains(&scan.getBlock()) && failed(beginRecurrence(scan)))
    return failure();
  SmallVector<StringAttr> dims(varying.of(result));
  llvm::erase(dims, scan.getDimAttr());
  return get(tie.yielded, dims);
}

LogicalResult PositionDecoder::beginRecurrence(nd::ScanOp scan) {
  if (scan.getConditional())
    return emitError(scan.getLoc())
           << "generation computes all positions of '" << positions.getValue()
           << "', and this loop over them may end before the last; leave out "
              "its 'while'";
  if (scan.getBackwards())
    return emitError(scan.getLoc())
           << "generation computes the positions of '" << positions.getValue()
           << "' from the first on, and this loop begins with the last";
  DecodingBlock &block = blockOf(scan.getResult(0));
  blocks[&scan.getBlock()] = &block;
  for (const nd::Tie &tie : scan.getTies()) {
    if (tie.kind != nd::TieKind::Carried)
      continue;
    if (!varying.of(tie.argument).empty())
      return emitError(scan.getLoc())
             << "this loop over '" << scan.getDim() << "' carries a value with "
             << "dim '" << varying.of(tie.argument).front().getValue()
             << "', which has the positions of the text, too; generation "
                "carries what one position passes to the next";
    MaybeValue initial = getOperand(scan, tie.operand, {});
    if (failed(initial))
      return failure();
    auto type = nd::getTensorType(tie.argument);
    SmallVector<Attribute> order;
    for (nd::DimAttr dim : type.getDims())
      order.push_back(dim.getName());
    StringAttr name = nd::TensorAttributes::of(tie.result).getName();
    unsigned number = addCache(block, type, name ? name.getValue() : "state",
                               order, scan.getLoc());
    states.push_back({&block, number, tie.yielded});
    Value start = block.caches[number].current;
    // Caches are zero before the first step.
    if (!nd::isConstantOf(*initial, 0)) {
      OpBuilder builder = builderAt(scan.getResult(0));
      nd::ValueBuilder build(builder, scan.getLoc());
      Value position = getPosition(block);
      Value isFirst =
          build.compare(nd::Predicate::Eq, position, build.scalar(position, 0));
      start = build.make<nd::SelectOp>(isFirst, *initial, start);
    }
    define(tie.argument, {}, start);
  }
  return success();
}

/// Computes what the recurrences of a block carry to the next position. This
/// may reach further recurrences.
LogicalResult PositionDecoder::finishStates(DecodingBlock &block) {
  for (unsigned i = 0; i < states.size(); ++i) {
    State state = states[i];
    if (state.block != &block)
      continue;
    MaybeValue updated = get(state.yielded, {});
    if (failed(updated))
      return failure();
    block.caches[state.cache].updated = *updated;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Other loops
//===----------------------------------------------------------------------===//

/// Rebuilds the loop, and defines its results.
LogicalResult PositionDecoder::rebuildScan(nd::ScanOp scan) {
  DecodingBlock &body =
      *bodies.emplace_back(new DecodingBlock{new Block, {}, {}});
  body.parent = &blockOf(scan.getResult(0));
  body.scan = scan;
  blocks[&scan.getBlock()] = &body;
  SmallVector<Value> initial, yielded;
  SmallVector<nd::Tie> ties = scan.getTies();
  for (const nd::Tie &tie : ties) {
    if (tie.kind != nd::TieKind::Carried)
      continue;
    ArrayRef<StringAttr> dims = varying.of(tie.argument);
    MaybeValue value = get(tie.operand, dims);
    if (failed(value))
      return failure();
    initial.push_back(*value);
    define(tie.argument, dims,
           body.block->addArgument(value->getType(), tie.argument.getLoc()));
  }
  for (const nd::Tie &tie : ties) {
    if (!tie.yielded)
      continue;
    MaybeValue value = get(tie.yielded, varying.of(tie.result));
    if (failed(value))
      return failure();
    yielded.push_back(*value);
  }
  if (failed(finishStates(body)))
    return failure();
  if (scan.getConditional() && !body.caches.empty())
    return emitError(scan.getLoc())
           << "generation keeps caches of each iteration of this loop, and a "
              "loop with 'while' may end before the last; leave out its "
              "'while'";
  closeScan(body, initial, yielded);
  return success();
}

/// Makes the loop of a finished body, and what it gives to the block around it:
/// results and caches.
void PositionDecoder::closeScan(DecodingBlock &body, ValueRange carried,
                                ValueRange yielded) {
  nd::ScanOp scan = body.scan;
  SmallVector<Value> operands[2], all(yielded);
  for (auto [operand, argument] : body.stacked)
    operands[0].push_back(operand);
  for (auto [operand, argument] : body.whole)
    operands[1].push_back(operand);
  for (const DecodingCache &cache : body.caches)
    all.push_back(cache.updated);
  SmallVector<Type> types;
  for (Value value : ArrayRef(all).drop_front(carried.size()))
    types.push_back(nd::getStackedType(nd::getTensorType(value), scan.getDim(),
                                       scan.getSize()));
  OpBuilder builder = builderAt(scan.getResult(0));
  auto copy = nd::ScanOp::create(builder, scan.getLoc(), scan.getDim(),
                                 scan.getSize(), scan.getBackwards(), carried,
                                 operands[0], operands[1], types);
  copy.setConditional(scan.getConditional());
  Block &block = copy.getBlock();
  SmallVector<Value> arguments(
      body.block->getArguments().take_front(carried.size()));
  for (auto *list : {&body.stacked, &body.whole})
    for (auto [operand, argument] : *list)
      arguments.push_back(argument);
  for (auto [old, argument] : llvm::zip(arguments, block.getArguments()))
    old.replaceAllUsesWith(argument);
  for (Value &value : all)
    if (auto *found = llvm::find(arguments, value); found != arguments.end())
      value = block.getArgument(found - arguments.begin());
  block.getOperations().splice(block.end(), body.block->getOperations());
  builder.setInsertionPointToEnd(&block);
  nd::YieldOp::create(builder, scan.getLoc(), all);
  for (auto [index, result] : llvm::enumerate(scan.getResults())) {
    if (DictionaryAttr attributes = scan.getResultAttributes(index))
      copy.setResultAttributes(index, attributes);
    define(result, varying.of(result), copy.getResult(index));
  }
  for (auto [index, cache] : llvm::enumerate(body.caches))
    body.parent->caches[cache.outer].updated =
        copy.getResult(scan.getNumResults() + index);
}

} // namespace meshc::steps
