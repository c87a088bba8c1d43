//===- Partition.cpp - the phase's pipeline -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Partition/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::partition {

void addPartitionPasses(mlir::OpPassManager &passes) {
  passes.addPass(createChoosePlan());
  addBuildPasses(passes);
}

void addBuildPasses(mlir::OpPassManager &passes) {
  passes.addPass(createPartitionProgram());
  passes.addPass(createMoveWindows());
  // Values that were computed in a sharding that nothing uses, and windows that
  // several ops have moved to one value.
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createVerifyPartition());
}

} // namespace meshc::partition
