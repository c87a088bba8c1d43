//===- PositionDecoder.cpp - a model's values at one position -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Autodiff/PositionDecoder.h"
#include "dialects/Nd/Ops/DimNames.h"
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

nd::TensorType getTypeAtPositions(nd::TensorType type, Names dims,
                                  nd::DimAttr span) {
  nd::TensorType rest = type.withoutDims(dims);
  if (!span || rest == type)
    return rest;
  SmallVector<nd::DimAttr> all(rest.getDims());
  all.push_back(span);
  return rest.withDims(all);
}

PositionDecoder::PositionDecoder(Block &block, Value position,
                                 StringAttr positions, nd::DimAttr span,
                                 const PositionDims &varying)
    : positions(positions), span(span), varying(varying), function{&block} {
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
  // Chains of ops may be longer than the stack allows calls to nest: what an op
  // needs is computed before it.
  SmallVector<Need> open = {{value, SmallVector<StringAttr>(dims)}};
  while (!open.empty()) {
    Need need = open.back();
    Key key = getKey(need.value, need.dims);
    size_t count = open.size();
    if (!values.contains(key))
      addNeeds(need, open);
    if (open.size() > count)
      continue;
    if (!values.contains(key)) {
      MaybeValue computed = compute(need.value, need.dims);
      if (failed(computed))
        return failure();
      values[key] = *computed;
    }
    open.pop_back();
  }
  return values.lookup(getKey(value, dims));
}

/// Adds what the value needs and is not known yet, the first need last. What
/// cannot be computed is left for `compute`, which says why.
void PositionDecoder::addNeeds(const Need &need, SmallVector<Need> &open) {
  auto result = dyn_cast<OpResult>(need.value);
  if (!result || !isEntrywise(result, need.dims))
    return;
  Operation *op = result.getOwner();
  SmallVector<Need> needs;
  if (auto scan = dyn_cast<nd::ScanOp>(op)) {
    for (const nd::Tie &tie : scan.getTies())
      if (tie.kind == nd::TieKind::Carried && !varying.isOverPositions(scan))
        needs.push_back(
            {tie.operand, SmallVector<StringAttr>(varying.of(tie.argument))});
  } else if (!isa<nd::IotaOp>(op)) {
    // Of an attention, only the query: its other operands may have caches.
    unsigned end = isa<nd::AttentionOp>(op) ? 1 : op->getNumOperands();
    for (unsigned i = 0; i < end; ++i)
      needs.push_back({op->getOperand(i), getDimsOf(result, i, need.dims)});
  }
  auto *last = llvm::find_if(needs, [&](const Need &each) {
    return !containsAll(each.dims, varying.of(each.value));
  });
  for (const Need &each : llvm::reverse(llvm::make_range(needs.begin(), last)))
    if (!values.contains(getKey(each.value, each.dims)))
      open.push_back(each);
}

/// The dims of operand `index` along which its entries at the position are
/// needed for those of the result along `dims`.
SmallVector<StringAttr>
PositionDecoder::getDimsOf(OpResult result, unsigned index, Names dims) const {
  SmallVector<StringAttr> same;
  if (auto rename = dyn_cast<nd::RenameOp>(result.getOwner())) {
    for (auto [old, name] : llvm::zip(rename.getFrom(), rename.getTo()))
      if (llvm::is_contained(dims, cast<StringAttr>(name)))
        same.push_back(cast<StringAttr>(old));
    for (StringAttr dim : dims)
      if (!llvm::is_contained(rename.getTo(), dim))
        same.push_back(dim);
    return same;
  }
  Operation *op = result.getOwner();
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  for (const nd::Factor &factor : rule.factors)
    if (StringAttr dim = factor.operandDims[index];
        dim &&
        llvm::is_contained(dims, factor.resultDims[result.getResultNumber()]))
      same.push_back(dim);
  return same;
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
         << positions.getValue()
         << "'; in_generation says what generation computes instead";
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
             << "', and generation has no inputs but the tokens; in_generation "
                "says what stands for it";
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
      return factor.isLocal() && factor.resultDims[index] == dim;
    });
  });
  if (!isParallel || isa<nd::AttentionOp>(op))
    return isParallel;
  return llvm::none_of(dims,
                       [&](StringAttr dim) { return nd::namesDim(op, dim); });
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
         << positions.getValue()
         << "'; in_generation says what generation computes instead";
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
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    MaybeValue value = getOperand(op, operand, getDimsOf(result, index, dims));
    if (failed(value))
      return failure();
    operands.push_back(*value);
  }
  return clone(result, operands, dims);
}

FailureOr<Value> PositionDecoder::computeRename(nd::RenameOp op, Names dims) {
  SmallVector<Attribute> from, to;
  for (auto [old, name] : llvm::zip(op.getFrom(), op.getTo()))
    if (!llvm::is_contained(dims, cast<StringAttr>(name))) {
      from.push_back(old);
      to.push_back(name);
    }
  auto result = cast<OpResult>(op.getResult());
  MaybeValue input = getOperand(op, op.getInput(), getDimsOf(result, 0, dims));
  if (failed(input) || from.empty())
    return input;
  OpBuilder builder = builderAt(op.getResult());
  return Value(nd::RenameOp::create(builder, op.getLoc(), *input,
                                    builder.getArrayAttr(from),
                                    builder.getArrayAttr(to)));
}

/// The op with these operands, whose result is that at the position along
/// `dims`.
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
    other.setType(getTypeAtPositions(nd::getTensorType(other), lost, span));
  }
  return copy->getResult(index);
}

/// The entry of a new value at the position along `dims`, in the block of the
/// old value `near`.
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
