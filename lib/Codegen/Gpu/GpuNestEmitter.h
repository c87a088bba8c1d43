//===- GpuNestEmitter.h - the loop nest of one kernel on a GPU
//-------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One thread's part of a nest. It has one point of the parallel loops. In each
/// stage it walks its steps of the reduce loops; then the members of the
/// point's group combine their values. A thread has the same steps in every
/// walk, so no other thread reads an input that it overwrites.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUNESTEMITTER_H
#define MESHC_LIB_CODEGEN_GPU_GPUNESTEMITTER_H

#include "lib/Codegen/Gpu/GpuGroup.h"
#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// Emits the nest at the emitter's insertion point.
class GpuNestEmitter : LoopEmitter {
public:
  GpuNestEmitter(exec::KernelOp kernel, const LoopNest &nest,
                 const GpuMapping &map, KernelElements &emitter,
                 GpuGroup &group);

  void emit();

private:
  /// One step of a walk. `isValid` is null if the step always exists.
  struct Step {
    nd::ElementIndex index;
    mlir::Value isValid;
  };
  using Steps = llvm::SmallVector<Step, 4>;

  Steps makeSteps(mlir::Value first, int64_t begin, int64_t count);
  void emitWalk(unsigned walk);
  Values emitSteps(unsigned walk, llvm::ArrayRef<Step> steps,
                   llvm::ArrayRef<mlir::Value> carried);
  mlir::Value combineStep(mlir::Operation *reduction, mlir::Value sum,
                          const Step &step);
  /// `isNeededPoint`: whether this thread stores at its point (null: yes).
  void storeOutputs(llvm::ArrayRef<unsigned> outputs,
                    llvm::ArrayRef<Step> steps, mlir::Value isNeededPoint);
  void storePoint();
  /// Emits the code after the block's walks: in the last of the blocks that
  /// share the points, or in each.
  void finish();

  exec::KernelOp kernel;
  exec::YieldOp yield;
  const LoopNest &nest;
  const GpuMapping &map;
  GpuGroup &group;
  /// Sets the conditions under which this thread needs elements of its point
  /// and of the step.
  void setNeeds(mlir::Value isNeededPoint, mlir::Value isValid);

  nd::ElementIndex point;
  mlir::Value isPoint; ///< null: always
  int64_t loopSteps;   ///< steps in a loop; the rest is straight-line code
  Steps rest;          ///< of each walk without a loop
  /// A value that this block stored for the last of those that share its
  /// points.
  struct Partial {
    mlir::Operation *reduction;
    mlir::Type type;
    mlir::Value place;
  };
  llvm::SmallVector<Partial, 2> partials;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUNESTEMITTER_H
