//===- PositionDecoder.cpp - a model's values at one position -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Autodiff/PositionDecoder.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"

using namespace mlir;

namespace meshc::autodiff {

using Names = ArrayRef<StringAttr>;

static bool containsAll(Names names, Names some) {
  return llvm::all_of(
      some, [&](StringAttr name) { return llvm::is_contained(names, name); });
}

PositionDecoder::PositionDecoder(Block &block, Value position,
                                 StringAttr positions,
                                 const PositionDims &varying)
    : positions(positions), varying(varying), function{&block} {
  function.position = position;
}

/// After an error, the bodies that were not finished are left.
PositionDecoder::~PositionDecoder() {
  for (auto &body : bodies)
    delete body->block;
}

PositionDecoder::Key PositionDecoder::getKey(Value value, Names dims) const {
  SmallVector<Attribute> sorted(dims);
  llvm::sort(sorted, [](Attribute a, Attribute b) {
    return cast<StringAttr>(a).getValue() < cast<StringAttr>(b).getValue();
  });
  return {value, ArrayAttr::get(positions.getContext(), sorted)};
}

void PositionDecoder::define(Value value, Names dims, Value at) {
  values[getKey(value, dims)] = at;
}

DecodingBlock &PositionDecoder::blockOf(Value value) {
  auto found = blocks.find(value.getParentBlock());
  return found == blocks.end() ? function : *found->second;
}

OpBuilder PositionDecoder::builderAt(Value value) {
  OpBuilder builder(positions.getContext());
  builder.setInsertionPointToEnd(blockOf(value).block);
  return builder;
}

/// The position in this block.
Value PositionDecoder::getPosition(DecodingBlock &block) {
  if (!block.position) {
    Value outer = getPosition(*block.parent);
    block.position = addOperand(block, block.whole, outer, outer.getType());
  }
  return block.position;
}

FailureOr<Value> PositionDecoder::get(Value value, Names dims) {
  Key key = getKey(value, dims);
  if (Value known = values.lookup(key))
    return known;
  MaybeValue computed = compute(value, dims);
  if (succeeded(computed))
    values[key] = *computed;
  return computed;
}

FailureOr<Value> PositionDecoder::compute(Value value, Names dims) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return computeArgument(argument, dims);
  auto result = cast<OpResult>(value);
  Names least = varying.of(value);
  if (isEntrywise(result, dims))
    return computeOp(result, dims);
  if (dims.size() != least.size()) {
    // The value is the same in all steps along the other dims.
    MaybeValue more = get(value, least);
    if (failed(more))
      return failure();
    SmallVector<StringAttr> rest(dims);
    llvm::erase_if(
        rest, [&](StringAttr dim) { return llvm::is_contained(least, dim); });
    return take(*more, rest, value);
  }
  return emitError(value.getLoc())
         << "generation computes the positions of '" << positions.getValue()
         << "' one after the other, and this operation needs others than its "
            "own; what needs earlier positions is written as dot_attention "
            "with the mask iota(memory) <= iota("
         << positions.getValue() << "), or as a loop over '"
         << positions.getValue() << "'";
}

FailureOr<Value> PositionDecoder::computeArgument(BlockArgument argument,
                                                  Names dims) {
  auto scan = dyn_cast<nd::ScanOp>(argument.getOwner()->getParentOp());
  nd::Tie tie = scan ? scan.getTie(argument) : nd::Tie{};
  if (!scan || tie.kind == nd::TieKind::Carried) {
    Names least = varying.of(argument);
    Value known = values.lookup(getKey(argument, least));
    if (!known)
      return emitError(argument.getLoc())
             << "the logits depend on input '"
             << nd::TensorAttributes::of(argument).getName().getValue()
             << "', and generation has no inputs but the tokens";
    SmallVector<StringAttr> rest(dims);
    llvm::erase_if(
        rest, [&](StringAttr dim) { return llvm::is_contained(least, dim); });
    return take(known, rest, argument);
  }
  DecodingBlock &block = blockOf(argument);
  bool isStacked = tie.kind == nd::TieKind::StackedOperand;
  SmallVector<StringAttr> outerDims(dims);
  if (block.scan != scan) {
    if (isStacked)
      outerDims.push_back(scan.getDimAttr());
    return get(tie.operand, outerDims);
  }
  MaybeValue outer = get(tie.operand, outerDims);
  if (failed(outer))
    return failure();
  auto type = nd::getTensorType(*outer);
  if (!isStacked)
    return addOperand(block, block.whole, *outer, type);
  return addOperand(block, block.stacked, *outer,
                    nd::getEntryType(type, scan.getDim()));
}

