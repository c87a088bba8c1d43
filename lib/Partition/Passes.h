//===- Passes.h - one rank's program --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PASSES_H
#define MESHC_LIB_PARTITION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::partition {

#define GEN_PASS_DECL
#include "lib/Partition/Passes.h.inc"

/// The passes of the phase, its verifier last, with the usual plans.
void addPartitionPasses(mlir::OpPassManager &passes);

/// The same without the choice of plans: functions have them (`spmd.plan`).
void addBuildPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Partition/Passes.h.inc"

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PASSES_H
