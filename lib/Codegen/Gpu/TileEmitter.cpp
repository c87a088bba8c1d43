//===- TileEmitter.cpp - products of tiles in workgroup memory ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/TileEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace meshc::codegen {

using exec::AttentionTiles;

/// Floats of one access to workgroup memory.
static constexpr int64_t wide = 4;

TileEmitter::TileEmitter(KernelElements &emitter, GpuGroup &group,
                         const AttentionTiles &tiles, int64_t lanes)
    : LoopEmitter(emitter), group(group), tiles(tiles), lanes(lanes) {
  thread = group.getMember();
  row = thread;
  column = takeOff(row, AttentionTiles::streamedThreads);
  for (int64_t n = 0; n < tiles.held; ++n)
    heldNumbers.push_back(plus(row, index(n * AttentionTiles::heldThreads)));
  for (int64_t n = 0; n < tiles.streamed; ++n)
    streamedNumbers.push_back(
        plus(column, index(n * AttentionTiles::streamedThreads)));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value TileEmitter::number(double value) {
  return emitter.constant(builder.getF32Type(), value);
}

Value TileEmitter::plus(Value a, Value b) {
  if (isa<IndexType>(a.getType()))
    return arith::AddIOp::create(builder, loc, a, b);
  return arith::AddFOp::create(builder, loc, a, b);
}

Value TileEmitter::minus(Value a, Value b) {
  if (isa<IndexType>(a.getType()))
    return arith::SubIOp::create(builder, loc, a, b);
  return arith::SubFOp::create(builder, loc, a, b);
}

Value TileEmitter::times(Value a, Value b) {
  if (isa<IndexType>(a.getType()))
    return arith::MulIOp::create(builder, loc, a, b);
  return arith::MulFOp::create(builder, loc, a, b);
}

Value TileEmitter::smaller(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}

Value TileEmitter::larger(Value a, Value b) {
  return arith::MaxSIOp::create(builder, loc, a, b);
}

Value TileEmitter::clamp(Value at, Value end) {
  return smaller(larger(at, index(0)), end);
}

Value TileEmitter::isLess(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value TileEmitter::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

Value TileEmitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

void TileEmitter::emitIf(Value condition, llvm::function_ref<void()> code) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  KernelElements::Scope scope(emitter);
  builder.setInsertionPointToStart(branch.thenBlock());
  code();
}

Value TileEmitter::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(builder, loc, vector, lane);
}

Value TileEmitter::multiplyAdd(Value a, Value b, Value sum) {
  if (auto vector = dyn_cast<VectorType>(sum.getType()))
    a = vector::BroadcastOp::create(builder, loc, vector, a);
  return math::FmaOp::create(builder, loc, a, b, sum);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value TileEmitter::getAddress(Value pointer, Type type, Value at) {
  Value place =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), at);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>{place});
}

static int64_t getBytes(Type storage, int64_t count) {
  return storage.getIntOrFloatBitWidth() / 8 * count;
}

Value TileEmitter::loadGlobal(Value pointer, Type elementType, Value at,
                              int64_t count) {
  Type storage = getStorageType(elementType);
  Type type = count == 1 ? storage : VectorType::get({count}, storage);
  Value stored =
      LLVM::LoadOp::create(builder, loc, type, getAddress(pointer, storage, at),
                           getBytes(storage, count));
  return fromStorage(emitter, stored, elementType);
}

void TileEmitter::storeGlobal(Value pointer, Type elementType, Value at,
                              Value value) {
  Type storage = getStorageType(elementType);
  auto vector = dyn_cast<VectorType>(value.getType());
  LLVM::StoreOp::create(
      builder, loc, toStorage(emitter, value, elementType),
      getAddress(pointer, storage, at),
      getBytes(storage, vector ? vector.getNumElements() : 1));
}

Value TileEmitter::loadLocal(Value memory, Value at, int64_t count) {
  return loadGlobal(memory, builder.getF32Type(), at, count);
}

void TileEmitter::storeLocal(Value memory, Value at, Value value) {
  storeGlobal(memory, builder.getF32Type(), at, value);
}

TileEmitter::Tile TileEmitter::allocateTile(int64_t entries, int64_t size) {
  int64_t stride = AttentionTiles::getStride(size);
  return {group.allocate(4 * entries * stride), entries, size, stride};
}

TileEmitter::Tile TileEmitter::allocateScores() {
  int64_t entries = tiles.getHeldEntries(), stride = tiles.getScoreStride();
  return {group.allocate(4 * entries * stride), entries,
          tiles.getStreamedEntries(), stride};
}

void TileEmitter::load(const Tile &tile, const GlobalEntries &from) {
  int64_t columns = llvm::alignTo(tile.size, wide) / lanes;
  int64_t all = tile.entries * columns;
  Type type = builder.getF32Type();
  if (lanes > 1)
    type = VectorType::get({lanes}, type);
  auto copy = [&](Value piece) {
    Value entry = piece;
    Value element = times(takeOff(entry, columns), lanes);
    Value exists = isLess(entry, from.count);
    if (tile.size % wide != 0)
      exists = both(exists, isLess(element, index(tile.size)));
    auto branch = scf::IfOp::create(builder, loc, type, exists,
                                    /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value at = plus(plus(from.first, times(entry, from.stride)), element);
      scf::YieldOp::create(
          builder, loc, loadGlobal(from.pointer, from.elementType, at, lanes));
      builder.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(
          builder, loc,
          arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type))
              .getResult());
    }
    storeLocal(tile.memory, plus(times(entry, tile.stride), element),
               branch.getResult(0));
  };
  emitFor(index(0), index(llvm::divideCeil(all, AttentionTiles::threads)), 1,
          {}, [&](Value turn, ArrayRef<Value>) {
            Value piece = plus(times(turn, AttentionTiles::threads), thread);
            if (all % AttentionTiles::threads == 0)
              copy(piece);
            else
              emitIf(isLess(piece, index(all)), [&] { copy(piece); });
            return Values();
          });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

