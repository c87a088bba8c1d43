//===- GpuGroup.cpp - threads that share a point --------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/Reductions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace meshc::codegen {

/// Workgroup memory that a block may declare without asking the driver.
static constexpr int64_t memoryLimit = 48 * 1024;
/// Pieces begin at multiples of the widest access.
static constexpr int64_t pieceAlignment = 16;

GpuGroup::GpuGroup(KernelElements &emitter, LLVM::LLVMFuncOp function,
                   const GpuMapping &map, Value block)
    : emitter(emitter), builder(emitter.builder), loc(emitter.loc),
      function(function), map(map) {
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x,
                                   builder.getIndexAttr(map.getThreads()));
  if (!block)
    block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x,
                                   builder.getIndexAttr(map.getBlocks()));
  if (map.membersAreNeighbours) {
    slot = divide(thread, map.members, false);
    member = divide(thread, map.members, true);
  } else {
    slot = divide(thread, map.pointsPerBlock, true);
    member = divide(thread, map.pointsPerBlock, false);
  }
  team = block;
  worker = member;
  if (map.sharers > 1) {
    team = divide(block, map.sharers, false);
    sharer = divide(block, map.sharers, true);
    Value before = arith::MulIOp::create(builder, loc, sharer,
                                         emitter.getIndexConstant(map.members));
    worker = arith::AddIOp::create(builder, loc, before, member);
  }
  Value first = arith::MulIOp::create(
      builder, loc, team, emitter.getIndexConstant(map.pointsPerBlock));
  point = arith::AddIOp::create(builder, loc, first, slot);
}

Value GpuGroup::divide(Value value, int64_t by, bool wantsRest) {
  Value divisor = emitter.getIndexConstant(by);
  if (wantsRest)
    return arith::RemUIOp::create(builder, loc, value, divisor);
  return arith::DivUIOp::create(builder, loc, value, divisor);
}

Value GpuGroup::emitLess(Value value, int64_t bound) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                               emitter.getIndexConstant(bound));
}

void GpuGroup::storeIf(Value condition, llvm::function_ref<void()> code) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  code();
}

void GpuGroup::emitBarrier() { gpu::BarrierOp::create(builder, loc); }

//===----------------------------------------------------------------------===//
// Workgroup memory
//===----------------------------------------------------------------------===//

Value GpuGroup::allocate(int64_t bytes) {
  auto shared = LLVM::LLVMPointerType::get(
      builder.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  if (!memory) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    memory = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::Internal,
        (function.getName() + "_memory").str(), Attribute(), pieceAlignment,
        shared.getAddressSpace());
    builder.setInsertionPointToStart(&function.getBody().front());
    Value address = LLVM::AddressOfOp::create(builder, loc, memory);
    memoryBase = LLVM::AddrSpaceCastOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        address);
  }
  if (used + bytes > memoryLimit) {
    emitBarrier(); // until the pieces so far have been read
    used = 0;
  }
  Value piece = LLVM::GEPOp::create(
      builder, loc, memoryBase.getType(), builder.getI8Type(), memoryBase,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(used)});
  used += llvm::alignTo(bytes, pieceAlignment);
  auto size = cast<LLVM::LLVMArrayType>(memory.getGlobalType());
  memory.setGlobalType(LLVM::LLVMArrayType::get(
      builder.getI8Type(), std::max<uint64_t>(size.getNumElements(), used)));
  return piece;
}

Value GpuGroup::allocateGlobal(StringRef name, int64_t bytes) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
  auto global = LLVM::GlobalOp::create(
      builder, loc, type, /*isConstant=*/false, LLVM::Linkage::Internal,
      (function.getName() + "_" + name).str(), Attribute(), pieceAlignment,
      unsigned(NVVM::NVVMMemorySpace::Global));
  builder.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(builder, loc,
                         LLVM::ZeroOp::create(builder, loc, type).getRes());
  builder.setInsertionPointToStart(&function.getBody().front());
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

int64_t getSlotBytes(Type type) {
  int64_t bytes =
      std::max(getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8, 1u);
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  return bytes;
}

Value GpuGroup::getSlot(Value base, Type type, Value number) {
  Value bytes = arith::MulIOp::create(
      builder, loc, number, emitter.getIndexConstant(getSlotBytes(type)));
  Value offset =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), bytes);
  return LLVM::GEPOp::create(builder, loc, base.getType(), builder.getI8Type(),
                             base, ArrayRef<LLVM::GEPArg>{offset});
}

static int64_t getSlotAlignment(Type type) {
  int64_t bytes = getSlotBytes(type);
  return std::min(pieceAlignment, bytes & -bytes);
}

void GpuGroup::store(Value base, Value value, Value number) {
  Type type = value.getType();
  Value address = getSlot(base, type, number);
  value = toStorage(emitter, value, getElementTypeOrSelf(type));
  LLVM::StoreOp::create(builder, loc, value, address, getSlotAlignment(type));
}

