//===- GpuScatterEmitter.cpp - adding at computed places, on a GPU --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuScatterEmitter.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

/// Elements of an update that one thread has, at most.
static constexpr int64_t maxChunks = 4;
/// Numbers that a thread has in registers as sums, at most.
static constexpr int64_t maxSums = 32;
static constexpr int64_t maxSpan = 16;
static constexpr int64_t warpsPerBlock = 8;
/// Rows of 32 indices that a warp looks at at once, at most.
static constexpr int64_t maxRows = 8;

//===----------------------------------------------------------------------===//
// Which thread does what
//===----------------------------------------------------------------------===//

GpuScatterEmitter::GpuScatterEmitter(const ScatterShape &shape,
                                     KernelElements &emitter,
                                     const GpuOptions &options)
    : LoopEmitter(emitter), shape(shape) {
  nd::TensorType result = nd::getTensorType(shape.op->getResult(0));
  int64_t units = 1;
  for (const Loop &loop : shape.outer) {
    bool isKept = result.hasDim(loop.dims.back().getValue());
    (isKept ? kept : scanned).push_back(loop);
    (isKept ? units : map.steps) *= loop.size;
  }
  for (const Loop &loop : shape.inner)
    innerCount *= loop.size;
  innerCount /= emitter.getLanes();
  columns = std::min<int64_t>(llvm::bit_ceil<uint64_t>(innerCount), warpSize);
  int64_t all = llvm::divideCeil(innerCount, columns);
  parts = llvm::divideCeil(all, maxChunks);
  chunks = llvm::divideCeil(all, parts);
  span =
      std::clamp<int64_t>(maxSums / (chunks * emitter.getLanes()), 1, maxSpan);
  span = std::min(span, shape.entries);
  units *= llvm::divideCeil(shape.entries, span) * parts;
  map.points = units * columns;
  shareIndices(options);
}

/// A warp looks at 32 indices at once and has members of one unit. More warps
/// of a block, then more blocks, share the indices of a unit where that fills
/// the GPU.
void GpuScatterEmitter::shareIndices(const GpuOptions &options) {
  int64_t inWarp = warpSize / columns;
  map.members = inWarp;
  while (getWarps() < warpsPerBlock && map.steps > warpSize * getWarps() &&
         (inWarp > 1 || map.points * map.members < options.threadsToFill))
    map.members *= 2;
  map.pointsPerBlock =
      inWarp > 1 ? columns : warpSize * warpsPerBlock / map.members;
  while (map.pointsPerBlock > warpSize && map.pointsPerBlock / 2 >= map.points)
    map.pointsPerBlock /= 2;
  constexpr int64_t maxSharers = 128;
  while (map.sharers < maxSharers &&
         map.getBlocks() * map.getThreads() < options.threadsToFill &&
         map.steps >= 2 * options.leastSteps * warpSize * getWarps())
    map.sharers *= 2;
  auto rows =
      static_cast<uint64_t>(llvm::divideCeil(map.steps, warpSize * getWarps()));
  map.unroll = std::min<int64_t>(llvm::bit_floor(rows), maxRows);
}

Value GpuScatterEmitter::constant(int64_t value) {
  return arith::ConstantOp::create(
      builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

/// Threads beyond the last unit do as those of the last one, and store nothing.
void GpuScatterEmitter::takeUnit(GpuGroup &group) {
  Value point = group.getPoint();
  warp = group.getWorker();
  Value before =
      arith::MulIOp::create(builder, loc, takeOff(warp, warpSize / columns),
                            emitter.getIndexConstant(columns));
  firstLane =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), before);
  Value unit = point, column = takeOff(unit, columns);
  lane = arith::AddIOp::create(builder, loc, before, column);
  if (map.points % map.pointsPerBlock != 0) {
    int64_t units = map.points / columns;
    isUnit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                   unit, emitter.getIndexConstant(units));
    unit = arith::MinUIOp::create(builder, loc, unit,
                                  emitter.getIndexConstant(units - 1));
  }
  Value part = takeOff(unit, parts);
  Value range = takeOff(unit, llvm::divideCeil(shape.entries, span));
  setIndices(entry, kept, unit, false);
  firstEntry = arith::MulIOp::create(builder, loc, range,
                                     emitter.getIndexConstant(span));
  Value offset = emitter.getGlobalOffset(
      nd::getTensorType(shape.op->getResult(0)), shape.dim.getValue());
  offset = arith::AddIOp::create(builder, loc, offset, firstEntry);
  firstIndex =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), offset);
  placeElements(part, column);
}

void GpuScatterEmitter::placeElements(Value part, Value column) {
  Value first = arith::MulIOp::create(
      builder, loc, part, emitter.getIndexConstant(columns * chunks));
  first = arith::AddIOp::create(builder, loc, first, column);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Value number = arith::AddIOp::create(
        builder, loc, first, emitter.getIndexConstant(chunk * columns));
    Place place{entry, {}};
    if (innerCount % (columns * chunks) != 0) {
      place.isValid =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                emitter.getIndexConstant(innerCount));
      number = arith::MinUIOp::create(builder, loc, number,
                                      emitter.getIndexConstant(innerCount - 1));
    }
    setIndices(place.index, shape.inner, number, true);
    places.push_back(place);
  }
}

