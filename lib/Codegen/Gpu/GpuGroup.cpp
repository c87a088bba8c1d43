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
  Value first = arith::MulIOp::create(
      builder, loc, block, emitter.getIndexConstant(map.pointsPerBlock));
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

Value GpuGroup::load(Value base, Type type, Value number) {
  Value address = getSlot(base, type, number);
  bool isBool = getElementTypeOrSelf(type).isInteger(1);
  Type stored = isBool ? withElement(type, builder.getI8Type()) : type;
  Value value = LLVM::LoadOp::create(builder, loc, stored, address,
                                     getSlotAlignment(type));
  if (isBool)
    value = arith::TruncIOp::create(builder, loc, type, value);
  return value;
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
