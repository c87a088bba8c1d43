//===- Collective.cpp - resharding and collectives ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/Interfaces/ReductionKinds.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "dialects/Spmd/VirtualRanks.h"
#include "mlir/IR/Builders.h"

#define GET_OP_CLASSES
#include "dialects/Spmd/Ops/Collective.cpp.inc"

using namespace mlir;

namespace meshc::spmd {

using nd::DimAttr;
using nd::EvaluationContext;
using nd::HostTensor;
using nd::MeshAttr;
using nd::ReductionKind;
using nd::TensorType;

void SpmdDialect::registerCollective() {
  addOperations<
#define GET_OP_LIST
#include "dialects/Spmd/Ops/Collective.cpp.inc"
      >();
}

using RankResults = llvm::SmallVector<llvm::SmallVector<HostTensor>>;
using RankOperands = ArrayRef<llvm::SmallVector<const HostTensor *>>;

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

/// The axes of a collective exist, in the mesh's order.
static LogicalResult verifyAxes(Operation *op, ArrayAttr axes,
                                bool inMeshOrder) {
  MeshAttr mesh = MeshAttr::of(op);
  AxisList names = getNames(axes);
  if (names.empty())
    return op->emitOpError("needs at least one mesh axis");
  for (StringAttr axis : names)
    if (mesh.getAxisIndex(axis) < 0)
      return op->emitOpError() << "runs over '" << axis.getValue()
                               << "', which is not an axis of the mesh";
  if (inMeshOrder && !areInMeshOrder(names, mesh))
    return op->emitOpError()
           << "runs over axes " << axes << " in another order than the mesh's";
  return success();
}

/// One dim name per operand where the op has a list of them, and as many
/// results as operands.
static LogicalResult verifyCounts(Operation *op, ArrayRef<ArrayAttr> lists) {
  if (op->getNumOperands() == 0 || op->getNumOperands() != op->getNumResults())
    return op->emitOpError()
           << "needs one result per operand, got " << op->getNumOperands()
           << " operands and " << op->getNumResults() << " results";
  for (ArrayAttr list : lists)
    if (list.size() != op->getNumOperands())
      return op->emitOpError()
             << "needs one dim per operand, got " << list.size() << " for "
             << op->getNumOperands() << " operands";
  return success();
}

/// Result `index` has the type that the op gives it (null: it gives none).
static LogicalResult verifyResult(Operation *op, unsigned index,
                                  TensorType expected) {
  Type operand = op->getOperand(index).getType();
  Type result = op->getResult(index).getType();
  if (!expected)
    return op->emitOpError()
           << "cannot be done on operand " << index << " of type " << operand;
  if (result != expected)
    return op->emitOpError() << "gives result " << index << " type " << expected
                             << ", got " << result;
  return success();
}

static TensorType getOperandType(Operation *op, unsigned index) {
  return cast<TensorType>(op->getOperand(index).getType());
}

static StringRef getName(ArrayAttr names, unsigned index) {
  return cast<StringAttr>(names[index]).getValue();
}

static LogicalResult verifyReduction(Operation *op, unsigned index,
                                     ReductionKind kind) {
  TensorType type = getOperandType(op, index);
  if (!type.isPartial() || type.getPartialKind() != kind)
    return op->emitOpError()
           << "combines by " << nd::stringifyReductionKind(kind)
           << ", but operand " << index << " has type " << type;
  return success();
}

LogicalResult ReshardOp::verify() {
  auto from = cast<TensorType>(getInput().getType());
  auto to = cast<TensorType>(getResult().getType());
  TensorType tensor = from.getGlobal().withElementType(to.getElementType());
  if (tensor != to.getGlobal())
    return emitOpError() << "changes the tensor: from " << from.getGlobal()
                         << " to " << to.getGlobal();
  if (!mayRound(from, to))
    return emitOpError() << "changes the element type, which only a sum of f32 "
                            "that ends may do, to 16 bits: from "
                         << from << " to " << to;
  if (to.isPartial() && from.isPartial() &&
      to.getPartialKind() != from.getPartialKind())
    return emitOpError() << "changes the kind of partial result";
  AxisList added = getFurtherPartial(to, from);
  if (!added.empty() && to.getPartialKind() != ReductionKind::Sum)
    return emitOpError() << "makes a whole value partial over '"
                         << added.front().getValue()
                         << "', which only a sum can be";
  AxisList kept, expected;
  for (StringAttr axis : from.getPartialAxes())
    if (llvm::is_contained(to.getPartialAxes(), axis))
      kept.push_back(axis);
  for (StringAttr axis : to.getPartialAxes())
    if (!llvm::is_contained(added, axis))
      expected.push_back(axis);
  if (kept != expected)
    return emitOpError("gives the axes of a partial value another order");
  return success();
}

LogicalResult SliceOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), /*inMeshOrder=*/false)))
    return failure();
  return verifyResult(
      *this, 0,
      addAxes(getOperandType(*this, 0), getDim(), getNames(getAxes())));
}

