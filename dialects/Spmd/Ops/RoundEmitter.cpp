//===- RoundEmitter.cpp - code for the pieces of rounds -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/Ops/RoundEmitter.h"
#include "dialects/Spmd/Ops/WindowBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::spmd {

using nd::TensorType;

Value RoundEmitter::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, emitter.loc, value);
}

Value RoundEmitter::add(Value a, int64_t b) {
  return arith::AddIOp::create(builder, emitter.loc, a, constant(b));
}

Value RoundEmitter::multiply(Value a, int64_t b) {
  return arith::MulIOp::create(builder, emitter.loc, a, constant(b));
}

/// This rank's number among those of the dim's axes: the offset along a dim
/// with an entry for each of them.
Value RoundEmitter::emitNumber(TensorType type, StringRef dim) {
  int64_t ranks = emitter.getMesh().getProduct(getAxesOf(type, dim));
  return emitter.getGlobalOffset(resize(type, dim, ranks), dim);
}

Value RoundEmitter::emitLine(const RoundedLine &line, Value x) {
  Value sum = add(multiply(x, line.factor), line.summand);
  return add(
      arith::DivUIOp::create(builder, emitter.loc, sum, constant(line.divisor)),
      line.constant);
}

/// As getSentLow.
Value RoundEmitter::emitLow(Value sender, Value receiver) {
  Value needed = add(multiply(receiver, round.recvBlock), round.offset);
  Value first = arith::SubIOp::create(builder, emitter.loc, needed,
                                      multiply(sender, round.sendBlock));
  Value low = arith::MaxSIOp::create(builder, emitter.loc, first, constant(0));
  return arith::MinSIOp::create(builder, emitter.loc, low,
                                constant(round.sendBlock - size));
}

Value RoundEmitter::emitSentLow(TensorType type, StringRef dim) {
  Value sender = emitNumber(type, dim);
  return emitLow(sender, emitLine(getReceiverLine(round), sender));
}

/// Of a receiver without a sender, the number of the sender may be any. If
/// senders have the smaller blocks, that is beyond the last rank or before the
/// first, where the operand has no entries. Otherwise its block may have some.
RoundEmitter::Received RoundEmitter::emitReceived(TensorType type,
                                                  StringRef dim) {
  Value receiver = emitNumber(type, dim);
  Value sender = emitLine(getSenderLine(round), receiver);
  Received piece;
  piece.first = arith::AddIOp::create(builder, emitter.loc,
                                      multiply(sender, round.sendBlock),
                                      emitLow(sender, receiver));
  if (round.sendBlock >= round.recvBlock)
    piece.exists = arith::CmpIOp::create(
        builder, emitter.loc, arith::CmpIPredicate::eq, receiver,
        emitLine(
            getReceiverLine(round),
            arith::MaxSIOp::create(builder, emitter.loc, sender, constant(0))));
  return piece;
}

} // namespace meshc::spmd
