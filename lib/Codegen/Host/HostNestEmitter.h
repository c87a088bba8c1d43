//===- HostNestEmitter.h - the loop nest of one kernel on a CPU
//------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Threads share the outer parallel loops, or blocks of the lanes' loop if that
/// is the only one. At each point of the parallel loops the stages run one
/// after another. Reductions keep several accumulators, which are combined in a
/// fixed order.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTNESTEMITTER_H
#define MESHC_LIB_CODEGEN_HOST_HOSTNESTEMITTER_H

#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// The division of the parallel loops into units of work.
struct HostGrid {
  /// Number of leading parallel loops whose combined index counts the units.
  unsigned loopCount = 0;
  /// Entries of the lanes' loop in one unit, a multiple of the vector size; 0
  /// if each unit walks the whole loop or there is no such loop.
  int64_t laneBlock = 0;
  int64_t extent = 1;
};

/// Chooses the units: enough of them for the threads of any host, but as large
/// as possible. `block` is the number of entries that the code handles at once
/// along the lanes.
HostGrid chooseGrid(const LoopNest &nest, int64_t block);

/// Emits the nest at the emitter's insertion point.
class HostNestEmitter : LoopEmitter {
public:
  /// `unroll`: vectors handled at once along the lanes if a reduction benefits
  /// from it, ≥ 1.
  HostNestEmitter(exec::KernelOp kernel, const LoopNest &nest,
                  const HostGrid &grid, KernelElements &emitter,
                  int64_t unroll);

  /// Code for units [begin, end) (`index` values).
  void emit(mlir::Value begin, mlir::Value end);

private:
  using Indices = llvm::SmallVector<nd::ElementIndex, 4>;

  void emitUnit(mlir::Value unit, nd::ElementIndex index);
  void emitParallel(unsigned loop, nd::ElementIndex index);
  void emitLaneRange(mlir::Value low, mlir::Value high,
                     const nd::ElementIndex &index);
  void emitPoints(llvm::ArrayRef<nd::ElementIndex> points);
  void emitWalk(unsigned walk, llvm::ArrayRef<nd::ElementIndex> points);
  Values emitReduceLoops(unsigned walk, unsigned loop,
                         llvm::ArrayRef<nd::ElementIndex> indices,
                         llvm::ArrayRef<mlir::Value> carried,
                         llvm::ArrayRef<mlir::Value> identities);
  /// Emits reduce loop number `loop` from `low` to `high` with its inner loops.
  Values emitReduceLoop(unsigned walk, unsigned loop, mlir::Value low,
                        mlir::Value high,
                        llvm::ArrayRef<nd::ElementIndex> indices,
                        llvm::ArrayRef<mlir::Value> carried,
                        llvm::ArrayRef<mlir::Value> identities);
  Values emitWalkBody(unsigned walk, llvm::ArrayRef<nd::ElementIndex> indices,
                      llvm::ArrayRef<mlir::Value> carried, unsigned firstSlot);
  void storeOutputs(llvm::ArrayRef<unsigned> outputs,
                    llvm::ArrayRef<nd::ElementIndex> indices);

  /// Load and store LoopNest::kept values for later walks.
  void loadKept(unsigned walk, llvm::ArrayRef<nd::ElementIndex> indices);
  void storeKept(unsigned walk, llvm::ArrayRef<nd::ElementIndex> indices);

  mlir::Value combineSlots(mlir::Operation *reduction,
                           llvm::ArrayRef<mlir::Value> slots);

  exec::YieldOp yield;
  const LoopNest &nest;
  const HostGrid &grid;
  int64_t unroll;
  /// Accumulators of each reduction in the current walk.
  unsigned slotCount = 1;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTNESTEMITTER_H
