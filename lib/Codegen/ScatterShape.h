//===- ScatterShape.h - the loops of kernels that scatter -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_SCATTERSHAPE_H
#define MESHC_LIB_CODEGEN_SCATTERSHAPE_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/LoopNest.h"

namespace meshc::codegen {

/// Reports an error if the kernel gives anything but the result of `op`, or has
/// other ops than those of elements beside it.
llvm::LogicalResult verifyStandsAlone(exec::KernelOp kernel,
                                      mlir::Operation *op);

/// The kernel's scatter op, or null.
nd::ScatterOpInterface getScatter(exec::KernelOp kernel);

/// A kernel that returns the result of one scatter op. Each index sends its
/// updates to one entry of `dim`.
struct ScatterShape {
  nd::ScatterOpInterface op;
  mlir::StringAttr dim;
  int64_t entries = 1; ///< local, of the scattered dim
  /// Loops over the dims of the indices, and over the other dims of the updates
  /// (the one with lanes last).
  llvm::SmallVector<Loop> outer, inner;
  /// Entries of the last inner loop, if updates may be computed in vectors
  /// along it; else 1.
  int64_t laneExtent = 1;

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<ScatterShape> of(exec::KernelOp kernel);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_SCATTERSHAPE_H
