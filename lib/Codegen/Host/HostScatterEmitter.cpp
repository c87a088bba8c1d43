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
      around(shape.kept), within(shape.inner) {
  Type type = sums.type.getElementType();
  if (emitter.getComputeType(type) != type)
    makeStrip();
}

/// Entries with as much of the updates as there is room for, one after another.
void HostScatterEmitter::makeStrip() {
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
  if (shape.op.getTable())
    emitTable(begin, end);
  else if (stripEntries == 0)
    emitZeros(begin, end);
  emitLoops(around, {}, false, [&](const nd::ElementIndex &index) {
    if (stripEntries != 0)
      return emitStrips(begin, end, index);
    emitEntries(shape.summed, nd::getTensorType(shape.op.getIndices()), index,
                [&](const nd::ElementIndex &at) {
                  emitUpdates(at, begin, end,
                              [&](const nd::ElementIndex &element, Value entry,
                                  Value) { emitAdd(element, entry); });
                });
  });
}

/// What is not added to stays in the table, or is stored with the sums.
void HostScatterEmitter::emitStrips(Value begin, Value end,
                                    const nd::ElementIndex &index) {
  emitFor(begin, end, stripEntries, {}, [&](Value low, ArrayRef<Value>) {
    Value width = emitter.getIndexConstant(stripEntries);
    Value high = arith::AddIOp::create(builder, loc, low, width);
    high = arith::MinUIOp::create(builder, loc, high, end);
    Value count = arith::SubIOp::create(builder, loc, high, low);
    clear(sums.pointer, count, sums.strides.front() * sizeof(float));
    auto forUpdates = [&](UpdateBody body) {
      emitEntries(shape.summed, nd::getTensorType(shape.op.getIndices()), index,
                  [&](const nd::ElementIndex &at) {
                    emitUpdates(at, low, high, body);
                  });
    };
    forUpdates([&](const nd::ElementIndex &at, Value, Value fromFirst) {
      emitAdd(at, fromFirst);
    });
    if (shape.op.getTable()) {
      forUpdates([&](const nd::ElementIndex &at, Value entry, Value fromFirst) {
        emitStore(at, entry, fromFirst);
      });
      return Values();
    }
    Value zero = emitter.getIndexConstant(0);
    emitFor(zero, count, 1, {}, [&](Value entry, ArrayRef<Value>) {
      Value place = arith::AddIOp::create(builder, loc, low, entry);
      emitLoops(within, index, true, [&](const nd::ElementIndex &at) {
        emitStore(at, place, entry);
      });
      return Values();
    });
    return Values();
  });
}

/// The entries as the table has them, unless they lie there already.
void HostScatterEmitter::emitTable(Value begin, Value end) {
  OpBuilder::InsertionGuard guard(builder);
  if (shape.tableInput)
    enterIfElsewhere(*shape.tableInput);
  SmallVector<Loop> loops(shape.kept);
  loops.append(shape.inner);
  emitFor(begin, end, 1, {}, [&](Value entry, ArrayRef<Value>) {
    emitLoops(loops, {}, true, [&](nd::ElementIndex at) {
      at.dims[shape.dim.str()] = {entry, false};
      emitter.store(0, emitter.getElement(shape.op.getTable(), at), at);
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
void HostScatterEmitter::emitUpdates(const nd::ElementIndex &index, Value begin,
                                     Value end, UpdateBody body) {
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
  emitLoops(within, index, true,
            [&](const nd::ElementIndex &at) { body(at, entry, fromBegin); });
}

/// Adds an update to the sum of the entry.
void HostScatterEmitter::emitAdd(nd::ElementIndex index, Value entry) {
  Value update = emitter.getElement(shape.op.getUpdates(), index);
  index.dims[shape.dim.str()] = {entry, false};
  Value sum = combine(emitter, shape.op, emitter.load(sums, index), update);
  emitter.store(sums, sum, index);
}

/// Stores a sum of the stack in the result, or adds it to what the table has
/// there. Then the sum is zero: where several indices name the entry, the
/// others add nothing.
void HostScatterEmitter::emitStore(nd::ElementIndex index, Value entry,
                                   Value fromFirst) {
  nd::ElementIndex inSums = index;
  inSums.dims[shape.dim.str()] = {fromFirst, false};
  index.dims[shape.dim.str()] = {entry, false};
  Value sum = emitter.load(sums, inSums);
  if (shape.op.getTable()) {
    emitter.store(
        sums, getIdentity(emitter, shape.op, isa<VectorType>(sum.getType())),
        inSums);
    sum = combine(emitter, shape.op, emitter.load(emitter.getOutput(0), index),
                  sum);
  }
  emitter.store(0, sum, index);
}

} // namespace meshc::codegen
