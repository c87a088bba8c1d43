//===- Piece.cpp - some entries of every block ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Ops/RoundEmitter.h"
#include "dialects/Spmd/Ops/WindowBlocks.h"
#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/VirtualRanks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::spmd {

using nd::EvaluationContext;
using nd::HostTensor;
using nd::MeshAttr;
using nd::TensorType;

TensorType PieceOp::getPiece(TensorType input, StringRef dim, int64_t size,
                             MeshAttr mesh) {
  return resize(input, dim, size * mesh.getProduct(getAxesOf(input, dim)));
}

LogicalResult PieceOp::verify() {
  auto input = cast<TensorType>(getInput().getType());
  MeshAttr mesh = MeshAttr::of(*this);
  if (!input.hasDim(getDim()))
    return emitOpError() << "needs a dim '" << getDim() << "', got " << input;
  int64_t block = input.getLocalSize(input.getDimIndex(getDim()), mesh);
  auto low = static_cast<int64_t>(getLow());
  auto size = static_cast<int64_t>(getSize());
  if (low < 0 || size < 1 || low > block || size > block - low)
    return emitOpError() << "takes " << size << " entries from " << low
                         << " of blocks of " << block;
  if (getRound() && (low != 0 || getRound()->getFrom() != block))
    return emitOpError() << "needs 0 and blocks of " << block
                         << " entries in a round, got " << low << " and "
                         << getRoundAttr();
  TensorType expected = getPiece(input, getDim(), size, mesh);
  if (getType() != expected)
    return emitOpError() << "gives its result type " << expected << ", got "
                         << getType();
  return success();
}

SmallVector<HostTensor> PieceOp::evaluate(ArrayRef<const HostTensor *> operands,
                                          const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  SmallVector<int64_t> from(result.sizes.size(), 0), to = from;
  int64_t &low = from[result.type.getDimIndex(getDim())];
  low = static_cast<int64_t>(getLow());
  if (getRound()) {
    MeshcRound round = getRoundAttr().getRound();
    auto size = static_cast<int64_t>(getSize());
    int64_t rank = context.getOffset(result.type, getDim()) / size;
    low = getSentLow(round, rank, getReceiverLine(round).at(rank), size);
  }
  copyBox(*operands[0], from, result, to, result.sizes);
  return {std::move(result)};
}

LogicalResult PieceOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                     SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule PieceOp::getPartitionRule() {
  return nd::getRuleByNames(*this, getDim());
}

nd::OpCost PieceOp::getCost() { return nd::getPartCost(*this); }

Value PieceOp::emitElement(nd::ElementEmitter &emitter,
                           const nd::ElementIndex &index) {
  nd::ElementIndex inner = index;
  nd::DimIndex &at = inner.dims[getDim().str()];
  if (at.lanes &&
      !supportsLanes(getDim(), emitter.getLanes(), emitter.getMesh()))
    return {};
  auto type = cast<TensorType>(getType());
  Value low =
      getRound()
          ? RoundEmitter(getRoundAttr().getRound(), getSize(), emitter)
                .emitSentLow(type, getDim())
          : arith::ConstantIndexOp::create(emitter.builder, emitter.loc,
                                           static_cast<int64_t>(getLow()));
  at.base = arith::AddIOp::create(emitter.builder, emitter.loc, at.base, low);
  return emitter.getElement(getInput(), inner);
}

bool PieceOp::supportsLanes(StringRef dim, int64_t lanes, MeshAttr) {
  return dim != getDim() ||
         (!getRound() && static_cast<int64_t>(getLow()) % lanes == 0);
}

nd::OperandDim PieceOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  return dim == getDim() ? nd::OperandDim::other(name)
                         : nd::OperandDim::same(name);
}

} // namespace meshc::spmd
