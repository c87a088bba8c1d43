//===- RelativeBiases.cpp - biases of attention by distance ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Ops/AttentionOps.h"
#include "dialects/Nd/Ops/DimNames.h"
#include "dialects/Nd/Ops/LoopEdit.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Nd/Ops/PointwiseOps.h"
#include "dialects/Nd/Ops/SourceOps.h"
#include "dialects/Nd/Ops/ValueBuilder.h"
#include "lib/Steps/Passes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace meshc::steps {

#define GEN_PASS_DEF_RELATIVEBIASES
#include "lib/Steps/Passes.h.inc"

namespace {
/// Rebuilds a bias with the dims `memory` and `position` as one with the dim
/// `distance`, if its entries depend on the difference of both indices alone.
class BiasRebuilder {
public:
  explicit BiasRebuilder(const nd::AttentionScores &scores);

  /// The value by distance, at its own place; null if it is none.
  Value rebuild(Value value);
  nd::DimAttr getDistance() const { return distance; }

private:
  bool hasBoth(Value value) const;
  bool hasNone(Value value) const;
  bool isEntrywise(OpResult result) const;
  Value rebuildDifference(nd::SubOp op);
  Value rebuildOp(OpResult result);

  StringAttr memory, position;
  int64_t lastPosition;
  nd::DimAttr distance;
  llvm::DenseMap<Value, Value> known;
};
} // namespace

/// The language has no names with a dot.
BiasRebuilder::BiasRebuilder(const nd::AttentionScores &scores)
    : memory(scores.memory), position(scores.position),
      lastPosition(scores.getLastPosition()),
      distance(nd::DimAttr::get(
          memory.getContext(), (memory.getValue() + ".distance").str(),
          nd::getTensorType(scores.keys).getSize(memory.getValue()) +
              lastPosition)) {}

bool BiasRebuilder::hasBoth(Value value) const {
  nd::TensorType type = nd::getTensorType(value);
  return type.hasDim(memory.getValue()) && type.hasDim(position.getValue());
}

bool BiasRebuilder::hasNone(Value value) const {
  nd::TensorType type = nd::getTensorType(value);
  return !type.hasDim(memory.getValue()) && !type.hasDim(position.getValue());
}

/// Whether the type has all indices: 16 bits would round them.
static bool hasIndices(Type type) { return type.isInteger(32) || type.isF32(); }

/// The dim whose index the value is; null if it is none, or has been rounded.
static StringAttr getDimOfIota(Value value) {
  while (auto cast = value.getDefiningOp<nd::CastOp>()) {
    if (!hasIndices(cast.getType().getElementType()))
      return {};
    value = cast.getInput();
  }
  nd::TensorType type = nd::getTensorType(value);
  constexpr int64_t mostOfF32 = int64_t{1} << 24;
  if (!value.getDefiningOp<nd::IotaOp>() ||
      !hasIndices(type.getElementType()) ||
      type.getDims().front().getSize() > mostOfF32)
    return {};
  return type.getDims().front().getName();
}

/// The difference of the two indices, or null.
Value BiasRebuilder::rebuildDifference(nd::SubOp op) {
  StringAttr left = getDimOfIota(op.getLhs()),
             right = getDimOfIota(op.getRhs());
  bool isForward = left == memory && right == position;
  Type type = op.getType().getElementType();
  if ((!isForward && (left != position || right != memory)) ||
      !hasIndices(type) ||
      !hasIndices(nd::getTensorType(op.getLhs()).getElementType()) ||
      !hasIndices(nd::getTensorType(op.getRhs()).getElementType()))
    return {};
  OpBuilder builder(op);
  nd::ValueBuilder build(builder, op.getLoc());
  Value index = build.make<nd::IotaOp>(
      nd::TensorType::get(builder.getI32Type(), {distance}));
  Value zero = build.scalar(index, static_cast<double>(lastPosition));
  Value difference = isForward ? build.make<nd::SubOp>(index, zero)
                               : build.make<nd::SubOp>(zero, index);
  return build.castTo(difference, type);
}

