//===- PrefixEmitter.cpp - sums along rows, entry by entry ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/PrefixEmitter.h"
#include "lib/Codegen/Reductions.h"
#include "lib/Codegen/SoleOp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace meshc::codegen {

/// Entries that are read before the first of their sums is stored.
static constexpr int64_t entriesAtOnce = 4;

FailureOr<PrefixShape> PrefixShape::of(exec::KernelOp kernel) {
  PrefixShape shape;
  shape.op = getSoleOp<nd::PrefixOpInterface>(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  shape.rows = Rows::of(kernel, shape.op.getDimAttr());
  return shape;
}

void PrefixEmitter::emitRow(const nd::ElementIndex &row) {
  Value sum = getIdentity(emitter, op, emitter.getLanes() > 1);
  int64_t whole = rows.entries / entriesAtOnce * entriesAtOnce;
  Values sums =
      emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(whole),
              entriesAtOnce, sum, [&](Value first, ArrayRef<Value> sums) {
                return emitEntries(row, first, entriesAtOnce, sums[0]);
              });
  emitEntries(row, emitter.getIndexConstant(whole), rows.entries - whole,
              sums[0]);
}

/// `count` entries from the one that comes `first` in the sums' direction;
/// gives the sum behind them.
PrefixEmitter::Values PrefixEmitter::emitEntries(const nd::ElementIndex &row,
                                                 Value first, int64_t count,
                                                 Value sum) {
  SmallVector<nd::ElementIndex> places(count, row);
  Values elements;
  for (int64_t i = 0; i < count; ++i) {
    Value place =
        arith::AddIOp::create(builder, loc, first, emitter.getIndexConstant(i));
    if (op.getBackwards())
      place = arith::SubIOp::create(
          builder, loc, emitter.getIndexConstant(rows.entries - 1), place);
    places[i].dims[op.getDimAttr().str()] = {place, false};
    Value element = emitter.getElement(op->getOperand(0), places[i]);
    emitter.unify(element, sum);
    elements.push_back(element);
  }
  for (auto [place, element] : llvm::zip(places, elements)) {
    Value next = combine(emitter, op, sum, element);
    emitter.store(0, op.getExclusive() ? sum : next, place);
    sum = next;
  }
  return {sum};
}

} // namespace meshc::codegen
