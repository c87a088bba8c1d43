//===- Kernels.cpp - the phase's pipeline ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernels/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::kernels {

void addKernelsPasses(mlir::OpPassManager &passes) {
  mlir::OpPassManager &function = passes.nest<mlir::func::FuncOp>();
  function.addPass(createExpandFallbacks());
  function.addPass(createPairContractions());
  function.addPass(createSumWindows());
  // What is added to a product or a carried sum needs no tensor of its own.
  function.addPass(createScatterIntoSums());
  function.addPass(createOrderScatters());
  // Equal sums made on the way to products, and equal orders, are computed
  // once.
  function.addPass(mlir::createCSEPass());
  function.addPass(createSinkUpdates());
  function.addPass(createFormFusions());
  function.addPass(createAssignOrders());
  function.addPass(createFuseEpilogues());
  function.addPass(createStoreYields());
  function.addPass(createPlanLoops());
  function.addPass(createVerifyKernels());
}

} // namespace meshc::kernels
