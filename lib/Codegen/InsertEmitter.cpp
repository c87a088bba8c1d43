//===- InsertEmitter.cpp - entries replaced in a table --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/InsertEmitter.h"
#include "lib/Codegen/SoleOp.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

FailureOr<InsertShape> InsertShape::of(exec::KernelOp kernel) {
  InsertShape shape;
  shape.op = getSoleOp<nd::InsertOpInterface>(kernel);
  if (failed(verifyStandsAlone(kernel, shape.op)))
    return failure();
  if (auto argument = dyn_cast<BlockArgument>(shape.op.getTable()))
    shape.tableInput = argument.getArgNumber();
  shape.rows = Rows::of(kernel, shape.op.getDimAttr());
  nd::TensorType table = nd::getTensorType(shape.op->getResult(0));
  nd::TensorType indices = nd::getTensorType(shape.op.getIndices());
  StringAttr lanes = kernel.getPlan().getLanes();
  if (shape.rows.loops.empty() || shape.rows.loops.back().dims[0] != lanes ||
      indices.hasDim(lanes.getValue()))
    shape.rows.laneExtent = 1;
  for (auto [number, dim] : llvm::enumerate(indices.getDims()))
    if (!table.hasDim(dim.getName().getValue()))
      shape.updates.push_back(
          {{dim.getName()},
           indices.getLocalSize(number, nd::MeshAttr::of(kernel))});
  return shape;
}

void InsertEmitter::emitRow(const nd::ElementIndex &row) {
  emitCopy(row);
  emitEntries(shape.updates, nd::getTensorType(shape.op.getIndices()), row,
              [&](const nd::ElementIndex &index) { emitUpdate(index); });
}

/// All entries of the row, unless they are in their place already.
void InsertEmitter::emitCopy(const nd::ElementIndex &row) {
  OpBuilder::InsertionGuard guard(builder);
  if (shape.tableInput)
    enterIfElsewhere(*shape.tableInput);
  emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(rows.entries),
          1, {}, [&](Value entry, ArrayRef<Value>) {
            nd::ElementIndex index = row;
            index.dims[shape.op.getDimAttr().str()] = {entry, false};
            emitter.store(0, emitter.getElement(shape.op.getTable(), index),
                          index);
            return Values();
          });
}

/// The update, if its entry is one of the rank's block.
void InsertEmitter::emitUpdate(nd::ElementIndex index) {
  StringRef dim = shape.op.getDimAttr().getValue();
  Value wanted = emitter.getElement(shape.op.getIndices(), index);
  wanted =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wanted);
  Value entry = arith::SubIOp::create(
      builder, loc, wanted,
      emitter.getGlobalOffset(nd::getTensorType(shape.op->getResult(0)), dim));
  // Unsigned, so that what is negative is out of range too.
  Value isHere =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, entry,
                            emitter.getIndexConstant(rows.entries));
  auto branch = scf::IfOp::create(builder, loc, isHere, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelElements::Scope scope(emitter);
  index.dims[dim.str()] = {entry, false};
  emitter.store(0, emitter.getElement(shape.op.getUpdates(), index), index);
}

} // namespace meshc::codegen
