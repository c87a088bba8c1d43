//===- EstimateMemory.h - what a comparison will hold ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REFERENCE_ESTIMATEMEMORY_H
#define MESHC_LIB_REFERENCE_ESTIMATEMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace meshc::reference {

/// The peak memory of compareSteps and the op at which it occurs.
struct MemoryNeed {
  double bytes = 0;
  mlir::Operation *at = nullptr; ///< of one of the modules
};

/// Estimates the memory of values from their types. The small temporaries of
/// running ops are not included. Takes the modules of compareSteps.
MemoryNeed estimateMemory(mlir::ModuleOp sequential,
                          mlir::ModuleOp partitioned);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_ESTIMATEMEMORY_H
