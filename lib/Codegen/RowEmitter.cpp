//===- RowEmitter.cpp - kernels whose rows are units of work --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/RowEmitter.h"
#include "lib/Codegen/SoleOp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

Rows Rows::of(exec::KernelOp kernel, StringAttr dim) {
  Rows rows;
  nd::MeshAttr mesh = nd::MeshAttr::of(kernel);
  Operation *yield = kernel.getBody().front().getTerminator();
  auto order = cast<ArrayAttr>(kernel.getOutputOrders()[0]);
  for (auto name : order.getAsRange<StringAttr>()) {
    int64_t size = getLocalSize(yield->getOperand(0), name, mesh);
    bool isRow = name != dim;
    if (!isRow)
      rows.entries = size;
    else if (size > 1)
      rows.loops.push_back({{name}, size});
    if (size > 1)
      rows.laneExtent = isRow ? size : 1;
  }
  return rows;
}

int64_t RowEmitter::getUnits() const {
  int64_t units = 1;
  for (const Loop &loop : rows.loops)
    units *= loop.size;
  return units / emitter.getLanes();
}

void RowEmitter::emitUnits(Value begin, Value end) {
  emitFor(begin, end, 1, {}, [&](Value number, ArrayRef<Value>) {
    emitNumber(number);
    return Values();
  });
}

void RowEmitter::emitUnit(Value number, bool mayBeBeyond) {
  OpBuilder::InsertionGuard guard(builder);
  if (mayBeBeyond) {
    Value isUnit =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                              emitter.getIndexConstant(getUnits()));
    auto branch = scf::IfOp::create(builder, loc, isUnit, /*withElse=*/false);
    builder.setInsertionPointToStart(branch.thenBlock());
  }
  KernelElements::Scope scope(emitter);
  emitNumber(number);
}

void RowEmitter::emitNumber(Value number) {
  nd::ElementIndex row;
  for (nd::DimAttr dim : emitter.getOutput(0).type.getDims())
    row.dims[dim.getName().str()] = {emitter.getIndexConstant(0), false};
  setIndices(row, rows.loops, number, emitter.getLanes() > 1);
  emitRow(row);
}

} // namespace meshc::codegen
