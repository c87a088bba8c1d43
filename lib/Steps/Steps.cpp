//===- Steps.cpp - the phase's pipeline -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::steps {

static void simplify(mlir::OpPassManager &passes) {
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
}

void addStepsPasses(mlir::OpPassManager &passes, Recompute recompute) {
  passes.addPass(createRelativeBiases());
  passes.addPass(createLowerPrecision());
  passes.addPass(createBuildSteps());
  // Reverse mode leaves broadcasts, sums and constants that fold away, and
  // recomputes nothing that the forward pass has.
  simplify(passes);
  // Attention now has its masks as bands, and loops have no dead values.
  passes.addPass(createDecodePositions());
  // What loops need not store any more is dropped.
  passes.addNestedPass<mlir::func::FuncOp>(
      createChooseResiduals({.policy = recompute}));
  simplify(passes);
  // Stacks take memory, too.
  if (recompute != Recompute::Full) {
    passes.addNestedPass<mlir::func::FuncOp>(createSplitLoops());
    simplify(passes);
  }
  passes.addPass(createVerifySteps());
}

void addStepsPasses(mlir::OpPassManager &passes) {
  addStepsPasses(passes, Recompute::Cheap);
}

} // namespace meshc::steps
