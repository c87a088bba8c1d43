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

using namespace mlir;

namespace meshc::codegen {

/// Workgroup memory that a block may declare without asking the driver.
static constexpr int64_t kMemoryLimit = 48 * 1024;
/// Pieces begin at multiples of the widest access.
static constexpr int64_t kPiece = 16;

GpuGroup::GpuGroup(KernelEmitter &emitter, LLVM::LLVMFuncOp function,
                   const GpuMapping &map)
    : emitter(emitter), builder(emitter.builder), loc(emitter.loc),
      function(function), map(map) {
  thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x,
                                   builder.getIndexAttr(map.getThreads()));
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x,
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
        (function.getName() + "_memory").str(), Attribute(), kPiece,
        shared.getAddressSpace());
    builder.setInsertionPointToStart(&function.getBody().front());
    Value address = LLVM::AddressOfOp::create(builder, loc, memory);
    memoryBase = LLVM::AddrSpaceCastOp::create(
        builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
        address);
  }
  if (used + bytes > kMemoryLimit) {
    emitBarrier(); // until the pieces so far have been read
    used = 0;
  }
  Value piece = LLVM::GEPOp::create(
      builder, loc, memoryBase.getType(), builder.getI8Type(), memoryBase,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(used)});
  used += llvm::alignTo(bytes, kPiece);
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
      (function.getName() + "_" + name).str(), Attribute(), kPiece,
      unsigned(NVVM::NVVMMemorySpace::Global));
  builder.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(builder, loc,
                         LLVM::ZeroOp::create(builder, loc, type).getRes());
  builder.setInsertionPointToStart(&function.getBody().front());
  Value address = LLVM::AddressOfOp::create(builder, loc, global);
  return LLVM::AddrSpaceCastOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), address);
}

/// Bytes of a value in workgroup memory: booleans take one each.
static int64_t getSlotBytes(Type type) {
  int64_t bytes =
      std::max(getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8, 1u);
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  return bytes;
}

static Type withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
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
  return std::min(kPiece, bytes & -bytes);
}

void GpuGroup::store(Value base, Value value, Value number) {
  Type type = value.getType();
  Value address = getSlot(base, type, number);
  if (getElementTypeOrSelf(type).isInteger(1))
    value = arith::ExtUIOp::create(
        builder, loc, withElement(type, builder.getI8Type()), value);
  LLVM::StoreOp::create(builder, loc, value, address, getSlotAlignment(type));
}

Value GpuGroup::load(Value base, Type type, Value number, bool isVolatile) {
  Value address = getSlot(base, type, number);
  bool isBool = getElementTypeOrSelf(type).isInteger(1);
  Type stored = isBool ? withElement(type, builder.getI8Type()) : type;
  Value value = LLVM::LoadOp::create(builder, loc, stored, address,
                                     getSlotAlignment(type), isVolatile);
  if (isBool)
    value = arith::TruncIOp::create(builder, loc, type, value);
  return value;
}

//===----------------------------------------------------------------------===//
// Blocks that share points
//===----------------------------------------------------------------------===//

/// Values of one sharer come one after the other.
static Value getNumber(KernelEmitter &emitter, const GpuMapping &map,
                       Value sharer, Value point) {
  Value before = arith::MulIOp::create(
      emitter.builder, emitter.loc, sharer,
      emitter.getIndexConstant(map.getTeams() * map.pointsPerBlock));
  return arith::AddIOp::create(emitter.builder, emitter.loc, before, point);
}

Value GpuGroup::leave(Value value) {
  int64_t count = map.getTeams() * map.pointsPerBlock * map.sharers;
  Value base = allocateGlobal("left_" + std::to_string(left++),
                              count * getSlotBytes(value.getType()));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        member, emitter.getIndexConstant(0));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElse=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  store(base, value, getNumber(emitter, map, sharer, point));
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
    // Who sees the block counted sees what it left: fences, as NVPTX leaves
    // the order of an atomic operation out.
    constexpr auto kOrder = LLVM::AtomicOrdering::acq_rel;
    LLVM::FenceOp::create(builder, loc, kOrder, "device");
    Value before = LLVM::AtomicRMWOp::create(
        builder, loc, LLVM::AtomicBinOp::add, count, constant(1),
        LLVM::AtomicOrdering::monotonic, "device", /*alignment=*/4);
    LLVM::FenceOp::create(builder, loc, kOrder, "device");
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

Value GpuGroup::combineBlocks(Operation *reduction, Type type, Value place) {
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
  return combineMembers(reduction, sum);
}

//===----------------------------------------------------------------------===//
// Combining
//===----------------------------------------------------------------------===//

Value GpuGroup::combineMembers(Operation *reduction, Value value) {
  if (map.members == 1)
    return value;
  return map.membersAreNeighbours ? combineNeighbours(reduction, value)
                                  : combineRows(reduction, value);
}

/// Combines each thread's scalar with those of the `width` threads around it:
/// both of a pair compute the same sum, so all get the same bits.
Value GpuGroup::combineAcross(Operation *reduction, Value value,
                              int64_t width) {
  for (int64_t distance = width / 2; distance >= 1; distance /= 2) {
    Type type = value.getType();
    Value sent = value;
    if (type.isInteger(1))
      sent = arith::ExtUIOp::create(builder, loc, builder.getI32Type(), value);
    Value other = gpu::ShuffleOp::create(builder, loc, sent,
                                         static_cast<int32_t>(distance), kWarp,
                                         gpu::ShuffleMode::XOR)
                      .getShuffleResult();
    if (type.isInteger(1))
      other = arith::TruncIOp::create(builder, loc, type, other);
    value = combine(emitter, reduction, value, other);
  }
  return value;
}

/// Within the warps; then the first of each warp leaves its value in workgroup
/// memory, and each warp combines what it finds there.
Value GpuGroup::combineNeighbours(Operation *reduction, Value value) {
  value = combineAcross(reduction, value, std::min(map.members, kWarp));
  if (map.members <= kWarp)
    return value;
  int64_t warps = map.members / kWarp;
  Value base =
      allocate(map.getThreads() / kWarp * getSlotBytes(value.getType()));
  Value warp = divide(thread, kWarp, false);
  Value lane = divide(thread, kWarp, true);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, emitter.getIndexConstant(0));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElse=*/false);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    store(base, value, warp);
  }
  emitBarrier();
  Value groupsFirst = arith::MulIOp::create(builder, loc, slot,
                                            emitter.getIndexConstant(warps));
  Value number = arith::AddIOp::create(builder, loc, groupsFirst,
                                       divide(lane, warps, true));
  return combineAcross(reduction, load(base, value.getType(), number), warps);
}

/// By halves of the rows of threads, in workgroup memory.
Value GpuGroup::combineRows(Operation *reduction, Value value) {
  Type type = value.getType();
  Value base = allocate(map.getThreads() * getSlotBytes(type));
  store(base, value, thread);
  emitBarrier();
  for (int64_t rows = map.members / 2; rows >= 1; rows /= 2) {
    Value isUpper =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, member,
                              emitter.getIndexConstant(rows));
    auto branch = scf::IfOp::create(builder, loc, isUpper, /*withElse=*/false);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(branch.thenBlock());
      Value other = arith::AddIOp::create(
          builder, loc, thread,
          emitter.getIndexConstant(rows * map.pointsPerBlock));
      Value sum = combine(emitter, reduction, load(base, type, thread),
                          load(base, type, other));
      store(base, sum, thread);
    }
    emitBarrier();
  }
  return load(base, type, slot);
}

} // namespace meshc::codegen
