//===- Passes.h - from a model to its step functions ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_PASSES_H
#define MESHC_LIB_STEPS_PASSES_H

#include "lib/Steps/Autodiff/Recompute.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::steps {

#define GEN_PASS_DECL
#include "lib/Steps/Passes.h.inc"

/// The passes of the phase, its verifier last.
void addStepsPasses(mlir::OpPassManager &passes, Recompute recompute);
/// With the default policy, Recompute::Cheap.
void addStepsPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Steps/Passes.h.inc"

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_PASSES_H