/// Whether the entries of the result along `dims` are each computed from the
/// entries of the operands at the same place.
bool PositionDecoder::isEntrywise(OpResult result, Names dims) const {
  Operation *op = result.getOwner();
  if (isa<nd::ScanOp>(op))
    return getKey(result, dims) == getKey(result, varying.of(result));
  if (dims.empty() || isa<nd::RenameOp, nd::IotaOp>(op))
    return true;
  if (op->hasTrait<nd::ReadsPosition>())
    return false;
  unsigned index = result.getResultNumber();
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  bool isParallel = llvm::all_of(dims, [&](StringAttr dim) {
    return llvm::any_of(rule.factors, [&](const nd::Factor &factor) {
      return factor.kind == nd::FactorKind::Parallel &&
             factor.resultDims[index] == dim;
    });
  });
  if (!isParallel || isa<nd::AttentionOp>(op))
    return isParallel;
  // An op that names a dim treats it differently from the others.
  return llvm::none_of(
      op->getName().getAttributeNames(), [&](StringAttr attribute) {
        auto name = dyn_cast_or_null<StringAttr>(op->getAttr(attribute));
        return name && llvm::is_contained(dims, name);
      });
}

/// The operand for an op that is computed at the position along `dims`.
FailureOr<Value> PositionDecoder::getOperand(Operation *op, Value operand,
                                             Names dims) {
  if (containsAll(dims, varying.of(operand)))
    return get(operand, dims);
  StringRef seen = llvm::find_if(varying.of(operand), [&](StringAttr dim) {
                     return !llvm::is_contained(dims, dim);
                   })->getValue();
  return emitError(op->getLoc())
         << "generation computes the positions of '" << positions.getValue()
         << "' one after the other, and this operation combines all entries of "
            "'"
         << seen << "'; write it as dot_attention with the mask iota("
         << (seen == positions.getValue() ? "memory" : seen) << ") <= iota("
         << positions.getValue() << "), or as a loop over '"
         << positions.getValue() << "'";
}

FailureOr<Value> PositionDecoder::computeOp(OpResult result, Names dims) {
  Operation *op = result.getOwner();
  if (auto scan = dyn_cast<nd::ScanOp>(op))
    return computeScan(scan, result);
  if (auto rename = dyn_cast<nd::RenameOp>(op))
    return computeRename(rename, dims);
  if (auto attention = dyn_cast<nd::AttentionOp>(op))
    return computeAttention(attention, result, dims);
  if (isa<nd::IotaOp>(op) && !dims.empty()) {
    OpBuilder builder = builderAt(result);
    return nd::ValueBuilder(builder, op->getLoc())
        .castTo(getPosition(blockOf(result)),
                nd::getTensorType(result).getElementType());
  }
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    SmallVector<StringAttr> same;
    for (const nd::Factor &factor : rule.factors)
      if (StringAttr dim = factor.operandDims[index];
          dim &&
          llvm::is_contained(dims, factor.resultDims[result.getResultNumber()]))
        same.push_back(dim);
    MaybeValue value = getOperand(op, operand, same);
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  return clone(result, operands, dims);
}

FailureOr<Value> PositionDecoder::computeRename(nd::RenameOp op, Names dims) {
  SmallVector<StringAttr> same;
  SmallVector<Attribute> from, to;
  for (auto [old, name] : llvm::zip(op.getFrom(), op.getTo())) {
    bool isTaken = llvm::is_contained(dims, cast<StringAttr>(name));
    if (isTaken) {
      same.push_back(cast<StringAttr>(old));
      continue;
    }
    from.push_back(old);
    to.push_back(name);
  }
  for (StringAttr dim : dims)
    if (!llvm::is_contained(op.getTo(), dim))
      same.push_back(dim);
  MaybeValue input = getOperand(op, op.getInput(), same);
  if (failed(input) || from.empty())
    return input;
  OpBuilder builder = builderAt(op.getResult());
  return Value(nd::RenameOp::create(builder, op.getLoc(), *input,
                                    builder.getArrayAttr(from),
                                    builder.getArrayAttr(to)));
}

/// The op with these operands, whose result lacks `dims`.
Value PositionDecoder::clone(OpResult result, ValueRange operands, Names dims) {
  Operation *op = result.getOwner();
  OpBuilder builder = builderAt(result);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  unsigned index = result.getResultNumber();
  for (auto [number, other] : llvm::enumerate(copy->getResults())) {
    SmallVector<StringAttr> lost;
    for (const nd::Factor &factor : rule.factors)
      if (factor.resultDims[number] &&
          llvm::is_contained(dims, factor.resultDims[index]))
        lost.push_back(factor.resultDims[number]);
    other.setType(nd::getTensorType(other).withoutDims(lost));
  }
  return copy->getResult(index);
}

/// The entry of a new value at the position, in the block of the old value
/// `near`.
Value PositionDecoder::take(Value value, Names dims, Value near) {
  OpBuilder builder = builderAt(near);
  for (StringAttr dim : dims)
    value = nd::GatherOp::create(builder, near.getLoc(), value,
                                 getPosition(blockOf(near)), dim);
  return value;
}

FailureOr<ArrayRef<DecodingCache>> PositionDecoder::finish() {
  if (failed(finishStates(function)))
    return failure();
  return ArrayRef<DecodingCache>(function.caches);
}

} // namespace meshc::autodiff
