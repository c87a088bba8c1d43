//===- Collectives.cpp - the phase's pipeline -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::collectives {

void addCollectivesPasses(mlir::OpPassManager &passes) {
  // The same reshard twice is one; then chains can be seen.
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createFoldReshards());
  passes.addPass(createLowerReshards());
  passes.addPass(createFoldWindows());
  passes.addPass(createLowerWindows());
  passes.addPass(createHoistCollectives());
  // Two ways from one value may begin alike.
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createRepeatGathers());
  passes.addPass(createCombineCollectives());
  passes.addPass(createVerifyCollectives());
}

} // namespace meshc::collectives