Value GpuGroup::load(Value base, Type type, Value number, bool isVolatile) {
  Value address = getSlot(base, type, number);
  Type element = getElementTypeOrSelf(type), stored = getStorageType(element);
  if (auto vector = dyn_cast<VectorType>(type))
    stored = VectorType::get(vector.getShape(), stored);
  Value value = LLVM::LoadOp::create(builder, loc, stored, address,
                                     getSlotAlignment(type), isVolatile);
  return fromStorage(emitter, value, element);
}

//===----------------------------------------------------------------------===//
// Blocks that share points
//===----------------------------------------------------------------------===//

/// Values of one sharer come one after the other.
static Value getNumber(KernelElements &emitter, const GpuMapping &map,
                       Value sharer, Value point) {
  Value before = arith::MulIOp::create(
      emitter.builder, emitter.loc, sharer,
      emitter.getIndexConstant(map.getTeams() * map.pointsPerBlock));
  return arith::AddIOp::create(emitter.builder, emitter.loc, before, point);
}

Value GpuGroup::storePartial(Value value) {
  int64_t count = map.getTeams() * map.pointsPerBlock * map.sharers;
  Value base = allocateGlobal("partials_" + std::to_string(partials++),
                              count * getSlotBytes(value.getType()));
  storeIf(emitLess(member, 1),
          [&] { store(base, value, getNumber(emitter, map, sharer, point)); });
  return base;
}

/// Each block counts itself; the one that comes to the full number sets the
/// count to zero again, for the next launch.
Value GpuGroup::emitIsLastBlock() {
  Type word = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(word, value));
  };
  Value counts = allocateGlobal("counts", map.getTeams() * getSlotBytes(word));
  Value flag = allocate(getSlotBytes(word));
  Value zero = emitter.getIndexConstant(0);
  emitBarrier();
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        thread, zero);
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value count = getSlot(counts, word, team);
    // Who sees the block counted sees what it stored: fences, as NVPTX leaves
    // the order of an atomic operation out.
    constexpr auto acquireRelease = LLVM::AtomicOrdering::acq_rel;
    LLVM::FenceOp::create(builder, loc, acquireRelease, "device");
    Value before = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::add, count, constant(1),
        LLVM::AtomicOrdering::monotonic, "device", /*alignment=*/4);
    LLVM::FenceOp::create(builder, loc, acquireRelease, "device");
    Value isLast = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         before, constant(map.sharers - 1));
    store(flag, arith::ExtUIOp::create(builder, loc, word, isLast), zero);
    auto reset = scf::IfOp::create(builder, loc, isLast, /*withElse=*/false);
    builder.setInsertionPointToStart(reset.thenBlock());
    store(counts, constant(0), team);
  }
  emitBarrier();
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                               load(flag, word, zero), constant(0));
}

Value GpuGroup::combinePartials(Operation *reduction, Type type, Value place) {
  Value sum = getIdentity(emitter, reduction, isa<VectorType>(type));
  for (int64_t done = 0; done < map.sharers; done += map.members) {
    Value number = arith::AddIOp::create(builder, loc, member,
                                         emitter.getIndexConstant(done));
    Value isSharer;
    if (map.sharers - done < map.members) {
      isSharer =
          arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, number,
                                emitter.getIndexConstant(map.sharers));
      number = arith::MinUIOp::create(
          builder, loc, number, emitter.getIndexConstant(map.sharers - 1));
    }
    Value other = load(place, type, getNumber(emitter, map, number, point),
                       /*isVolatile=*/true);
    if (isSharer)
      other = arith::SelectOp::create(
          builder, loc, isSharer, other,
          getIdentity(emitter, reduction, isa<VectorType>(type)));
    sum = combine(emitter, reduction, sum, other);
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

/// Within the warps by shuffles; then through workgroup memory, as many values
/// at a time as it holds.
void GpuGroup::combineMembers(ArrayRef<Operation *> reductions,
                              MutableArrayRef<Value> values) {
  int64_t width = map.membersAreNeighbours ? 1 : map.pointsPerBlock;
  int64_t inWarp = std::clamp<int64_t>(warpSize / width, 1, map.members);
  for (auto [reduction, value] : llvm::zip(reductions, values))
    value = combineAcross(reduction, value, inWarp * width, width);
  if (map.members == inWarp)
    return;
  while (!values.empty()) {
    size_t count = 0;
    int64_t bytes = 0;
    for (; count < values.size(); ++count) {
      bytes += getMemoryBytes(values[count].getType(), inWarp);
      if (count > 0 && bytes > memoryLimit)
        break;
    }
    auto first = reductions.take_front(count);
    if (map.membersAreNeighbours)
      exchangeNeighbours(first, values.take_front(count));
    else
      exchangeRows(first, values.take_front(count), map.members / inWarp);
    reductions = reductions.drop_front(count);
    values = values.drop_front(count);
  }
}

/// Workgroup memory for the values that are left once each `inWarp` members
/// have one.
int64_t GpuGroup::getMemoryBytes(Type type, int64_t inWarp) {
  return llvm::alignTo(map.getThreads() / inWarp * getSlotBytes(type),
                       pieceAlignment);
}

/// Pieces of workgroup memory, for a value each, that are there at once.
SmallVector<Value> GpuGroup::allocatePieces(ArrayRef<Value> values,
                                            int64_t inWarp) {
  int64_t bytes = 0;
  for (Value value : values)
    bytes += getMemoryBytes(value.getType(), inWarp);
  Value base = allocate(bytes);
  SmallVector<Value> pieces;
  bytes = 0;
  for (Value value : values) {
    pieces.push_back(LLVM::GEPOp::create(
        builder, loc, base.getType(), builder.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)}));
    bytes += getMemoryBytes(value.getType(), inWarp);
  }
  return pieces;
}

