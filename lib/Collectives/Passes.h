//===- Passes.h - from reshards to collectives ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COLLECTIVES_PASSES_H
#define MESHC_LIB_COLLECTIVES_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::collectives {

#define GEN_PASS_DECL
#include "lib/Collectives/Passes.h.inc"

/// The passes of the phase, its verifier last.
void addCollectivesPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Collectives/Passes.h.inc"

} // namespace meshc::collectives

#endif // MESHC_LIB_COLLECTIVES_PASSES_H
