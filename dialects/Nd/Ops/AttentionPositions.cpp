//===- AttentionPositions.cpp - attention to the positions so far ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/IndexingOps.h"
#include "dialects/Nd/Ops/ModelOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"

using namespace mlir;

namespace meshc::nd {

/// The indices along the memory of an attention.
static Value makeEntries(OpBuilder &builder, AttentionOp op) {
  DimAttr memory = getTensorType(op.getKeys()).getDim(op.getMemory());
  return IotaOp::create(builder, op.getLoc(),
                        TensorType::get(builder.getI32Type(), {memory}));
}

/// Whether a rule of the layout cuts the memory.
static bool isMemoryCut(AttentionOp op) {
  auto mesh = MeshAttr::of(op);
  auto rules = op->getParentOfType<ModuleOp>().getOps<RuleOp>();
  return llvm::any_of(rules, [&](RuleOp rule) {
    auto axes = llvm::to_vector(rule.getAxes().getAsRange<StringAttr>());
    return rule.getDim() == op.getMemory() && mesh.getProduct(axes) > 1;
  });
}

namespace {
/// Builds an attention for one position.
class AttentionAtPosition {
public:
  AttentionAtPosition(AttentionOp op, PositionBuilder &steps)
      : op(op), steps(steps), output(cast<OpResult>(op.getOutput())) {}

  FailureOr<Value> build(OpResult result, ArrayRef<StringAttr> dims);

private:
  FailureOr<Value> getExtended(Value operand, StringRef name,
                               ArrayRef<StringAttr> rows);
  FailureOr<Value> addCache(Value operand, StringRef name);
  Value restrict(Value mask);
  Value compareLabels(Value mask, Value ofRows, Value ofMemory);
  Value getBiasHere(Value bias);

