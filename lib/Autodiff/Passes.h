//===- Passes.h - from a model to its step functions ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_AUTODIFF_PASSES_H
#define MESHC_LIB_AUTODIFF_PASSES_H

#include "lib/Autodiff/Recompute.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::autodiff {

#define GEN_PASS_DECL
#include "lib/Autodiff/Passes.h.inc"

/// The passes of the phase, its verifier last.
void addAutodiffPasses(mlir::OpPassManager &passes, Recompute recompute);
/// With the default policy, Recompute::Cheap.
void addAutodiffPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Autodiff/Passes.h.inc"

} // namespace meshc::autodiff

#endif // MESHC_LIB_AUTODIFF_PASSES_H
