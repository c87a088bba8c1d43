//===- LoopNest.h - the loops and stages of a kernel -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The structure of a kernel's code on every target, from its plan: its loops
/// (adjacent ones are merged if nothing distinguishes them), its reductions by
/// stage, and the walk that stores each output.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_LOOPNEST_H
#define MESHC_LIB_CODEGEN_LOOPNEST_H

#include "dialects/Exec/Exec.h"

namespace meshc::codegen {

/// One loop of the nest. It walks `dims`, major first, with one index. Several
/// dims share a loop if they are adjacent in every buffer and no op
/// distinguishes them. The last dim then carries the whole index and the others
/// are 0, which gives the same addresses. A dim along which a reduction meets
/// padding has a loop of its own.
struct Loop {
  llvm::SmallVector<mlir::StringAttr, 2> dims;
  int64_t size = 1;
};

/// The loops along which elements are computed as vectors.
enum class LanesIn { Nothing, Parallel, Reduce };

/// A costly value that a stage and a later walk both use. The stage's walk
/// stores it in the buffer of an output that the last walk overwrites; later
/// walks load it from there.
struct KeptValue {
  mlir::Value value;
  unsigned walk;   ///< the walk that stores it
  unsigned output; ///< the output whose buffer holds it
};

/// The nest of a kernel: for each point of the `parallel` loops, one walk over
/// the `reduce` loops per stage.
struct LoopNest {
  llvm::SmallVector<Loop, 4> parallel, reduce;
  /// The lanes run along the last loop of this group.
  LanesIn lanes = LanesIn::Nothing;
  /// Reductions by stage. They depend only on earlier stages.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *, 2>, 2> stages;
  /// Outputs with reduce dims, by the walk that stores them: one list for each
  /// stage, then one for the last walk, which reduces nothing.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 3> walkOutputs;
  /// Outputs without reduce dims, stored when all stages are done.
  llvm::SmallVector<unsigned, 2> pointOutputs;

  llvm::SmallVector<KeptValue, 1> kept;

  /// Number of ops per element of the walk, without constants.
  unsigned countOps(exec::KernelOp kernel, unsigned walk) const;
  /// Whether the walk uses the value of the kernel.
  bool usesInWalk(exec::KernelOp kernel, unsigned walk,
                  mlir::Value value) const;
  /// Entries of the loop along which the lanes run; 1 for scalar code.
  int64_t getLaneExtent() const;
  bool needsLastWalk() const { return !walkOutputs.back().empty(); }

  /// Reads the plan and reports invalid plans at the kernel. `inPlace` holds
  /// (input, output) pairs that share a buffer in some launch: such an output
  /// is not stored before the input's last use.
  static llvm::FailureOr<LoopNest>
  of(exec::KernelOp kernel,
     llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);
};

/// (input, output) pairs of the kernel that share a buffer in some launch of
/// its module or in a product with the kernel as epilogue.
llvm::SmallVector<std::pair<unsigned, unsigned>>
getInPlacePairs(exec::KernelOp kernel);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_LOOPNEST_H
