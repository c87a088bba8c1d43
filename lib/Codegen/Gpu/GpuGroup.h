//===- GpuGroup.h - threads that share a point ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUGROUP_H
#define MESHC_LIB_CODEGEN_GPU_GPUGROUP_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "lib/Codegen/KernelEmitter.h"

namespace meshc::codegen {

/// The threads of a block in code: their numbers, and how the members of its
/// groups combine what each has.
class GpuGroup {
public:
  /// Emits at the emitter's builder, at the top of `function`.
  GpuGroup(KernelEmitter &emitter, mlir::LLVM::LLVMFuncOp function,
           const GpuMapping &map);

  mlir::Value getPoint() const { return point; }   ///< may be beyond the last
  mlir::Value getMember() const { return member; } ///< within the group
  /// Among all threads that share the point, of all blocks.
  mlir::Value getWorker() const { return worker; }

  /// Every member gets all members' values combined, each value by its
  /// reduction, the same bits, in an order that does not depend on time. All
  /// threads of the block must come by.
  void combineMembers(llvm::ArrayRef<mlir::Operation *> reductions,
                      llvm::MutableArrayRef<mlir::Value> values);
  /// Waits for all threads of the block.
  void emitBarrier();

  /// Leaves the point's value of this block to the last of the blocks that
  /// share it; gives the place where they are. `value` is as of combineMembers.
  mlir::Value leave(mlir::Value value);
  /// After leave, once: whether this is the last block, for all its threads.
  mlir::Value emitIsLastBlock();
  /// In the last block: this member's share of what all blocks left at the
  /// place, in their order; combineMembers makes it the point's value.
  mlir::Value takeLeft(mlir::Operation *reduction, mlir::Type type,
                       mlir::Value place);

private:
  void exchangeNeighbours(llvm::ArrayRef<mlir::Operation *> reductions,
                          llvm::MutableArrayRef<mlir::Value> values);
  void exchangeRows(llvm::ArrayRef<mlir::Operation *> reductions,
                    llvm::MutableArrayRef<mlir::Value> values, int64_t rows);
  mlir::Value combineAcross(mlir::Operation *reduction, mlir::Value value,
                            int64_t width, int64_t apart = 1);
  mlir::Value shuffle(mlir::Value value, int64_t distance);
  int64_t getMemoryBytes(mlir::Type type, int64_t inWarp);
  llvm::SmallVector<mlir::Value>
  allocatePieces(llvm::ArrayRef<mlir::Value> values, int64_t inWarp);
  /// Code under a condition.
  void storeIf(mlir::Value condition, llvm::function_ref<void()> code);
  /// Address of an unused piece of workgroup memory.
  mlir::Value allocate(int64_t bytes);
  /// Address of memory of the kernel, zero at first, that all blocks have and
  /// that stays from launch to launch.
  mlir::Value allocateGlobal(llvm::StringRef name, int64_t bytes);
  mlir::Value getSlot(mlir::Value base, mlir::Type type, mlir::Value number);
  void store(mlir::Value base, mlir::Value value, mlir::Value number);
  mlir::Value load(mlir::Value base, mlir::Type type, mlir::Value number,
                   bool isVolatile = false);
  mlir::Value divide(mlir::Value value, int64_t by, bool wantsRest);
  mlir::Value emitLess(mlir::Value value, int64_t bound);

  KernelEmitter &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::LLVM::LLVMFuncOp function;
  const GpuMapping &map;
  mlir::Value thread, team, sharer, point, slot, member, worker;
  mlir::LLVM::GlobalOp memory; ///< null as long as none was wanted
  mlir::Value memoryBase;
  int64_t used = 0;
  unsigned left = 0; ///< values
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUGROUP_H
