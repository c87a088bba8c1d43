//===- HostScatterEmitter.cpp - adding at computed places, on a CPU -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/HostScatterEmitter.h"
#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

/// Sums that the stack has room for.
static constexpr int64_t stripSize = 65536;

HostScatterEmitter::HostScatterEmitter(const ScatterShape &shape,
                                       KernelElements &emitter)
    : LoopEmitter(emitter), shape(shape), sums(emitter.getOutput(0)),
      scanned(shape.outer), within(shape.inner) {
  Type type = sums.type.getElementType();
  if (emitter.getComputeType(type) != type)
    makeStrip();
}

/// Entries with as much of the updates as there is room for, one after another.
void HostScatterEmitter::makeStrip() {
  scanned.clear();
  for (const Loop &loop : shape.outer) {
    bool isKept = sums.type.hasDim(loop.dims.back().getValue());
    (isKept ? around : scanned).push_back(loop);
  }
  unsigned first = shape.inner.size();
  int64_t size = 1;
  while (first > 0 && size * shape.inner[first - 1].size <= stripSize)
    size *= shape.inner[--first].size;
  around.append(shape.inner.begin(), shape.inner.begin() + first);
  within.assign(shape.inner.begin() + first, shape.inner.end());
  stripEntries = std::min(stripSize / size, shape.entries);

  Type type = emitter.getComputeType(sums.type.getElementType());
  sums.type = nd::TensorType::get(type, ArrayRef<nd::DimAttr>());
  sums.order = {shape.dim};
  sums.strides = {size};
  for (const Loop &loop : within) {
    size /= loop.size;
    sums.order.push_back(loop.dims.back());
    sums.strides.push_back(size);
  }
  Value count = arith::ConstantOp::create(
      builder, loc,
      builder.getI64IntegerAttr(stripEntries * sums.strides.front()));
  sums.pointer = LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
      count, /*alignment=*/64);
}

void HostScatterEmitter::emit(Value begin, Value end) {
  if (stripEntries != 0)
    return emitLoops(around, {}, false, [&](const nd::ElementIndex &index) {
      emitStrips(begin, end, index);
    });
  emitZeros(begin, end);
  emitLoops(scanned, {}, false, [&](const nd::ElementIndex &index) {
    emitSums(index, begin, end);
  });
}

void HostScatterEmitter::emitStrips(Value begin, Value end,
                                    const nd::ElementIndex &index) {
  emitFor(begin, end, stripEntries, {}, [&](Value low, ArrayRef<Value>) {
    Value width = emitter.getIndexConstant(stripEntries);
    Value high = arith::AddIOp::create(builder, loc, low, width);
    high = arith::MinUIOp::create(builder, loc, high, end);
    Value count = arith::SubIOp::create(builder, loc, high, low);
    clear(sums.pointer, count, sums.strides.front() * sizeof(float));
    emitLoops(scanned, index, false,
              [&](const nd::ElementIndex &at) { emitSums(at, low, high); });
    Value zero = emitter.getIndexConstant(0);
    emitFor(zero, count, 1, {}, [&](Value entry, ArrayRef<Value>) {
      Value place = arith::AddIOp::create(builder, loc, low, entry);
      emitLoops(within, index, true, [&](nd::ElementIndex at) {
        at.dims[shape.dim.str()] = {entry, false};
        Value sum = emitter.load(sums, at);
        at.dims[shape.dim.str()] = {place, false};
        emitter.store(0, sum, at);
      });
      return Values();
    });
    return Values();
  });
}

static Value toI64(OpBuilder &builder, Location loc, Value value) {
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
}

/// Fills `count` times `bytes` bytes with zeros.
void HostScatterEmitter::clear(Value address, Value count, int64_t bytes) {
  Value length = arith::MulIOp::create(builder, loc, count,
                                       emitter.getIndexConstant(bytes));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(0));
  LLVM::MemsetOp::create(builder, loc, address, zero,
                         toI64(builder, loc, length), /*isVolatile=*/false);
}

/// In memory, the entries of the piece are one run of bytes for each index of
/// the dims outside the scattered one.
void HostScatterEmitter::emitZeros(Value begin, Value end) {
  int64_t outside = 1;
  int64_t stride = 1;
  for (auto [name, dimStride] : llvm::zip(sums.order, sums.strides)) {
    if (name == shape.dim) {
      stride = dimStride;
      break;
    }
    outside *= sums.type.getLocalSize(sums.type.getDimIndex(name.getValue()),
                                      emitter.getMesh());
  }
  Type storage = getStorageType(sums.type.getElementType());
  int64_t bytes = stride * storage.getIntOrFloatBitWidth() / 8;
  auto multiply = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, emitter.getIndexConstant(b));
  };
  Value count = arith::SubIOp::create(builder, loc, end, begin);
  emitFor(emitter.getIndexConstant(0), emitter.getIndexConstant(outside), 1, {},
          [&](Value base, ArrayRef<Value>) {
            Value entry = arith::AddIOp::create(
                builder, loc, multiply(base, shape.entries), begin);
            Value offset = toI64(builder, loc, multiply(entry, bytes));
            Value address = LLVM::GEPOp::create(
                builder, loc, sums.pointer.getType(), builder.getI8Type(),
                sums.pointer, ArrayRef<LLVM::GEPArg>{offset});
            clear(address, count, bytes);
            return Values();
          });
}

void HostScatterEmitter::emitLoops(ArrayRef<Loop> loops,
                                   const nd::ElementIndex &index, bool hasLanes,
                                   IndexBody body) {
  if (loops.empty())
    return body(index);
  const Loop &loop = loops.front();
  nd::ElementIndex inner = index;
  Value low = emitter.getIndexConstant(0);
  Value high = emitter.getIndexConstant(loop.size);
  if (hasLanes && emitter.getLanes() > 1 && loops.size() == 1) {
    emitLanes(low, high, loop.size, 1, {},
              [&](ArrayRef<Value> bases, bool isVector, ArrayRef<Value>) {
                setIndex(inner, loop, bases[0], isVector);
                body(inner);
                return Values();
              });
    return;
  }
  emitFor(low, high, 1, {}, [&](Value base, ArrayRef<Value>) {
    setIndex(inner, loop, base, false);
    emitLoops(loops.drop_front(), inner, hasLanes, body);
    return Values();
  });
}

/// All updates of one index, if it names one of these entries.
void HostScatterEmitter::emitSums(const nd::ElementIndex &index, Value begin,
                                  Value end) {
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
  KernelElements::Scope scope(emitter);
  nd::ElementIndex inner = index;
  inner.dims[shape.dim.str()] = {stripEntries != 0 ? fromBegin : entry, false};
  emitLoops(within, inner, true,
            [&](const nd::ElementIndex &at) { emitAdd(at); });
}

void HostScatterEmitter::emitAdd(const nd::ElementIndex &index) {
  Value update = emitter.getElement(shape.op.getUpdates(), index);
  Value sum = combine(emitter, shape.op, emitter.load(sums, index), update);
  emitter.store(sums, sum, index);
}

} // namespace meshc::codegen
