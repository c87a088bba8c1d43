//===- Autodiff.cpp - the phase's pipeline --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Autodiff/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::autodiff {

void addAutodiffPasses(mlir::OpPassManager &passes) {
  passes.addPass(createBuildSteps());
  // Reverse mode leaves broadcasts, sums and constants that fold away, and
  // recomputes nothing that the forward pass has.
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createVerifySteps());
}

} // namespace meshc::autodiff