LogicalResult ToPartialOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), /*inMeshOrder=*/true)))
    return failure();
  return verifyResult(*this, 0,
                      addPartial(getOperandType(*this, 0), getNames(getAxes()),
                                 MeshAttr::of(*this)));
}

LogicalResult AllReduceOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), true)) ||
      failed(verifyCounts(*this, {})))
    return failure();
  for (unsigned i = 0; i < getNumOperands(); ++i)
    if (failed(verifyReduction(*this, i, getReduction())) ||
        failed(verifyResult(
            *this, i,
            dropPartial(getOperandType(*this, i), getNames(getAxes())))))
      return failure();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), true)) ||
      failed(verifyCounts(*this, {getDims()})))
    return failure();
  AxisList axes = getNames(getAxes());
  for (unsigned i = 0; i < getNumOperands(); ++i) {
    if (failed(verifyReduction(*this, i, getReduction())))
      return failure();
    TensorType whole = dropPartial(getOperandType(*this, i), axes);
    if (failed(verifyResult(*this, i,
                            whole ? addAxes(whole, getName(getDims(), i), axes)
                                  : whole)))
      return failure();
  }
  return success();
}

LogicalResult AllGatherOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), true)) ||
      failed(verifyCounts(*this, {getDims()})))
    return failure();
  for (unsigned i = 0; i < getNumOperands(); ++i)
    if (failed(
            verifyResult(*this, i,
                         dropAxes(getOperandType(*this, i),
                                  getName(getDims(), i), getNames(getAxes())))))
      return failure();
  return success();
}

LogicalResult AllToAllOp::verify() {
  if (failed(verifyAxes(*this, getAxes(), true)) ||
      failed(verifyCounts(*this, {getFrom(), getTo()})))
    return failure();
  AxisList axes = getNames(getAxes());
  for (unsigned i = 0; i < getNumOperands(); ++i) {
    TensorType type = getOperandType(*this, i);
    if (getName(getFrom(), i) == getName(getTo(), i))
      return emitOpError() << "moves the axes of dim '" << getName(getTo(), i)
                           << "' to the same dim";
    type = dropAxes(type, getName(getFrom(), i), axes);
    if (type)
      type = addAxes(type, getName(getTo(), i), axes);
    if (failed(verifyResult(*this, i, type)))
      return failure();
  }
  return success();
}

