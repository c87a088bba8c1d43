//===- Layout.cpp - the phase's pipeline ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace meshc::layout {

void addLayoutPasses(mlir::OpPassManager &passes) {
  // The rules are checked on the program as written, before composites are
  // replaced by tensors that the source does not have.
  passes.addPass(createVerifyRules());
  passes.addPass(createDecomposeComposites());
  // Several updates share the rate and the step's number.
  passes.addPass(mlir::createCSEPass());
  passes.addPass(createAssignShardings());
  passes.addPass(createVerifyLayout());
}

} // namespace meshc::layout
