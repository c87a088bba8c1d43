//===- Passes.h - where every tensor lies ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LAYOUT_PASSES_H
#define MESHC_LIB_LAYOUT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::layout {

#define GEN_PASS_DECL
#include "lib/Layout/Passes.h.inc"

/// The passes of the phase, its verifier last.
void addLayoutPasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Layout/Passes.h.inc"

} // namespace meshc::layout

#endif // MESHC_LIB_LAYOUT_PASSES_H
