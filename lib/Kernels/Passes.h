//===- Passes.h - from ops to kernels and matrix products -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_PASSES_H
#define MESHC_LIB_KERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::kernels {

#define GEN_PASS_DECL
#include "lib/Kernels/Passes.h.inc"

/// The passes of the phase on a module, its verifier last.
void addKernelsPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Kernels/Passes.h.inc"

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_PASSES_H