void GpuScatterEmitter::emit(GpuGroup &group) {
  takeUnit(group);
  Values sums = scanIndices();
  SmallVector<Operation *> ops(sums.size(), shape.op);
  group.combineMembers(ops, sums);
  Value isFirst;
  if (map.members > 1)
    isFirst =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                              group.getMember(), emitter.getIndexConstant(0));
  if (map.sharers == 1)
    return storeSums(sums, isFirst);
  Values stored;
  for (Value sum : sums)
    stored.push_back(group.storePartial(sum));
  auto branch = scf::IfOp::create(builder, loc, group.emitIsLastBlock(),
                                  /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  for (auto [sum, place] : llvm::zip(sums, stored))
    sum = group.combinePartials(shape.op, sum.getType(), place);
  group.combineMembers(ops, sums);
  storeSums(sums, isFirst);
}

/// Sums come entry by entry, those of an entry by places.
void GpuScatterEmitter::storeSums(ArrayRef<Value> sums, Value isFirst) {
  for (auto [number, sum] : llvm::enumerate(sums)) {
    const Place &place = places[number % chunks];
    Value isWanted = isFirst;
    auto require = [&](Value condition) {
      if (isWanted && condition)
        isWanted = arith::AndIOp::create(builder, loc, isWanted, condition);
      else if (condition)
        isWanted = condition;
    };
    require(isUnit);
    require(place.isValid);
    Value at = arith::AddIOp::create(
        builder, loc, firstEntry,
        emitter.getIndexConstant(static_cast<int64_t>(number) / chunks));
    if (shape.entries % span != 0)
      require(arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at,
                                    emitter.getIndexConstant(shape.entries)));
    OpBuilder::InsertionGuard guard(builder);
    if (isWanted) {
      auto branch =
          scf::IfOp::create(builder, loc, isWanted, /*withElse=*/false);
      builder.setInsertionPointToStart(branch.thenBlock());
    }
    nd::ElementIndex index = place.index;
    index.dims[shape.dim.str()] = {at, false};
    emitter.store(0, sum, index);
  }
}

//===----------------------------------------------------------------------===//
// Looking at indices
//===----------------------------------------------------------------------===//

/// Runs `body` on the number of each bit that is set in `bits` (i32), the
/// lowest first.
static LoopEmitter::Values forEachBit(
    OpBuilder &builder, Location loc, Value bits, ArrayRef<Value> carried,
    llvm::function_ref<LoopEmitter::Values(Value &, ArrayRef<Value>)> body) {
  SmallVector<Value> operands{bits};
  llvm::append_range(operands, carried);
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
        Value rest = arguments[0];
        LoopEmitter::Values next =
            body(rest, SmallVector<Value>(arguments.drop_front()));
        next.insert(next.begin(), rest);
        scf::YieldOp::create(builder, loc, next);
      });
  return LoopEmitter::Values(loop.getResults().drop_front());
}

/// Clears the lowest set bit and returns its number; 32 if no bit is set.
static Value takeLowest(OpBuilder &builder, Location loc, Value &bits) {
  Value lowest = math::CountTrailingZerosOp::create(builder, loc, bits);
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(1));
  Value others = arith::SubIOp::create(builder, loc, bits, one);
  bits = arith::AndIOp::create(builder, loc, bits, others);
  return lowest;
}

static Value emitOrOfWarp(OpBuilder &builder, Location loc, Value bits) {
  return gpu::SubgroupReduceOp::create(
      builder, loc, bits, gpu::AllReduceOperation::OR, /*uniform=*/true);
}

/// Each warp takes some rows of 32 indices at a time, and then those rows that
/// hold what the unit looks for.
GpuScatterEmitter::Values GpuScatterEmitter::scanIndices() {
  Type type = emitter.getComputeType(
      nd::getTensorType(shape.op->getResult(0)).getElementType());
  if (emitter.getLanes() > 1)
    type = VectorType::get({emitter.getLanes()}, type);
  Values zeros(span * chunks, arith::ConstantOp::create(
                                  builder, loc, builder.getZeroAttr(type)));
  Value before = arith::MulIOp::create(
      builder, loc, warp, emitter.getIndexConstant(warpSize * map.unroll));
  return emitFor(
      emitter.getIndexConstant(0), emitter.getIndexConstant(map.steps),
      getRound(), zeros, [&](Value base, ArrayRef<Value> sums) {
        Value first = arith::AddIOp::create(builder, loc, base, before);
        return forEachBit(
            builder, loc, findRows(first), sums,
            [&](Value &rows, ArrayRef<Value> carried) {
              KernelElements::Scope scope(emitter);
              Value row = arith::IndexCastUIOp::create(
                  builder, loc, builder.getIndexType(),
                  takeLowest(builder, loc, rows));
              row = arith::MulIOp::create(builder, loc, row,
                                          emitter.getIndexConstant(warpSize));
              return addRow(arith::AddIOp::create(builder, loc, first, row),
                            carried);
            });
      });
}

