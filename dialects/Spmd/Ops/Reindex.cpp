//===- Reindex.cpp - indices of widened blocks ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace meshc::spmd {

using nd::TensorType;

/// A tensor with `block` entries for each rank of the axes of `along`: where
/// the widened block of a rank begins.
static TensorType getWidened(ReindexOp op, nd::MeshAttr mesh) {
  ArrayRef<StringAttr> axes =
      getAxesOf(nd::getTensorType(op.getResult()), op.getAlong());
  int64_t block = static_cast<int64_t>(op.getBlock());
  auto dim = nd::DimAttr::get(op.getContext(), op.getAlongAttr(),
                              block * mesh.getProduct(axes), AxisList(axes));
  return TensorType::get(IntegerType::get(op.getContext(), 32), {dim});
}

LogicalResult ReindexOp::verify() {
  auto type = cast<TensorType>(getType());
  nd::MeshAttr mesh = nd::MeshAttr::of(*this);
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  auto block = static_cast<int64_t>(getBlock());
  auto size = static_cast<int64_t>(getSize());
  if (!type.getElementType().isSignlessInteger(32))
    return emitOpError() << "needs indices that are i32, got " << type;
  if (!type.hasDim(getAlong()) || !areEquidistant(type, getAlong(), mesh))
    return emitOpError() << "needs a dim '" << getAlong()
                         << "' with blocks at equal distances, got " << type;
  auto isSmall = [&](uint64_t number) {
    return std::abs(static_cast<int64_t>(number)) <= most;
  };
  if (block < 1 || size < 1 || size > most || !isSmall(getStride()) ||
      !isSmall(getLow()) ||
      block > most / mesh.getProduct(getAxesOf(type, getAlong())))
    return emitOpError() << "cannot number a table of " << size
                         << " entries in blocks of " << block
                         << " with 32 bits, from entry "
                         << static_cast<int64_t>(getLow()) << " in steps of "
                         << static_cast<int64_t>(getStride());
  return success();
}

SmallVector<nd::HostTensor>
ReindexOp::evaluate(ArrayRef<const nd::HostTensor *> operands,
                    const nd::EvaluationContext &context) {
  SmallVector<nd::HostTensor> results;
  nd::HostTensor &result = results.emplace_back(*operands[0]);
  auto type = cast<TensorType>(getType());
  auto block = static_cast<int64_t>(getBlock());
  int64_t first =
      context.getOffset(type, getAlong()) * static_cast<int64_t>(getStride()) +
      static_cast<int64_t>(getLow());
  int64_t base = context.getOffset(getWidened(*this, context.mesh), getAlong());
  for (double &index : result.data) {
    auto global = static_cast<int64_t>(index);
    int64_t local = global - first;
    bool isThere = global >= 0 && global < static_cast<int64_t>(getSize()) &&
                   local >= 0 && local < block;
    index = isThere ? double(base + local) : -1.0;
  }
  return results;
}

LogicalResult ReindexOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                       SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule ReindexOp::getPartitionRule() {
  return nd::getRuleByNames(*this);
}

nd::OpCost ReindexOp::getCost() { return nd::getElementwiseCost(*this, 0); }

Value ReindexOp::emitElement(nd::ElementEmitter &emitter,
                             const nd::ElementIndex &index) {
  Value element = emitter.getElement(getInput(), index);
  if (!element || isa<VectorType>(element.getType()))
    return {};
  OpBuilder &builder = emitter.builder;
  Location loc = emitter.loc;
  auto type = cast<TensorType>(getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  // Unsigned, so that what is negative is out of range too.
  auto isBelow = [&](Value value, int64_t limit) -> Value {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                                 constant(limit));
  };
  Value global =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), element);
  Value first = arith::AddIOp::create(
      builder, loc,
      arith::MulIOp::create(builder, loc,
                            emitter.getGlobalOffset(type, getAlong()),
                            constant(static_cast<int64_t>(getStride()))),
      constant(static_cast<int64_t>(getLow())));
  Value local = arith::SubIOp::create(builder, loc, global, first);
  Value isThere = arith::AndIOp::create(
      builder, loc, isBelow(global, static_cast<int64_t>(getSize())),
      isBelow(local, static_cast<int64_t>(getBlock())));
  Value moved = arith::AddIOp::create(
      builder, loc, local,
      emitter.getGlobalOffset(getWidened(*this, emitter.getMesh()),
                              getAlong()));
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), moved);
  Value none =
      arith::ConstantIntOp::create(builder, loc, builder.getI32Type(), -1);
  return arith::SelectOp::create(builder, loc, isThere, number, none);
}

bool ReindexOp::supportsLanes(StringRef dim, int64_t, nd::MeshAttr) {
  return !cast<TensorType>(getType()).hasDim(dim);
}

nd::OperandDim ReindexOp::getOperandDim(unsigned, StringRef dim) {
  return nd::OperandDim::same(StringAttr::get(getContext(), dim));
}

} // namespace meshc::spmd