TileEmitter::Values TileEmitter::multiply(const Tile &held,
                                          const Tile &streamed) {
  Values rows, columns;
  for (Value entry : heldNumbers)
    rows.push_back(times(entry, held.stride));
  for (Value entry : streamedNumbers)
    columns.push_back(times(entry, streamed.stride));
  Values zeros(tiles.held * tiles.streamed, number(0));
  return emitFor(
      index(0), index(llvm::alignTo(held.size, wide)), wide, zeros,
      [&](Value element, ArrayRef<Value> sums) {
        Values next(sums), a, b;
        for (Value at : rows)
          a.push_back(loadLocal(held.memory, plus(at, element), wide));
        for (Value at : columns)
          b.push_back(loadLocal(streamed.memory, plus(at, element), wide));
        for (int64_t lane = 0; lane < wide; ++lane)
          for (auto [i, x] : llvm::enumerate(a))
            for (auto [j, y] : llvm::enumerate(b)) {
              Value &sum = next[i * tiles.streamed + j];
              sum = multiplyAdd(extract(x, lane), extract(y, lane), sum);
            }
        return next;
      });
}

void TileEmitter::storeScores(const Tile &scores, ArrayRef<Value> numbers) {
  for (auto [i, held] : llvm::enumerate(heldNumbers))
    for (auto [j, streamed] : llvm::enumerate(streamedNumbers))
      storeLocal(scores.memory, plus(times(held, scores.stride), streamed),
                 numbers[i * tiles.streamed + j]);
}

TileEmitter::Values TileEmitter::makeSums(const Tile &streamed) {
  auto type = VectorType::get({wide}, builder.getF32Type());
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
  return Values(tiles.held * getPieces(streamed.size), zero);
}

TileEmitter::Values TileEmitter::addProducts(const Tile &scores,
                                             const Tile &streamed,
                                             ArrayRef<Value> sums) {
  int64_t pieces = getPieces(streamed.size);
  Value own = times(column, wide);
  Values rows;
  for (Value entry : heldNumbers)
    rows.push_back(times(entry, scores.stride));
  return emitFor(
      index(0), index(tiles.getStreamedEntries()), wide, sums,
      [&](Value first, ArrayRef<Value> carried) {
        Values next(carried), factors;
        for (Value at : rows)
          factors.push_back(loadLocal(scores.memory, plus(at, first), wide));
        for (int64_t lane = 0; lane < wide; ++lane) {
          Value entry = times(plus(first, index(lane)), streamed.stride);
          for (int64_t piece = 0; piece < pieces; ++piece) {
            Value at = plus(plus(entry, own), index(32 * piece));
            Value elements = loadLocal(streamed.memory, at, wide);
            for (auto [i, factor] : llvm::enumerate(factors)) {
              Value &sum = next[i * pieces + piece];
              sum = multiplyAdd(extract(factor, lane), elements, sum);
            }
          }
        }
        return next;
      });
}

TileEmitter::Values TileEmitter::scaleSums(ArrayRef<Value> sums,
                                           ArrayRef<Value> factors) {
  size_t pieces = sums.size() / factors.size();
  Values scaled;
  for (auto [n, sum] : llvm::enumerate(sums)) {
    Value factor = vector::BroadcastOp::create(builder, loc, sum.getType(),
                                               factors[n / pieces]);
    scaled.push_back(times(sum, factor));
  }
  return scaled;
}

void TileEmitter::storeSums(ArrayRef<Value> sums, const GlobalEntries &to,
                            int64_t size) {
  int64_t pieces = getPieces(size);
  Value own = times(column, wide);
  for (auto [n, sum] : llvm::enumerate(sums)) {
    auto piece = static_cast<int64_t>(n) % pieces;
    Value entry = heldNumbers[static_cast<int64_t>(n) / pieces];
    for (int64_t lane = 0; lane < wide; lane += lanes) {
      Value element = plus(own, index(32 * piece + lane));
      Value exists = isLess(entry, to.count);
      if (size % 32 != 0)
        exists = both(exists, isLess(element, index(size)));
      emitIf(exists, [&] {
        Value at = plus(plus(to.first, times(entry, to.stride)), element);
        storeGlobal(to.pointer, to.elementType, at,
                    lanes == wide ? sum : extract(sum, lane));
      });
    }
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value TileEmitter::isFirstOfRow() {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, column,
                               index(0));
}

Value TileEmitter::combineRow(Value value,
                              llvm::function_ref<Value(Value, Value)> combine,
                              int64_t width) {
  for (int64_t distance = 1; distance < width; distance *= 2)
    value = combine(value, group.shuffle(value, distance));
  return value;
}

} // namespace meshc::codegen
