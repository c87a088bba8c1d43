//===- Join.cpp - blocks of entries of other blocks -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Ops/RoundEmitter.h"
#include "dialects/Spmd/Ops/WindowBlocks.h"
#include "dialects/Spmd/Sharding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::spmd {

using nd::EvaluationContext;
using nd::HostTensor;
using nd::MeshAttr;
using nd::TensorType;

namespace {
/// Of an operand of a join: four of the numbers in `places`, and its round.
struct Place {
  int64_t origin, step, first, end;
  std::optional<MeshcRound> round;
};
} // namespace

static Place getPlace(JoinOp op, size_t operand) {
  ArrayRef<int64_t> numbers = op.getPlaces().slice(4 * operand, 4);
  Place place = {numbers[0], numbers[1], numbers[2], numbers[3], {}};
  if (auto rounds = op.getRounds())
    if (auto round = dyn_cast<RoundAttr>((*rounds)[operand]))
      place.round = round.getRound();
  return place;
}

/// Whether each rank has all of the operand.
static bool isWhole(JoinOp op, size_t operand) {
  return getAxesOf(nd::getTensorType(op.getInputs()[operand]), op.getDim())
      .empty();
}

/// Whether the operand can be what the round brings: pieces that fit into its
/// blocks.
static LogicalResult verifyRound(JoinOp op, size_t operand) {
  MeshAttr mesh = MeshAttr::of(op);
  auto getBlock = [&](Type type) {
    return getBlockSize(cast<TensorType>(type), op.getDim(), mesh);
  };
  Place place = getPlace(op, operand);
  int64_t piece = getBlock(op.getOperandTypes()[operand]);
  int64_t block = getBlock(op.getType());
  if (place.origin != 0 || place.step != 0 || isWhole(op, operand) ||
      piece > place.round->sendBlock || block != place.round->recvBlock)
    return op.emitOpError()
           << "has a round for operand " << operand
           << ", which needs 0, 0 and blocks that fit: it has " << place.origin
           << ", " << place.step << " and pieces of " << piece
           << " entries for blocks of " << block;
  return success();
}

LogicalResult JoinOp::verify() {
  if (failed(verifyAlike(*this, getDim(), /*mayBeWhole=*/true)))
    return failure();
  if (getPlaces().size() != 4 * static_cast<size_t>(getNumOperands()))
    return emitOpError() << "needs four numbers for each operand, got "
                         << getPlaces().size() << " for " << getNumOperands()
                         << " operands";
  auto rounds = getRounds();
  if (rounds && (rounds->size() != getNumOperands() ||
                 !llvm::all_of(*rounds, llvm::IsaPred<RoundAttr, UnitAttr>)))
    return emitOpError("needs a round or unit for each operand, or no rounds");
  for (size_t i = 0; i < getNumOperands(); ++i)
    if (getPlace(*this, i).round) {
      if (failed(verifyRound(*this, i)))
        return failure();
    } else if (int64_t step = getPlace(*this, i).step;
               isWhole(*this, i) ? step != 0 : step < 1) {
      return emitOpError() << "needs steps of at least one entry, or 0 for an "
                              "operand that is whole; operand "
                           << i << " has " << step;
    }
  return success();
}

/// The entry of the piece of `size` entries that the rank received in the
/// round; -1 if it received none.
static int64_t getIndexIn(const MeshcRound &round, int64_t rank, int64_t ranks,
                          int64_t size, int64_t global) {
  int64_t sender = getSenderIn(round, rank, ranks);
  if (sender == nobody)
    return -1;
  return global + round.offset - sender * round.sendBlock -
         getSentLow(round, sender, rank, size);
}

SmallVector<HostTensor> JoinOp::evaluate(ArrayRef<const HostTensor *> operands,
                                         const EvaluationContext &context) {
  HostTensor result = context.makeTensor(getType());
  TensorType type = result.type;
  int64_t along = type.getDimIndex(getDim());
  int64_t first = context.getOffset(type, getDim());
  int64_t rank = first / result.sizes[along];
  double fill = getFill() ? context.round(getFill()->convertToDouble(),
                                          type.getElementType())
                          : 0;
  int64_t ranks = context.mesh.getProduct(getAxesOf(type, getDim()));
  auto take = [&](ArrayRef<int64_t> index, ArrayRef<int64_t> offsets) {
    double &element = result.data[offsets[0]];
    element = fill;
    int64_t global = first + index[along];
    for (auto [number, operand] : llvm::enumerate(operands)) {
      Place place = getPlace(*this, number);
      int64_t at = place.round ? getIndexIn(*place.round, rank, ranks,
                                            operand->sizes[along], global)
                               : global - place.origin - rank * place.step;
      if (at < 0 || at >= operand->sizes[along] || global < place.first ||
          global >= place.end)
        continue;
      element = operand->data[getOffsetOf(*operand, index, along, at)];
      return;
    }
  };
  nd::forEachIndex(context.getCounts(type), {result.getStrides()}, take);
  return {std::move(result)};
}

LogicalResult JoinOp::buildGradient(OpBuilder &, ArrayRef<Value>,
                                    SmallVectorImpl<Value> &) {
  return emitOpError("is made after the gradients and has none");
}

nd::PartitionRule JoinOp::getPartitionRule() {
  return nd::getRuleByNames(*this, getDim());
}