  AttentionOp op; ///< old
  PositionBuilder &steps;
  OpResult output;
};
} // namespace

/// The query's rows along `dims` are those of the position. Keys, values, mask,
/// bias and labels that vary along the memory are those of all positions so
/// far, from caches. The labels, and the band, whose position is now a number,
/// become a mask: one position's has no more entries than the labels. If ranks
/// have parts of the memory, primitive ops combine what they find there. The op
/// would need all keys and values, which are larger than that for few rows.
FailureOr<Value> AttentionAtPosition::build(OpResult result,
                                            ArrayRef<StringAttr> dims) {
  auto getRows = [&](Value operand) {
    SmallVector<StringAttr> rows(dims);
    llvm::erase_if(rows, [&](StringAttr dim) {
      return !getTensorType(operand).hasDim(dim.getValue());
    });
    return rows;
  };
  FailureOr<Value> query =
      steps.getOperand(op, op.getQuery(), getRows(op.getQuery()));
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
    FailureOr<Value> value = getExtended(operand, name, getRows(operand));
    if (failed(value))
      return failure();
    others.back() = *value;
  }
  if (op.getPredicate())
    others[2] = compareLabels(others[2], others[4], others[5]);
  bool takesBand =
      op.getPositionAttr() && llvm::is_contained(dims, op.getPositionAttr());
  if (takesBand)
    others[2] = restrict(others[2]);
  if (takesBand && op.getDistanceAttr())
    others[3] = getBiasHere(others[3]);
  OpBuilder builder = steps.getBuilder(result);
  auto copy = AttentionOp::create(
      builder, op.getLoc(), *query, others[0], others[1], others[2], others[3],
      /*row_labels=*/Value(), /*memory_labels=*/Value(), op.getKeyAttr(),
      op.getMemoryAttr(), takesBand ? StringAttr() : op.getPositionAttr(),
      takesBand ? IntegerAttr() : op.getLowestAttr(),
      takesBand ? IntegerAttr() : op.getHighestAttr(),
      takesBand ? StringAttr() : op.getDistanceAttr(), PredicateAttr());
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
FailureOr<Value> AttentionAtPosition::getExtended(Value operand, StringRef name,
                                                  ArrayRef<StringAttr> rows) {
  StringAttr memory = op.getMemoryAttr();
  if (!llvm::is_contained(steps.getPositionDims(operand), memory) ||
      !rows.empty())
    return steps.getOperand(op, operand, rows);
  bool isCausal = op.getHighest() && *op.getHighest() <= 0 &&
                  llvm::is_contained(steps.getPositionDims(op.getQuery()),
                                     op.getPositionAttr());
  if (!isCausal)
    return emitError(op.getLoc())
           << "generation computes the positions of '"
           << steps.getPositions().getValue()
           << "' one after the other, and this attention may see later entries "
              "of '"
           << memory.getValue() << "'; give dot_attention the mask iota("
           << memory.getValue() << ") <= iota("
           << steps.getPositions().getValue()
           << "), alone or joined to others by 'and'";
  if (Value known = steps.getCached(operand))
    return known;
  return addCache(operand, name);
}

/// In memory, the cache has the dims of the rows first, and then the memory.
FailureOr<Value> AttentionAtPosition::addCache(Value operand, StringRef name) {
  StringAttr memory = op.getMemoryAttr();
  FailureOr<Value> entry = steps.getOperand(op, operand, memory);
  if (failed(entry))
    return failure();
  auto scores = AttentionScores::of(op);
  SmallVector<Attribute> order, inner;
  for (DimAttr dim : getTensorType(operand).getDims())
    if (dim.getName() != memory)
      (scores.isRow(dim.getName()) ? order : inner).push_back(dim.getName());
  order.push_back(memory);
  llvm::append_range(order, inner);
  return steps.addCache(output, operand, *entry, memory, name, order);
}

/// The mask, and what the labels allow.
Value AttentionAtPosition::compareLabels(Value mask, Value ofRows,
                                         Value ofMemory) {
  OpBuilder builder = steps.getBuilder(output);
  ValueBuilder build(builder, op.getLoc());
  Value allowed = build.compare(*op.getPredicate(), ofMemory, ofRows);
  return mask ? build.make<AndOp>(mask, allowed) : allowed;
}

/// What a bias by distance has for the entries of the memory.
Value AttentionAtPosition::getBiasHere(Value bias) {
  OpBuilder builder = steps.getBuilder(output);
  ValueBuilder build(builder, op.getLoc());
  Value position = steps.getPosition(output);
  auto last = static_cast<double>(AttentionScores::of(op).getLastPosition());
  Value distances = build.make<AddOp>(
      makeEntries(builder, op),
      build.make<SubOp>(build.scalar(position, last), position));
  return build.make<GatherOp>(bias, distances, op.getDistanceAttr());
}

/// The mask, and the band of the attention.
Value AttentionAtPosition::restrict(Value mask) {
  OpBuilder builder = steps.getBuilder(output);
  ValueBuilder build(builder, op.getLoc());
  Value entries = makeEntries(builder, op);
  Value position = steps.getPosition(output);
  auto add = [&](Predicate predicate, std::optional<int64_t> bound) {
    if (!bound)
      return;
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    Value end = position;
    if (*bound)
      end = build.make<AddOp>(
          position,
          build.scalar(position,
                       static_cast<double>(std::clamp(*bound, -most, most))));
    Value inside = build.compare(predicate, entries, end);
    mask = mask ? build.make<AndOp>(mask, inside) : inside;
  };
  add(Predicate::Ge, op.getLowest());
  add(Predicate::Le, op.getHighest());
  return mask;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

bool AttentionOp::isEntrywise(OpResult result, ArrayRef<StringAttr> dims) {
  return isParallelByRule(result, dims);
}

SmallVector<StringAttr>
AttentionOp::getDimsAtPosition(OpResult result, unsigned operand,
                               ArrayRef<StringAttr> dims) {
  return getDimsByRule(result, operand, dims);
}

/// The query; the other operands may have caches.
unsigned AttentionOp::countNeededOperands() { return 1; }

FailureOr<Value> AttentionOp::buildAtPosition(PositionBuilder &builder,
                                              OpResult result,
                                              ArrayRef<StringAttr> dims) {
  return AttentionAtPosition(*this, builder).build(result, dims);
}

} // namespace meshc::nd