LogicalResult PermuteOp::verify() {
  if (failed(verifyAxes(*this, getSenders(), false)) ||
      failed(verifyAxes(*this, getReceivers(), false)) ||
      failed(verifyCounts(*this, {})))
    return failure();
  AxisList group = getGroupAxes();
  if (!areInMeshOrder(group, MeshAttr::of(*this)) ||
      getSenders().size() != getReceivers().size() ||
      !llvm::all_of(group, [&](StringAttr axis) {
        return llvm::is_contained(getReceivers(), axis);
      }))
    return emitOpError() << "needs each axis once in both orders, got "
                         << getSenders() << " and " << getReceivers();
  int64_t ranks = MeshAttr::of(*this).getProduct(group);
  auto shift = static_cast<int64_t>(getShift());
  if (shift < 0 || shift >= ranks)
    return emitOpError() << "has a shift of " << shift
                         << "; it must be at least 0 and less than the "
                         << ranks << " ranks of the group";
  if (getRound() && (shift != 0 || getSenders() != getReceivers()))
    return emitOpError("has a round, which allows no shift and needs the same "
                       "order of senders and receivers");
  for (unsigned i = 0; i < getNumOperands(); ++i)
    if (failed(
            verifyResult(*this, i,
                         permuteAxes(getOperandType(*this, i), *getAxisOrders(),
                                     MeshAttr::of(*this)))))
      return failure();
  return success();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) {
  return getInput().getType() == getResult().getType() ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// Reference semantics
//===----------------------------------------------------------------------===//

/// All results of `op`, as zeros, on every rank.
static RankResults makeResults(Operation *op, size_t rankCount,
                               const EvaluationContext &context) {
  RankResults results(rankCount);
  for (auto &ofRank : results)
    for (Type type : op->getResultTypes())
      ofRank.push_back(context.makeTensor(type));
  return results;
}

/// The group's operands `index` combined, rounded to the element type once.
static HostTensor combineGroup(RankOperands operands, unsigned index,
                               ArrayRef<int64_t> group, ReductionKind kind,
                               const EvaluationContext &context) {
  HostTensor sum = *operands[group.front()][index];
  nd::Combination combine = nd::getCombination(kind, sum.type.getElementType());
  for (int64_t rank : group.drop_front())
    for (auto [a, b] : llvm::zip(sum.data, operands[rank][index]->data))
      a = combine(a, b);
  for (double &value : sum.data)
    value = context.round(value, sum.type.getElementType());
  return sum;
}

/// Where the block of the first type begins in that of the second, along a dim
/// that further axes cut in the first.
static int64_t getStartWithin(TensorType inner, TensorType outer, StringRef dim,
                              const EvaluationContext &context) {
  return context.getOffset(inner, dim) - context.getOffset(outer, dim);
}

/// Copies the target's block along `dim` from `source`, a block that fewer axes
/// cut. The context is of the target's rank.
static void takeBlock(const HostTensor &source, StringRef dim,
                      const EvaluationContext &context, HostTensor &target) {
  int64_t index = target.type.getDimIndex(dim);
  llvm::SmallVector<int64_t> from(target.sizes.size(), 0), to = from;
  llvm::SmallVector<int64_t> sizes(target.sizes);
  from[index] = getStartWithin(target.type, source.type, dim, context);
  sizes[index] = context.getCount(target.type, dim);
  copyBox(source, from, target, to, sizes);
}

/// Which of an operand's blocks hold the entry at `global` (one index per dim)
/// for the rank at `coordinates`: sets those coordinates that the axes of the
/// dims decide, and `local` to the entry's index in the block.
static void locate(TensorType type, ArrayRef<int64_t> global, MeshAttr mesh,
                   llvm::SmallVectorImpl<int64_t> &coordinates,
                   llvm::SmallVectorImpl<int64_t> &local) {
  local.assign(global.begin(), global.end());
  for (auto [i, dim] : llvm::enumerate(type.getDims())) {
    for (auto [axis, step] :
         llvm::zip(dim.getAxes(), type.getBlockSteps(int64_t(i), mesh))) {
      coordinates[mesh.getAxisIndex(axis)] = local[i] / step;
      local[i] %= step;
    }
  }
}

RankResults ReshardOp::evaluateAll(RankOperands operands,
                                   const EvaluationContext &context) {
  MeshAttr mesh = context.mesh;
  auto from = cast<TensorType>(getInput().getType());
  auto to = cast<TensorType>(getResult().getType());
  AxisList combined = getFurtherPartial(from, to);
  AxisList added = getFurtherPartial(to, from);
  nd::Combination combine =
      nd::getCombination(from.getPartialKind(), from.getElementType());
  RankResults results = makeResults(*this, operands.size(), context);
  for (size_t rank = 0; rank < results.size(); ++rank) {
    HostTensor &target = results[rank][0];
    EvaluationContext here = context;
    here.coordinates = mesh.getCoordinates(rank);
    if (getPositionInGroup(int64_t(rank), added, mesh) != 0)
      continue; // the first rank of the group has the value
    auto take = [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
      llvm::SmallVector<int64_t> global(index), local;
      for (auto [i, dim] : llvm::enumerate(to.getDims()))
        global[i] += here.getOffset(to, dim.getName().getValue());
      llvm::SmallVector<int64_t> owner(here.coordinates);
      locate(from, global, mesh, owner, local);
      std::optional<double> value;
      for (int64_t other : getGroup(getRankAt(owner, mesh), combined, mesh)) {
        const HostTensor &source = *operands[other][0];
        int64_t offset = 0;
        for (auto [i, stride] : llvm::zip(local, source.getStrides()))
          offset += i * stride;
        double part = source.data[offset];
        value = value ? combine(*value, part) : part;
      }
      target.data[offsets[0]] = context.round(*value, to.getElementType());
    };
    nd::forEachIndex(here.getCounts(to), {target.getStrides()}, take);
  }
  return results;
}

RankResults SliceOp::evaluateAll(RankOperands operands,
                                 const EvaluationContext &context) {
  RankResults results = makeResults(*this, operands.size(), context);
  EvaluationContext here = context;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    here.coordinates = context.mesh.getCoordinates(rank);
    takeBlock(*operands[rank][0], getDim(), here, results[rank][0]);
  }
  return results;
}

RankResults ToPartialOp::evaluateAll(RankOperands operands,
                                     const EvaluationContext &context) {
  RankResults results = makeResults(*this, operands.size(), context);
  AxisList axes = getNames(getAxes());
  for (size_t rank = 0; rank < results.size(); ++rank)
    if (getPositionInGroup(int64_t(rank), axes, context.mesh) == 0)
      results[rank][0].data = operands[rank][0]->data;
  return results;
}

