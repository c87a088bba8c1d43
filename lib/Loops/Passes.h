//===- Passes.h - loops become their iterations ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Passes on loops that are not part of a phase.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_LOOPS_PASSES_H
#define MESHC_LIB_LOOPS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace meshc::loops {

#define GEN_PASS_DECL
#include "lib/Loops/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "lib/Loops/Passes.h.inc"

} // namespace meshc::loops

#endif // MESHC_LIB_LOOPS_PASSES_H
