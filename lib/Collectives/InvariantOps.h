//===- InvariantOps.h - what every iteration of a loop computes alike -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COLLECTIVES_INVARIANTOPS_H
#define MESHC_LIB_COLLECTIVES_INVARIANTOPS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "llvm/ADT/SetVector.h"

namespace meshc::collectives {

/// The ops of the loop's body that may be computed before the loop: they need
/// whole operands of the loop and one another, and nothing else. In the order
/// of the block. Gathers of parameters for a micro-batch (ParameterGathers.h)
/// are none, nor is what needs them, unless the module says `gathersOnce`.
llvm::SetVector<mlir::Operation *> findInvariantOps(nd::ScanOp loop);

} // namespace meshc::collectives

#endif // MESHC_LIB_COLLECTIVES_INVARIANTOPS_H
