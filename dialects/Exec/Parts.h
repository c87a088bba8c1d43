//===- Parts.h - computations that share a launch -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parts of a kernel or fusion (exec.part).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_PARTS_H
#define MESHC_DIALECTS_EXEC_PARTS_H

#include "dialects/Exec/Exec.h"

namespace meshc::exec {

/// What one part of a block computes.
struct PartBody {
  PlanAttr plan;
  /// Its results: [firstResult, firstResult + results) of the block's.
  unsigned firstResult = 0, results = 0;
  llvm::SmallVector<mlir::Operation *> ops; ///< in program order
  llvm::SmallVector<unsigned> inputs; ///< numbers of the block's arguments
};

/// The parts of the block of a kernel or fusion with the attribute `parts`, in
/// their order; none if the attribute is null.
llvm::SmallVector<PartBody> getParts(mlir::Block &block, mlir::ArrayAttr parts);

/// Whether `parts`, if not null, fits the block of the kernel or fusion; an
/// error on `op` if not.
llvm::LogicalResult verifyParts(mlir::Operation *op, PlanAttr plan,
                                mlir::ArrayAttr parts);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_PARTS_H