/// Whether each entry of the result along both dims is computed from the same
/// entries of operands that have both, and of no others.
bool BiasRebuilder::isEntrywise(OpResult result) const {
  Operation *op = result.getOwner();
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->hasTrait<nd::ReadsPosition>() || !isa<nd::NamedOpInterface>(op))
    return false;
  for (Value operand : op->getOperands())
    if (!hasBoth(operand) && !hasNone(operand))
      return false;
  nd::PartitionRule rule = cast<nd::NamedOpInterface>(op).getPartitionRule();
  for (StringAttr dim : {memory, position}) {
    if (!llvm::any_of(rule.factors, [&](const nd::Factor &factor) {
          return factor.isLocal() && factor.resultDims[0] == dim &&
                 llvm::all_of(factor.operandDims, [&](StringAttr other) {
                   return !other || other == dim;
                 });
        }))
      return false;
    if (nd::namesDim(op, dim))
      return false;
  }
  return true;
}

Value BiasRebuilder::rebuildOp(OpResult result) {
  Operation *op = result.getOwner();
  if (auto sub = dyn_cast<nd::SubOp>(op))
    if (Value difference = rebuildDifference(sub))
      return difference;
  if (!isEntrywise(result))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value rebuilt = hasBoth(operand) ? rebuild(operand) : operand;
    if (!rebuilt)
      return {};
    operands.push_back(rebuilt);
  }
  // What no operand with both dims is computed from depends on neither.
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return hasBoth(operand); }))
    return {};
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  nd::TensorType type =
      nd::getTensorType(result).withoutDims({memory, position});
  SmallVector<nd::DimAttr> dims(type.getDims());
  dims.push_back(distance);
  copy->getResult(0).setType(type.withDims(dims));
  return copy->getResult(0);
}

Value BiasRebuilder::rebuild(Value value) {
  auto [it, isNew] = known.try_emplace(value);
  if (!isNew)
    return it->second;
  Value rebuilt;
  if (auto result = dyn_cast<OpResult>(value)) {
    rebuilt = rebuildOp(result);
  } else if (OpOperand *whole = nd::getWholeOperand(value)) {
    if (Value outer = rebuild(whole->get()))
      rebuilt =
          nd::getWholeArgument(cast<nd::ScanOp>(whole->getOwner()), outer);
  }
  return known[value] = rebuilt;
}

/// The dims of the rows along which the bias may be one by distance: that of
/// the band, or else all that it has.
static SmallVector<StringAttr> getPositions(const nd::AttentionScores &scores) {
  if (scores.position)
    return {scores.position};
  SmallVector<StringAttr> positions;
  for (nd::DimAttr dim : scores.getRows())
    if (nd::getTensorType(scores.bias).hasDim(dim.getName().getValue()))
      positions.push_back(dim.getName());
  return positions;
}

/// Erases the op of the value, and what only it needs, where nothing uses it.
static void eraseUnused(Value value) {
  llvm::SetVector<Operation *> open;
  auto add = [&](Value each) {
    if (Operation *op = each.getDefiningOp(); op && isOpTriviallyDead(op))
      open.insert(op);
  };
  add(value);
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    auto operands = llvm::to_vector(op->getOperands());
    op->erase();
    llvm::for_each(operands, add);
  }
}

static void rewrite(nd::AttentionOp op) {
  auto scores = nd::AttentionScores::of(op);
  if (!scores.bias || scores.distance ||
      !nd::getTensorType(scores.bias).hasDim(scores.memory.getValue()))
    return;
  for (StringAttr position : getPositions(scores)) {
    scores.position = position;
    if (!nd::getTensorType(scores.bias).hasDim(position.getValue()))
      continue;
    BiasRebuilder rebuilder(scores);
    Value bias = rebuilder.rebuild(scores.bias);
    if (!bias)
      continue;
    Value before = op.getBias();
    op.getBiasMutable().assign(bias);
    op.setPositionAttr(position);
    op.setDistanceAttr(rebuilder.getDistance().getName());
    eraseUnused(before);
    return;
  }
}

namespace {
struct RelativeBiases : impl::RelativeBiasesBase<RelativeBiases> {
  void runOnOperation() override {
    SmallVector<nd::AttentionOp> ops;
    getOperation().walk([&](nd::AttentionOp op) { ops.push_back(op); });
    llvm::for_each(ops, rewrite);
  }
};
} // namespace

} // namespace meshc::steps