nd::OpCost JoinOp::getCost() { return nd::getElementwiseCost(*this, 0); }

namespace {
/// Emits one element of a join.
class JoinEmitter {
public:
  JoinEmitter(JoinOp op, nd::ElementEmitter &emitter,
              const nd::ElementIndex &index)
      : op(op), emitter(emitter), builder(emitter.builder), index(index),
        type(cast<TensorType>(op.getType())), base(index.at(op.getDim()).base),
        block(getBlockSize(type)) {}

  Value emit();

private:
  int64_t getBlockSize(TensorType of) {
    return of.getLocalSize(of.getDimIndex(op.getDim()), emitter.getMesh());
  }
  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, emitter.loc, value);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, int64_t b) {
    return arith::CmpIOp::create(builder, emitter.loc, predicate, a,
                                 constant(b));
  }
  Value both(Value a, Value b) {
    return a && b ? arith::AndIOp::create(builder, emitter.loc, a, b)
                  : (a ? a : b);
  }
  Value getIndexIn(const Place &place);
  Value getGlobal() {
    return arith::AddIOp::create(builder, emitter.loc, base,
                                 emitter.getGlobalOffset(type, op.getDim()));
  }
  Value getCondition(const Place &place, Value at, int64_t size);

  JoinOp op;
  nd::ElementEmitter &emitter;
  OpBuilder &builder;
  const nd::ElementIndex &index;
  TensorType type;
  Value base;
  int64_t block;
};
} // namespace

/// The entry of the operand's block, which may not exist. The rank's offsets
/// cancel out if the blocks that the operand is from are as large as those of
/// the result. An operand that is whole has no offset.
Value JoinEmitter::getIndexIn(const Place &place) {
  if (place.step == 0)
    return arith::SubIOp::create(builder, emitter.loc, getGlobal(),
                                 constant(place.origin));
  Value at =
      arith::SubIOp::create(builder, emitter.loc, base, constant(place.origin));
  if (place.step == block)
    return at;
  int64_t ranks = emitter.getMesh().getProduct(getAxesOf(type, op.getDim()));
  TensorType from = resize(type, op.getDim(), place.step * ranks);
  Value moved = arith::SubIOp::create(
      builder, emitter.loc, emitter.getGlobalOffset(type, op.getDim()),
      emitter.getGlobalOffset(from, op.getDim()));
  return arith::AddIOp::create(builder, emitter.loc, at, moved);
}

/// Whether the operand has the entry; null if it has all of them.
Value JoinEmitter::getCondition(const Place &place, Value at, int64_t size) {
  Value condition;
  bool isWithin = !place.round && place.step == block && place.origin <= 0 &&
                  block - 1 - place.origin < size;
  if (!isWithin)
    condition = compare(arith::CmpIPredicate::ult, at, size);
  if (place.first <= 0 && place.end >= type.getSize(op.getDim()))
    return condition;
  Value global = getGlobal();
  if (place.first > 0)
    condition = both(condition,
                     compare(arith::CmpIPredicate::sge, global, place.first));
  if (place.end < type.getSize(op.getDim()))
    condition =
        both(condition, compare(arith::CmpIPredicate::slt, global, place.end));
  return condition;
}

/// From the last operand to the first: each one overrules where it has the
/// entry.
Value JoinEmitter::emit() {
  Value element;
  for (size_t i = op.getNumOperands(); i-- > 0;) {
    Value operand = op.getInputs()[i];
    int64_t size = getBlockSize(nd::getTensorType(operand));
    Place place = getPlace(op, i);
    RoundEmitter::Received piece;
    Value at;
    if (place.round) {
      piece = RoundEmitter(*place.round, size, emitter)
                  .emitReceived(type, op.getDim());
      Value needed = arith::AddIOp::create(builder, emitter.loc, getGlobal(),
                                           constant(place.round->offset));
      at = arith::SubIOp::create(builder, emitter.loc, needed, piece.first);
    } else {
      at = getIndexIn(place);
    }
    nd::ElementIndex inner = index;
    Value atLeast =
        arith::MaxSIOp::create(builder, emitter.loc, at, constant(0));
    inner.dims[op.getDim().str()].base = arith::MinSIOp::create(
        builder, emitter.loc, atLeast, constant(size - 1));
    Value part = emitter.getElement(operand, inner);
    if (!part)
      return {};
    if (!element && op.getFill())
      element = emitter.constant(type.getElementType(),
                                 op.getFill()->convertToDouble(), part);
    Value condition = both(getCondition(place, at, size), piece.exists);
    element = element && condition
                  ? arith::SelectOp::create(builder, emitter.loc, condition,
                                            part, element)
                  : part;
  }
  return element;
}

Value JoinOp::emitElement(nd::ElementEmitter &emitter,
                          const nd::ElementIndex &index) {
  if (index.at(getDim()).lanes)
    return {};
  return JoinEmitter(*this, emitter, index).emit();
}

bool JoinOp::supportsLanes(StringRef dim, int64_t, MeshAttr) {
  return dim != getDim();
}

nd::OperandDim JoinOp::getOperandDim(unsigned, StringRef dim) {
  auto name = StringAttr::get(getContext(), dim);
  return dim == getDim() ? nd::OperandDim::other(name)
                         : nd::OperandDim::same(name);
}

} // namespace meshc::spmd
