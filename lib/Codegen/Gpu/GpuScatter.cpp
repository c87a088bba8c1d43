//===- GpuScatter.cpp - adding at computed places, on a GPU ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuScatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace meshc::codegen {

/// Sums that one thread has in registers, at most.
static constexpr int64_t kChunks = 4;
static constexpr int64_t kWarpsPerBlock = 8;

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

GpuScatter::GpuScatter(const ScatterShape &shape, KernelEmitter &emitter)
    : KernelLoops(emitter), shape(shape) {
  nd::TensorType result = nd::getTensorType(shape.op->getResult(0));
  int64_t points = shape.entries;
  for (const Loop &loop : shape.outer) {
    bool isKept = result.hasDim(loop.dims.back().getValue());
    (isKept ? kept : scanned).push_back(loop);
    (isKept ? points : scanCount) *= loop.size;
  }
  for (const Loop &loop : shape.inner)
    innerCount *= loop.size;
  innerCount /= emitter.getLanes();
  chunks = std::min(divideUp(innerCount, kWarp), kChunks);
  parts = divideUp(innerCount, kWarp * chunks);
  map.points = points * parts;
  map.members = kWarp;
  map.membersAreNeighbours = true;
  map.pointsPerBlock = kWarpsPerBlock;
}

void GpuScatter::setIndices(nd::ElementIndex &index, ArrayRef<Loop> loops,
                            Value number, int64_t lanes) {
  for (size_t loop = loops.size(); loop-- > 0;) {
    int64_t width = loop + 1 == loops.size() ? lanes : 1;
    Value count = emitter.getIndexConstant(loops[loop].size / width);
    Value digit = number;
    if (loop != 0) {
      digit = arith::RemUIOp::create(builder, loc, number, count);
      number = arith::DivUIOp::create(builder, loc, number, count);
    }
    if (width != 1)
      digit = arith::MulIOp::create(builder, loc, digit,
                                    emitter.getIndexConstant(width));
    setIndex(index, loops[loop], digit, width != 1);
  }
}

void GpuScatter::emit(GpuGroup &group) {
  takeEntry(group);
  Values sums = scanIndices(group.getMember());
  for (auto [place, sum] : llvm::zip(places, sums)) {
    Value isWanted = isEntry;
    if (place.isValid)
      isWanted = isWanted ? arith::AndIOp::create(builder, loc, isWanted,
                                                  place.isValid)
                                .getResult()
                          : place.isValid;
    OpBuilder::InsertionGuard guard(builder);
    if (isWanted) {
      auto branch =
          scf::IfOp::create(builder, loc, isWanted, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    emitter.store(0, sum, place.index);
  }
}

/// Warps beyond the last entry do as the last one, and store nothing.
void GpuScatter::takeEntry(GpuGroup &group) {
  Value point = group.getPoint();
  if (map.points % map.pointsPerBlock != 0) {
    isEntry =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, point,
                              emitter.getIndexConstant(map.points));
    point = arith::MinUIOp::create(builder, loc, point,
                                   emitter.getIndexConstant(map.points - 1));
  }
  auto takeOff = [&](int64_t size) {
    Value count = emitter.getIndexConstant(size);
    Value digit = arith::RemUIOp::create(builder, loc, point, count);
    point = arith::DivUIOp::create(builder, loc, point, count);
    return digit;
  };
  Value part = takeOff(parts);
  entryNumber = takeOff(shape.entries);
  setIndices(entry, kept, point, 1);
  entry.dims[shape.dim.str()] = {entryNumber, false};
  placeSums(part, group.getMember());
}

void GpuScatter::placeSums(Value part, Value member) {
  Value first = arith::MulIOp::create(builder, loc, part,
                                      emitter.getIndexConstant(kWarp * chunks));
  first = arith::AddIOp::create(builder, loc, first, member);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value number = arith::AddIOp::create(
        builder, loc, first, emitter.getIndexConstant(chunk * kWarp));
    Place place{entry, {}};
    if (innerCount % (kWarp * chunks) != 0) {
      place.isValid =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                emitter.getIndexConstant(innerCount));
      number = arith::MinUIOp::create(builder, loc, number,
                                      emitter.getIndexConstant(innerCount - 1));
    }
    setIndices(place.index, shape.inner, number, emitter.getLanes());
    places.push_back(place);
  }
}

