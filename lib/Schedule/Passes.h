//===- Passes.h - from kernels to buffers in an order ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_PASSES_H
#define MESHC_LIB_SCHEDULE_PASSES_H

#include "dialects/Exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace meshc::schedule {

#define GEN_PASS_DECL
#include "lib/Schedule/Passes.h.inc"

/// The passes of the phase on a module, its verifier last.
void addSchedulePasses(mlir::OpPassManager &passes);

#define GEN_PASS_REGISTRATION
#include "lib/Schedule/Passes.h.inc"

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_PASSES_H