/// How far behind the unit's first entry the index of that number is, as an
/// unsigned i32; `isThere` (null: it is): else it is none. `index` is set to
/// it.
Value GpuScatterEmitter::readDistance(nd::ElementIndex &index, Value number,
                                      Value isThere) {
  setIndices(index, scanned, number, false);
  Value wanted = emitter.getElement(shape.op.getIndices(), index);
  Value distance = arith::SubIOp::create(builder, loc, wanted, firstIndex);
  if (isThere)
    distance =
        arith::SelectOp::create(builder, loc, isThere, distance, constant(-1));
  return distance;
}

/// The same; there is none beyond the last.
Value GpuScatterEmitter::getDistance(Value number) {
  Value isIndex;
  if (map.steps % getRound() != 0) {
    isIndex =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                              emitter.getIndexConstant(map.steps));
    number = arith::MinUIOp::create(builder, loc, number,
                                    emitter.getIndexConstant(map.steps - 1));
  }
  nd::ElementIndex index = entry;
  return readDistance(index, number, isIndex);
}

/// Bit n of the result, the same for the warp: row n of 32 indices holds one
/// that names an entry of the unit.
Value GpuScatterEmitter::findRows(Value first) {
  first = arith::AddIOp::create(builder, loc, first, lane);
  Value found = constant(0);
  for (int64_t row = 0; row < map.unroll; ++row) {
    Value number = arith::AddIOp::create(
        builder, loc, first, emitter.getIndexConstant(row * warpSize));
    Value isHere =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                              getDistance(number), constant(span));
    Value bit = arith::SelectOp::create(
        builder, loc, isHere, constant(int64_t(1) << row), constant(0));
    found = arith::OrIOp::create(builder, loc, found, bit);
  }
  return emitOrOfWarp(builder, loc, found);
}

//===----------------------------------------------------------------------===//
// Adding
//===----------------------------------------------------------------------===//

/// Adds the updates of the row's indices; `first` is the number of its first.
/// Threads that are side by side have as many of the row's indices.
GpuScatterEmitter::Values GpuScatterEmitter::addRow(Value first,
                                                    ArrayRef<Value> sums) {
  Value number = arith::AddIOp::create(builder, loc, first, lane);
  Value isHere = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       getDistance(number), constant(span));
  Value own =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), lane);
  Value bit = arith::ShLIOp::create(builder, loc, constant(1), own);
  bit = arith::SelectOp::create(builder, loc, isHere, bit, constant(0));
  Value bits = emitOrOfWarp(builder, loc, bit);
  if (columns < warpSize) {
    Value mine = arith::ShLIOp::create(
        builder, loc, constant((int64_t(1) << columns) - 1), firstLane);
    bits = arith::AndIOp::create(builder, loc, bits, mine);
  }
  return forEachBit(builder, loc, bits, sums,
                    [&](Value &rest, ArrayRef<Value> carried) {
                      KernelElements::Scope scope(emitter);
                      return addBatch(first, rest, carried);
                    });
}

/// Adds the updates of the indices of the lowest bits of `bits`, read all at
/// once, to the sums of the entries that they name.
GpuScatterEmitter::Values GpuScatterEmitter::addBatch(Value first, Value &bits,
                                                      ArrayRef<Value> sums) {
  int64_t batch = std::max<int64_t>(8 / chunks, 1);
  batch = std::min(batch, maxSums / 2 / (chunks * emitter.getLanes()));
  batch = std::clamp<int64_t>(batch, 1, 4);
  Values distances, updates;
  Value lowest;
  for (int64_t number = 0; number < batch; ++number) {
    Value isBit, bit;
    if (number == 0) {
      bit = lowest = takeLowest(builder, loc, bits);
    } else {
      isBit = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                    bits, constant(0));
      // What is not there is read as the first one, and not added.
      bit = arith::SelectOp::create(builder, loc, isBit,
                                    takeLowest(builder, loc, bits), lowest);
    }
    bit =
        arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), bit);
    Value at = arith::AddIOp::create(builder, loc, first, bit);
    nd::ElementIndex index = entry;
    distances.push_back(readDistance(index, at, isBit));
    for (const Place &place : places) {
      index = place.index;
      setIndices(index, scanned, at, false);
      updates.push_back(emitter.getElement(shape.op.getUpdates(), index));
    }
  }
  Values next(sums);
  for (int64_t number = 0; number < batch; ++number)
    for (int64_t at = 0; at < span; ++at) {
      Value isNamed =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                distances[number], constant(at));
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        Value &sum = next[at * chunks + chunk];
        Value added =
            combine(emitter, shape.op, sum, updates[number * chunks + chunk]);
        sum = arith::SelectOp::create(builder, loc, isNamed, added, sum);
      }
    }
  return next;
}

} // namespace meshc::codegen