GpuScatter::Values GpuScatter::scanIndices(Value member) {
  Type type = emitter.getComputeType(
      nd::getTensorType(shape.op->getResult(0)).getElementType());
  if (emitter.getLanes() > 1)
    type = VectorType::get({emitter.getLanes()}, type);
  Values zeros(chunks, arith::ConstantOp::create(builder, loc,
                                                 builder.getZeroAttr(type)));
  return emitFor(emitter.getIndexConstant(0),
                 emitter.getIndexConstant(scanCount), kWarp, zeros,
                 [&](Value first, ArrayRef<Value> sums) {
                   return addMatches(first, findMatches(first, member), sums);
                 });
}

/// Bit n of the result: the index at first + n names the warp's entry.
Value GpuScatter::findMatches(Value first, Value member) {
  Value number = arith::AddIOp::create(builder, loc, first, member);
  Value isIndex;
  if (scanCount % kWarp != 0) {
    isIndex =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                              emitter.getIndexConstant(scanCount));
    number = arith::MinUIOp::create(builder, loc, number,
                                    emitter.getIndexConstant(scanCount - 1));
  }
  nd::ElementIndex index = entry;
  setIndices(index, scanned, number, 1);
  Value wanted = emitter.getElement(shape.op.getIndices(), index);
  wanted =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), wanted);
  Value offset = emitter.getGlobalOffset(
      nd::getTensorType(shape.op->getResult(0)), shape.dim.getValue());
  Value local = arith::SubIOp::create(builder, loc, wanted, offset);
  Value isMatch = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        local, entryNumber);
  if (isIndex)
    isMatch = arith::AndIOp::create(builder, loc, isMatch, isIndex);
  Type word = builder.getI32Type();
  auto constant = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  Value lane = arith::IndexCastOp::create(builder, loc, word, member);
  Value bit = arith::ShLIOp::create(builder, loc, constant(1), lane);
  bit = arith::SelectOp::create(builder, loc, isMatch, bit, constant(0));
  return gpu::SubgroupReduceOp::create(
      builder, loc, bit, gpu::AllReduceOperation::OR, /*uniform=*/true);
}

/// Adds the updates of the indices whose bits are set, the lowest first.
GpuScatter::Values GpuScatter::addMatches(Value first, Value mask,
                                          ArrayRef<Value> sums) {
  SmallVector<Value> operands{mask};
  llvm::append_range(operands, sums);
  auto one = [&]() -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(1));
  };
  auto loop = scf::WhileOp::create(
      builder, loc, ValueRange(operands).getTypes(), operands,
      [&](OpBuilder &, Location, ValueRange arguments) {
        Value zero = arith::ConstantOp::create(builder, loc,
                                               builder.getI32IntegerAttr(0));
        Value isLeft = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::ne, arguments[0], zero);
        scf::ConditionOp::create(builder, loc, isLeft, arguments);
      },
      [&](OpBuilder &, Location, ValueRange arguments) {
        KernelEmitter::Scope scope(emitter);
        Value bits = arguments[0];
        Value lowest = math::CountTrailingZerosOp::create(builder, loc, bits);
        lowest = arith::IndexCastUIOp::create(builder, loc,
                                              builder.getIndexType(), lowest);
        Value number = arith::AddIOp::create(builder, loc, first, lowest);
        Values next =
            addUpdate(number, SmallVector<Value>(arguments.drop_front()));
        Value others = arith::SubIOp::create(builder, loc, bits, one());
        others = arith::AndIOp::create(builder, loc, bits, others);
        next.insert(next.begin(), others);
        scf::YieldOp::create(builder, loc, next);
      });
  return Values(loop.getResults().drop_front());
}

GpuScatter::Values GpuScatter::addUpdate(Value number, ArrayRef<Value> sums) {
  Values next;
  for (auto [place, sum] : llvm::zip(places, sums)) {
    nd::ElementIndex index = place.index;
    setIndices(index, scanned, number, 1);
    Value a = sum, b = emitter.getElement(shape.op.getUpdates(), index);
    emitter.unify(a, b);
    if (isa<FloatType>(getElementTypeOrSelf(a.getType())))
      next.push_back(arith::AddFOp::create(builder, loc, a, b));
    else
      next.push_back(arith::AddIOp::create(builder, loc, a, b));
  }
  return next;
}

} // namespace meshc::codegen
