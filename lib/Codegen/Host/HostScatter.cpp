//===- HostScatter.cpp - adding at computed places, on a CPU --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostScatter.h"
#include "dialects/Nd/NdOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

HostScatter::HostScatter(const ScatterShape &shape, KernelEmitter &emitter)
    : KernelLoops(emitter), shape(shape), hasLanes(emitter.getLanes() > 1) {}

void HostScatter::emit(Value first, Value beyond) {
  begin = first;
  end = beyond;
  emitZeros(begin, end);
  emitOuter(0, {});
}

/// In memory, the entries of the piece are one run of bytes for each index of
/// the dims outside the scattered one.
void HostScatter::emitZeros(Value begin, Value end) {
  const BufferView &view = emitter.getOutput(0);
  int64_t outside = 1;
  int64_t stride = 1;
  for (auto [name, dimStride] : llvm::zip(view.order, view.strides)) {
    if (name == shape.dim) {
      stride = dimStride;
      break;
    }
    outside *= view.type.getLocalSize(view.type.getDimIndex(name.getValue()),
                                      emitter.getMesh());
  }
  Type storage = getStorageType(view.type.getElementType());
  int64_t bytes = stride * storage.getIntOrFloatBitWidth() / 8;
  int64_t size = shape.entries;
  auto multiply = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, emitter.getIndexConstant(b));
  };
  auto toI64 = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getI64Type(),
                                      value);
  };
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value length = toI64(multiply(count, bytes));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(outside), 1, {},
          [&](Value base, ArrayRef<Value>) {
            Value entry = arith::AddIOp::create(builder, loc,
                                                multiply(base, size), begin);
            Value address = LLVM::GEPOp::create(
                builder, loc, view.pointer.getType(), builder.getI8Type(),
                view.pointer,
                ArrayRef<LLVM::GEPArg>{toI64(multiply(entry, bytes))});
            LLVM::MemsetOp::create(builder, loc, address, zero, length,
                                   /*isVolatile=*/false);
            return Values();
          });
}

void HostScatter::emitOuter(unsigned loop, nd::ElementIndex index) {
  if (loop == shape.outer.size())
    return emitUpdates(index);
  emitFor(emitter.getIndexConstant(0),
          emitter.getIndexConstant(shape.outer[loop].size), 1, {},
          [&](Value base, ArrayRef<Value>) {
            setIndex(index, shape.outer[loop], base, false);
            emitOuter(loop + 1, index);
            return Values();
          });
}

/// All updates of one index, if it is this piece's.
void HostScatter::emitUpdates(nd::ElementIndex index) {
  Value wanted = emitter.getElement(shape.op.getIndices(), index);
  wanted =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wanted);
  Value offset = emitter.getGlobalOffset(
      nd::getTensorType(shape.op->getResult(0)), shape.dim.getValue());
  Value entry = arith::SubIOp::create(builder, loc, wanted, offset);
  Value fromBegin = arith::SubIOp::create(builder, loc, entry, begin);
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  Value isHere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       fromBegin, count);
  auto branch = scf::IfOp::create(builder, loc, isHere, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelEmitter::Scope scope(emitter);
  index.dims[shape.dim.str()] = {entry, false};
  emitInner(0, index);
}

void HostScatter::emitInner(unsigned loop, nd::ElementIndex index) {
  if (loop == shape.inner.size())
    return emitAdd(index);
  Value low = emitter.getIndexConstant(0);
  Value high = emitter.getIndexConstant(shape.inner[loop].size);
  if (hasLanes && loop + 1 == shape.inner.size()) {
    emitLanes(low, high, shape.inner[loop].size, 1, {},
              [&](ArrayRef<Value> bases, bool isVector, ArrayRef<Value>) {
                setIndex(index, shape.inner[loop], bases[0], isVector);
                emitAdd(index);
                return Values();
              });
    return;
  }
  emitFor(low, high, 1, {}, [&](Value base, ArrayRef<Value>) {
    setIndex(index, shape.inner[loop], base, false);
    emitInner(loop + 1, index);
    return Values();
  });
}

void HostScatter::emitAdd(const nd::ElementIndex &index) {
  const BufferView &view = emitter.getOutput(0);
  Value update = emitter.getElement(shape.op.getUpdates(), index);
  Value sum = emitter.load(view, index);
  emitter.unify(sum, update);
  if (view.type.isFloat())
    sum = arith::AddFOp::create(builder, loc, sum, update);
  else
    sum = arith::AddIOp::create(builder, loc, sum, update);
  emitter.store(view, sum, index);
}

} // namespace meshc::codegen
