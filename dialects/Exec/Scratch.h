//===- Scratch.h - memory that a library call uses while it runs ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scratch memory is requested here, before the arena is planned, and is live
/// only during its call.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_SCRATCH_H
#define MESHC_DIALECTS_EXEC_SCRATCH_H

#include "dialects/Exec/Exec.h"

namespace meshc::exec {

/// Bytes of scratch memory that the op's call needs, whichever implementation
/// the runtime chooses: those of meshc/GemmScratch.h for a product (nd.einsum
/// of two operands, exec.product) after the kernels phase, otherwise 0.
int64_t getScratchBytes(mlir::Operation *op);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_SCRATCH_H
