//===- DecodeAttention.cpp - attention to the positions so far ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Steps/Generation/PositionDecoder.h"

using namespace mlir;

namespace meshc::steps {

/// The indices along the memory of an attention.
static Value makeEntries(OpBuilder &builder, nd::AttentionOp op) {
  nd::DimAttr memory = nd::getTensorType(op.getKeys()).getDim(op.getMemory());
  return nd::IotaOp::create(
      builder, op.getLoc(),
      nd::TensorType::get(builder.getI32Type(), {memory}));
}

/// Whether a rule of the layout cuts the memory.
static bool isMemoryCut(nd::AttentionOp op) {
  auto mesh = nd::MeshAttr::of(op);
  auto rules = op->getParentOfType<ModuleOp>().getOps<nd::RuleOp>();
  return llvm::any_of(rules, [&](nd::RuleOp rule) {
    auto axes = llvm::to_vector(rule.getAxes().getAsRange<StringAttr>());
    return rule.getDim() == op.getMemory() && mesh.getProduct(axes) > 1;
  });
}

/// The query's rows along `dims` are those of the position. Keys, values, mask,
/// bias and labels that vary along the memory are those of all positions so
/// far, from caches. The labels, and the band, whose position is now a number,
/// become a mask: one position's has no more entries than the labels. If ranks
/// have parts of the memory, primitive ops combine what they find there. The op
/// would need all keys and values, which are larger than that for few rows.
FailureOr<Value> PositionDecoder::computeAttention(nd::AttentionOp op,
                                                   OpResult result,
                                                   ArrayRef<StringAttr> dims) {
  auto getRows = [&](Value operand) {
    SmallVector<StringAttr> rows(dims);
    llvm::erase_if(rows, [&](StringAttr dim) {
      return !nd::getTensorType(operand).hasDim(dim.getValue());
    });
    return rows;
  };
  MaybeValue query = getOperand(op, op.getQuery(), getRows(op.getQuery()));
  if (failed(query))
    return failure();
  SmallVector<Value> others;
  for (auto [operand, name] :
       {std::pair(op.getKeys(), "keys"), std::pair(op.getValues(), "values"),
        std::pair(op.getMask(), "mask"), std::pair(op.getBias(), "bias"),
        std::pair(op.getRowLabels(), "row_labels"),
        std::pair(op.getMemoryLabels(), "labels")}) {
    others.emplace_back();
    if (!operand)
      continue;
    MaybeValue value = getExtended(op, operand, name, getRows(operand));
    if (failed(value))
      return failure();
    others.back() = *value;
  }
  if (op.getPredicate())
    others[2] = compareLabels(op, others[2], others[4], others[5]);
  bool takesBand =
      op.getPositionAttr() && llvm::is_contained(dims, op.getPositionAttr());
  if (takesBand)
    others[2] = restrict(op, others[2]);
  if (takesBand && op.getDistanceAttr())
    others[3] = getBiasHere(op, others[3]);
  OpBuilder builder = builderAt(result);
  auto copy = nd::AttentionOp::create(
      builder, op.getLoc(), *query, others[0], others[1], others[2], others[3],
      /*row_labels=*/Value(), /*memory_labels=*/Value(), op.getKeyAttr(),
      op.getMemoryAttr(), takesBand ? StringAttr() : op.getPositionAttr(),
      takesBand ? IntegerAttr() : op.getLowestAttr(),
      takesBand ? IntegerAttr() : op.getHighestAttr(),
      takesBand ? StringAttr() : op.getDistanceAttr(), nd::PredicateAttr());
  copy->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (!isMemoryCut(op))
    return copy->getResult(result.getResultNumber());
  builder.setInsertionPoint(copy);
  Value part = copy.decompose(builder)[result.getResultNumber()];
  copy->erase();
  return part;
}

/// An operand of the attention other than the query, with `rows` at the
/// position. If it varies along the memory, a cache has the entries of earlier
/// positions, and gets that of this one.
FailureOr<Value> PositionDecoder::getExtended(nd::AttentionOp op, Value operand,
                                              StringRef name,
                                              ArrayRef<StringAttr> rows) {
  StringAttr memory = op.getMemoryAttr();
  if (!llvm::is_contained(varying.of(operand), memory) || !rows.empty())
    return getOperand(op, operand, rows);
  bool isCausal =
      op.getHighest() && *op.getHighest() <= 0 &&
      llvm::is_contained(varying.of(op.getQuery()), op.getPositionAttr());
  if (!isCausal)
    return emitError(op.getLoc())
           << "generation computes the positions of '" << positions.getValue()
           << "' one after the other, and this attention may see later entries "
              "of '"
           << memory.getValue() << "'; give dot_attention the mask iota("
           << memory.getValue() << ") <= iota(" << positions.getValue()
           << "), alone or joined to others by 'and'";
  if (Value known = extended.lookup(operand))
    return known;
  MaybeValue entry = getOperand(op, operand, memory);
  if (failed(entry))
    return failure();
  nd::TensorType type = nd::getTensorType(operand);
  auto scores = nd::AttentionScores::of(op);
  SmallVector<Attribute> order, inner;
  for (nd::DimAttr dim : type.getDims())
    if (dim.getName() != memory)
      (scores.isRow(dim.getName()) ? order : inner).push_back(dim.getName());
  order.push_back(memory);
  llvm::append_range(order, inner);
  DecodingBlock &block = blockOf(op.getOutput());
  unsigned number = addCache(block, type, name, order, op.getLoc());
  OpBuilder builder = builderAt(op.getOutput());
  nd::ValueBuilder build(builder, op.getLoc());
  Value position = getPosition(block);
  DecodingCache &cache = block.caches[number];
  cache.updated =
      build.make<nd::InsertOp>(cache.current, *entry, position, memory);
  extended[operand] = cache.updated;
  return cache.updated;
}

/// The mask, and what the labels allow.
Value PositionDecoder::compareLabels(nd::AttentionOp op, Value mask,
                                     Value ofRows, Value ofMemory) {
  OpBuilder builder = builderAt(op.getOutput());
  nd::ValueBuilder build(builder, op.getLoc());
  Value allowed = build.compare(*op.getPredicate(), ofMemory, ofRows);
  return mask ? build.make<nd::AndOp>(mask, allowed) : allowed;
}

/// What a bias by distance has for the entries of the memory.
Value PositionDecoder::getBiasHere(nd::AttentionOp op, Value bias) {
  OpBuilder builder = builderAt(op.getOutput());
  nd::ValueBuilder build(builder, op.getLoc());
  Value position = getPosition(blockOf(op.getOutput()));
  auto last =
      static_cast<double>(nd::AttentionScores::of(op).getLastPosition());
  Value distances = build.make<nd::AddOp>(
      makeEntries(builder, op),
      build.make<nd::SubOp>(build.scalar(position, last), position));
  return build.make<nd::GatherOp>(bias, distances, op.getDistanceAttr());
}

/// The mask, and the band of the attention.
Value PositionDecoder::restrict(nd::AttentionOp op, Value mask) {
  OpBuilder builder = builderAt(op.getOutput());
  nd::ValueBuilder build(builder, op.getLoc());
  Value entries = makeEntries(builder, op);
  Value position = getPosition(blockOf(op.getOutput()));
  auto add = [&](nd::Predicate predicate, std::optional<int64_t> bound) {
    if (!bound)
      return;
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    Value end = position;
    if (*bound)
      end = build.make<nd::AddOp>(
          position,
          build.scalar(position,
                       static_cast<double>(std::clamp(*bound, -most, most))));
    Value inside = build.compare(predicate, entries, end);
    mask = mask ? build.make<nd::AndOp>(mask, inside) : inside;
  };
  add(nd::Predicate::Ge, op.getLowest());
  add(nd::Predicate::Le, op.getHighest());
  return mask;
}

} // namespace meshc::steps
