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

  /// Every member gets all members' values combined, the same bits, in an order
  /// that does not depend on time. All threads of the block must come by.
  mlir::Value combineMembers(mlir::Operation *reduction, mlir::Value value);
  /// Waits for all threads of the block.
  void emitBarrier();

  /// Leaves the point's value of this block to the last of the blocks that
  /// share it; gives the place where they are. `value` is as of combineMembers.
  mlir::Value leave(mlir::Value value);
  /// After leave, once: whether this is the last block, for all its threads.
  mlir::Value emitIsLastBlock();
  /// In the last block: combines what all blocks left at the place, in their
  /// order.
  mlir::Value combineBlocks(mlir::Operation *reduction, mlir::Type type,
                            mlir::Value place);

private:
  mlir::Value combineNeighbours(mlir::Operation *reduction, mlir::Value value);
  mlir::Value combineRows(mlir::Operation *reduction, mlir::Value value);
  mlir::Value combineAcross(mlir::Operation *reduction, mlir::Value value,
                            int64_t width);
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