/// The value of the thread whose number in the warp differs by those bits.
Value GpuGroup::shuffle(Value value, int64_t distance) {
  Type type = value.getType();
  if (auto vector = dyn_cast<VectorType>(type)) {
    SmallVector<Value> elements;
    for (int64_t lane = 0; lane < vector.getNumElements(); ++lane)
      elements.push_back(shuffle(
          vector::ExtractOp::create(builder, loc, value, lane), distance));
    return vector::FromElementsOp::create(builder, loc, vector, elements);
  }
  if (type.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
  value = gpu::ShuffleOp::create(builder, loc, value,
                                 static_cast<int32_t>(distance), warpSize,
                                 gpu::ShuffleMode::XOR)
              .getShuffleResult();
  if (type.isInteger(1))
    value = arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

/// Combines each thread's value with those of the `width` threads around it, or
/// of those that are `apart`: both of a pair compute the same sum, so all get
/// the same bits.
Value GpuGroup::combineAcross(Operation *reduction, Value value, int64_t width,
                              int64_t apart) {
  for (int64_t distance = width / 2; distance >= apart; distance /= 2)
    value = combine(emitter, reduction, value, shuffle(value, distance));
  return value;
}

/// The first of each warp leaves its values in workgroup memory, and each warp
/// combines what it finds there.
void GpuGroup::exchangeNeighbours(ArrayRef<Operation *> reductions,
                                  MutableArrayRef<Value> values) {
  int64_t warps = map.members / warpSize;
  auto pieces = allocatePieces(values, warpSize);
  Value warp = divide(thread, warpSize, false);
  Value lane = divide(thread, warpSize, true);
  storeIf(emitLess(lane, 1), [&] {
    for (auto [piece, value] : llvm::zip(pieces, values))
      store(piece, value, warp);
  });
  emitBarrier();
  Value groupsFirst = arith::MulIOp::create(builder, loc, slot,
                                            emitter.getIndexConstant(warps));
  Value number = arith::AddIOp::create(builder, loc, groupsFirst,
                                       divide(lane, warps, true));
  for (auto [reduction, piece, value] : llvm::zip(reductions, pieces, values))
    value =
        combineAcross(reduction, load(piece, value.getType(), number), warps);
}

/// The rows of threads, or warps that have combined theirs, leave their values
/// in workgroup memory, combine them by halves as long as there are many, and
/// then each thread combines what it finds there.
void GpuGroup::exchangeRows(ArrayRef<Operation *> reductions,
                            MutableArrayRef<Value> values, int64_t rows) {
  constexpr int64_t fewRows = 8;
  int64_t width = map.pointsPerBlock;
  Value row = divide(thread, map.getThreads() / rows, false);
  Value before =
      arith::MulIOp::create(builder, loc, row, emitter.getIndexConstant(width));
  Value number = arith::AddIOp::create(builder, loc, before, slot);
  Value isFirst =
      emitLess(divide(thread, map.getThreads() / rows, true), width);
  auto pieces = allocatePieces(values, map.members / rows);
  auto loadOf = [&](size_t value, Value from, int64_t down) {
    Value at = arith::AddIOp::create(builder, loc, from,
                                     emitter.getIndexConstant(down * width));
    return load(pieces[value], values[value].getType(), at);
  };
  storeIf(isFirst, [&] {
    for (auto [piece, value] : llvm::zip(pieces, values))
      store(piece, value, number);
  });
  emitBarrier();
  while (rows > fewRows) {
    rows /= 2;
    Value isUpper =
        arith::AndIOp::create(builder, loc, emitLess(row, rows), isFirst);
    storeIf(isUpper, [&] {
      for (size_t value = 0; value < values.size(); ++value)
        store(pieces[value],
              combine(emitter, reductions[value], loadOf(value, number, 0),
                      loadOf(value, number, rows)),
              number);
    });
    emitBarrier();
  }
  for (size_t value = 0; value < values.size(); ++value) {
    Value sum = loadOf(value, slot, 0);
    for (int64_t other = 1; other < rows; ++other)
      sum =
          combine(emitter, reductions[value], sum, loadOf(value, slot, other));
    values[value] = sum;
  }
}

} // namespace meshc::codegen