RankResults AllReduceOp::evaluateAll(RankOperands operands,
                                     const EvaluationContext &context) {
  RankResults results = makeResults(*this, operands.size(), context);
  for (size_t rank = 0; rank < results.size(); ++rank)
    for (unsigned i = 0; i < getNumOperands(); ++i)
      results[rank][i].data =
          combineGroup(operands, i,
                       getGroup(rank, getNames(getAxes()), context.mesh),
                       getReduction(), context)
              .data;
  return results;
}

RankResults ReduceScatterOp::evaluateAll(RankOperands operands,
                                         const EvaluationContext &context) {
  AxisList axes = getNames(getAxes());
  RankResults results = makeResults(*this, operands.size(), context);
  EvaluationContext here = context;
  for (size_t rank = 0; rank < results.size(); ++rank) {
    here.coordinates = context.mesh.getCoordinates(rank);
    for (unsigned i = 0; i < getNumOperands(); ++i)
      takeBlock(combineGroup(operands, i, getGroup(rank, axes, context.mesh),
                             getReduction(), context),
                getName(getDims(), i), here, results[rank][i]);
  }
  return results;
}

/// Copies the entries that exist of the block that the context's rank has of
/// `source` along `dim` to their place in `target`, which fewer axes cut there.
/// `from` and `sizes`: where they begin in the source along the other dims, and
/// how many there are.
static void placeBlock(const HostTensor &source, ArrayRef<int64_t> from,
                       llvm::SmallVector<int64_t> sizes, StringRef dim,
                       const EvaluationContext &context, HostTensor &target) {
  int64_t index = target.type.getDimIndex(dim);
  llvm::SmallVector<int64_t> to(sizes.size(), 0);
  to[index] = getStartWithin(source.type, target.type, dim, context);
  sizes[index] = context.getCount(source.type, dim);
  copyBox(source, from, target, to, sizes);
}

RankResults AllGatherOp::evaluateAll(RankOperands operands,
                                     const EvaluationContext &context) {
  RankResults results = makeResults(*this, operands.size(), context);
  EvaluationContext there = context;
  for (size_t rank = 0; rank < results.size(); ++rank)
    for (unsigned i = 0; i < getNumOperands(); ++i) {
      HostTensor &target = results[rank][i];
      llvm::SmallVector<int64_t> from(target.sizes.size(), 0);
      for (int64_t other : getGroup(rank, getNames(getAxes()), context.mesh)) {
        there.coordinates = context.mesh.getCoordinates(other);
        placeBlock(*operands[other][i], from, target.sizes,
                   getName(getDims(), i), there, target);
      }
    }
  return results;
}

RankResults AllToAllOp::evaluateAll(RankOperands operands,
                                    const EvaluationContext &context) {
  RankResults results = makeResults(*this, operands.size(), context);
  EvaluationContext here = context, there = context;
  for (size_t rank = 0; rank < results.size(); ++rank)
    for (unsigned i = 0; i < getNumOperands(); ++i) {
      here.coordinates = context.mesh.getCoordinates(rank);
      HostTensor &target = results[rank][i];
      // The dim `to` becomes shorter; along `from` the blocks are joined.
      StringRef shorter = getName(getTo(), i);
      int64_t index = target.type.getDimIndex(shorter);
      llvm::SmallVector<int64_t> from(target.sizes.size(), 0);
      llvm::SmallVector<int64_t> sizes(target.sizes);
      from[index] =
          getStartWithin(target.type, operands[rank][i]->type, shorter, here);
      sizes[index] = here.getCount(target.type, shorter);
      for (int64_t other : getGroup(rank, getNames(getAxes()), context.mesh)) {
        there.coordinates = context.mesh.getCoordinates(other);
        placeBlock(*operands[other][i], from, sizes, getName(getFrom(), i),
                   there, target);
      }
    }
  return results;
}

RankResults PermuteOp::evaluateAll(RankOperands operands,
                                   const EvaluationContext &context) {
  AxisList senders = getNames(getSenders()),
           receivers = getNames(getReceivers());
  RankResults results = makeResults(*this, operands.size(), context);
  for (size_t rank = 0; rank < results.size(); ++rank) {
    llvm::SmallVector<int64_t> group = getGroup(rank, senders, context.mesh);
    auto ranks = static_cast<int64_t>(group.size());
    int64_t number = getPositionInGroup(rank, receivers, context.mesh);
    auto shift = static_cast<int64_t>(getShift());
    int64_t sender = getRound()
                         ? getSenderIn(getRoundAttr().getRound(), number, ranks)
                         : (number + ranks - shift) % ranks;
    for (auto [i, result] : llvm::enumerate(results[rank]))
      if (sender != nobody)
        result.data = operands[group[sender]][i]->data;
      else
        llvm::fill(result.data,
                   nd::getSpoiledValue(result.type.getElementType()));
  }
  return results;
}

} // namespace meshc::spmd
