//===- KernelShape.h - the loops and stages of a kernel -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a kernel's plan means for code, on every target: its loops (neighbours
/// that nothing tells apart are one), its reductions by stage, and the walk in
/// which each output is stored.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELSHAPE_H
#define MESHC_LIB_CODEGEN_KERNELSHAPE_H

#include "dialects/Exec/Exec.h"

namespace meshc::codegen {

/// One loop of the nest. It walks `dims`, major first, as one index: several
/// dims where they are neighbours in every buffer and no op tells them apart.
/// The last one then carries the whole index and the others are 0, which gives
/// the same addresses.
struct Loop {
  llvm::SmallVector<mlir::StringAttr, 2> dims;
  int64_t size = 1;
};

/// Where the elements that are computed as one vector lie.
enum class LanesIn { Nothing, Parallel, Reduce };

/// A costly value that a stage and a later walk both use: the stage's walk
/// stores it in the buffer of an output that the last walk overwrites, and
/// later walks load it from there.
struct KeptValue {
  mlir::Value value;
  unsigned walk;   ///< that stores it
  unsigned output; ///< in whose buffer
};

/// The nest of a kernel: `parallel` loops around, for each point of them, one
/// walk over the `reduce` loops per stage.
struct KernelShape {
  llvm::SmallVector<Loop, 4> parallel, reduce;
  /// The lanes run along the last loop of this group.
  LanesIn lanes = LanesIn::Nothing;
  /// Reductions by stage: those of a stage need earlier ones only.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *, 2>, 2> stages;
  /// Outputs with reduce dims, by the walk that stores them: one list for each
  /// stage, then one for the last walk, which reduces nothing.
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 3> walkOutputs;
  /// Outputs without reduce dims, stored when all stages are done.
  llvm::SmallVector<unsigned, 2> pointOutputs;

  llvm::SmallVector<KeptValue, 1> kept;

  /// Ops, constants apart, that one element of the walk takes.
  unsigned countOps(exec::KernelOp kernel, unsigned walk) const;
  /// Whether the walk computes with that value of the kernel.
  bool usesInWalk(exec::KernelOp kernel, unsigned walk,
                  mlir::Value value) const;
  /// Entries of the loop along which the lanes run; 1 where there is none.
  int64_t getLaneExtent() const;
  bool needsLastWalk() const { return !walkOutputs.back().empty(); }

  /// Reads the plan; reports at the kernel what a plan cannot mean. `inPlace`
  /// holds (input, output) pairs that are one buffer in some launch: such an
  /// output is stored no earlier than the input's last use.
  static llvm::FailureOr<KernelShape>
  of(exec::KernelOp kernel,
     llvm::ArrayRef<std::pair<unsigned, unsigned>> inPlace);
};

/// (input, output) pairs of the kernel that are one buffer in some launch of
/// its module, or where it is a product's epilogue.
llvm::SmallVector<std::pair<unsigned, unsigned>>
getInPlacePairs(exec::KernelOp kernel);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELSHAPE_H
