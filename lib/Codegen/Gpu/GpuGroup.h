//===- GpuGroup.h - threads that share a point ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUGROUP_H
#define MESHC_LIB_CODEGEN_GPU_GPUGROUP_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "lib/Codegen/KernelElements.h"

namespace meshc::codegen {

/// Bytes of a value in memory of a kernel: booleans take one each.
int64_t getSlotBytes(mlir::Type type);

/// Emits code for the threads of a block: their numbers, and how the members of
/// a group combine their values.
class GpuGroup {
public:
  /// Emits at the emitter's insertion point, at the top of `function`.
  /// `block` is the block's number among those of the mapping; null if these
  /// are all blocks of the grid.
  GpuGroup(KernelElements &emitter, mlir::LLVM::LLVMFuncOp function,
           const GpuMapping &map, mlir::Value block = {});

  mlir::Value getPoint() const { return point; }   ///< may be beyond the last
  mlir::Value getMember() const { return member; } ///< within the group
  /// Number among the threads of all blocks that share the point.
  mlir::Value getWorker() const { return worker; }
  /// Number of the block among those that share its points; null if none do.
  mlir::Value getSharer() const { return sharer; }

  /// Combines each value over the members with its reduction. Every member gets
  /// the same bits; the order does not depend on timing. All threads of the
  /// block must reach this code.
  void combineMembers(llvm::ArrayRef<mlir::Operation *> reductions,
                      llvm::MutableArrayRef<mlir::Value> values);
  /// Waits for all threads of the block.
  void emitBarrier();
  /// Address of an unused piece of workgroup memory. If none is left, the
  /// threads wait for each other, and it begins anew.
  mlir::Value allocate(int64_t bytes);
  /// Address of zero-initialized global memory of the kernel that all blocks
  /// share and that persists between launches.
  mlir::Value allocateGlobal(llvm::StringRef name, int64_t bytes);
  /// Value number `number` of those of its type in memory of the kernel. Of
  /// what other blocks have stored, loads are volatile.
  void store(mlir::Value base, mlir::Value value, mlir::Value number);
  mlir::Value load(mlir::Value base, mlir::Type type, mlir::Value number,
                   bool isVolatile = false);
  /// The value of the thread of the warp whose number differs in the bits of
  /// `distance`.
  mlir::Value shuffle(mlir::Value value, int64_t distance);

  /// Stores this block's value of the point for the last of the blocks that
  /// share the point. Returns the address of these values. `value` is a result
  /// of combineMembers.
  mlir::Value storePartial(mlir::Value value);
  /// Whether this block is the last of those that share its points, for all its
  /// threads. It sees what the others stored before. Call it once.
  mlir::Value emitIsLastBlock();
  /// In the last block: combines this member's share of the values that the
  /// blocks stored at `place`, in block order. combineMembers then yields the
  /// point's value.
  mlir::Value combinePartials(mlir::Operation *reduction, mlir::Type type,
                              mlir::Value place);

private:
  void exchangeNeighbours(llvm::ArrayRef<mlir::Operation *> reductions,
                          llvm::MutableArrayRef<mlir::Value> values);
  void exchangeRows(llvm::ArrayRef<mlir::Operation *> reductions,
                    llvm::MutableArrayRef<mlir::Value> values, int64_t rows);
  mlir::Value combineAcross(mlir::Operation *reduction, mlir::Value value,
                            int64_t width, int64_t apart = 1);
  int64_t getMemoryBytes(mlir::Type type, int64_t inWarp);
  llvm::SmallVector<mlir::Value>
  allocatePieces(llvm::ArrayRef<mlir::Value> values, int64_t inWarp);
  /// Emits `code` under the condition.
  void storeIf(mlir::Value condition, llvm::function_ref<void()> code);
  mlir::Value getSlot(mlir::Value base, mlir::Type type, mlir::Value number);
  mlir::Value divide(mlir::Value value, int64_t by, bool wantsRest);
  mlir::Value emitLess(mlir::Value value, int64_t bound);

  KernelElements &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp function;
  const GpuMapping &map;
  mlir::Value thread, team, sharer, point, slot, member, worker;
  mlir::LLVM::GlobalOp memory; ///< null until first use
  mlir::Value memoryBase;
  int64_t used = 0;
  unsigned partials = 0; ///< calls of storePartial
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUGROUP_H
