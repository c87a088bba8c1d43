//===- ScatterShape.h - the loops of kernels that scatter -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_SCATTERSHAPE_H
#define MESHC_LIB_CODEGEN_SCATTERSHAPE_H

#include "dialects/Nd/Ops/IndexingOps.h"
#include "lib/Codegen/LoopNest.h"

namespace meshc::codegen {

/// A kernel that returns the result of one scatter op. Each index sends its
/// updates to one entry of `dim`.
struct ScatterShape {
  nd::ScatterAddOp op;
  mlir::StringAttr dim;
  int64_t entries = 1; ///< local, of the scattered dim
  /// The kernel's input that is the table; nothing if there is no table, or if
  /// the kernel computes it.
  std::optional<unsigned> tableInput;
  /// Loops over the dims of the indices that the result has, over those that
  /// are summed, and over the other dims of the updates (the one with lanes
  /// last).
  llvm::SmallVector<Loop> kept, summed, inner;
  /// Entries of the last inner loop, if updates may be computed in vectors
  /// along it; else 1.
  int64_t laneExtent = 1;

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<ScatterShape> of(exec::KernelOp kernel);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_SCATTERSHAPE_H
