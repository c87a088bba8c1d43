//===- PrefixEmitter.cpp - sums along rows, entry by entry ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/PrefixEmitter.h"
#include "lib/Codegen/Reductions.h"
#include "lib/Codegen/ScatterShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

/// Entries that are read before the first of their sums is stored.
static constexpr int64_t entriesAtOnce = 4;

nd::PrefixOpInterface getPrefix(exec::KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<nd::PrefixOpInterface>();
  return ops.empty() ? nd::PrefixOpInterface() : *ops.begin();
}

FailureOr<PrefixShape> PrefixShape::of(exec::KernelOp kernel) {
  PrefixShape shape;
  shape.op = getPrefix(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  nd::TensorType type = nd::getTensorType(shape.op->getResult(0));
  auto order = cast<ArrayAttr>(kernel.getOutputOrders()[0]);
  for (auto dim : order.getAsRange<StringAttr>()) {
    int64_t size = type.getLocalSize(type.getDimIndex(dim.getValue()), mesh);
    bool isRow = dim != shape.op.getDimAttr();
    if (!isRow)
      shape.entries = size;
    else if (size > 1)
      shape.rows.push_back({{dim}, size});
    if (size > 1)
      shape.laneExtent = isRow ? size : 1;
  }
  return shape;
}

int64_t PrefixEmitter::getUnits() const {
  int64_t units = 1;
  for (const Loop &loop : shape.rows)
    units *= loop.size;
  return units / emitter.getLanes();
}

void PrefixEmitter::emitUnits(Value begin, Value end) {
  emitFor(begin, end, 1, {}, [&](Value number, ArrayRef<Value>) {
    emitRow(number);
    return Values();
  });
}

void PrefixEmitter::emitUnit(Value number, bool mayBeBeyond) {
  OpBuilder::InsertionGuard guard(builder);
  if (mayBeBeyond) {
    Value isUnit =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                              emitter.getIndexConstant(getUnits()));
    auto branch = scf::IfOp::create(builder, loc, isUnit, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  KernelElements::Scope scope(emitter);
  emitRow(number);
}

void PrefixEmitter::emitRow(Value number) {
  nd::ElementIndex row;
  for (nd::DimAttr dim : nd::getTensorType(shape.op->getResult(0)).getDims())
    row.dims[dim.getName().str()] = {emitter.getIndexConstant(0), false};
  bool hasLanes = emitter.getLanes() > 1;
  setIndices(row, shape.rows, number, hasLanes);
  Value sum = getIdentity(emitter, shape.op, hasLanes);
  int64_t whole = shape.entries / entriesAtOnce * entriesAtOnce;
  Values sums =
      emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(whole),
              entriesAtOnce, sum, [&](Value first, ArrayRef<Value> sums) {
                return emitEntries(row, first, entriesAtOnce, sums[0]);
              });
  emitEntries(row, emitter.getIndexConstant(whole), shape.entries - whole,
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
    if (shape.op.getBackwards())
      place = arith::SubIOp::create(
          builder, loc, emitter.getIndexConstant(shape.entries - 1), place);
    places[i].dims[shape.op.getDimAttr().str()] = {place, false};
    Value element = emitter.getElement(shape.op->getOperand(0), places[i]);
    emitter.unify(element, sum);
    elements.push_back(element);
  }
  for (auto [place, element] : llvm::zip(places, elements)) {
    Value next = combine(emitter, shape.op, sum, element);
    emitter.store(0, shape.op.getExclusive() ? sum : next, place);
    sum = next;
  }
  return {sum};
}

} // namespace meshc::codegen
