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

/// The most that compareSteps holds at once, and the op at which it does.
struct MemoryNeed {
  double bytes = 0;
  mlir::Operation *at = nullptr; ///< of one of the modules
};

/// Of values alone, by the sizes of their types: what ops need while they run
/// comes on top, and is little. Takes the modules of compareSteps.
MemoryNeed estimateMemory(mlir::ModuleOp sequential,
                          mlir::ModuleOp partitioned);

} // namespace meshc::reference

#endif // MESHC_LIB_REFERENCE_ESTIMATEMEMORY_H
