//===- Library.h - ops that become calls of a library ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_LIBRARY_H
#define MESHC_DIALECTS_EXEC_LIBRARY_H

#include "dialects/Exec/Exec.h"

namespace meshc::exec {

/// Replaces each nd op in the block that a library op holds by that op.
void formLibraryOps(mlir::Block &block);

/// Whether the target's library has an implementation of the nd op, in some
/// memory orders.
bool isComputedByLibrary(mlir::Operation *op);

/// The op that a library op holds.
mlir::Operation *getHeldOp(LibraryOpInterface op);

/// ScheduledOpInterface::verifyReady of a library op: what it holds has memory
/// orders, its fusions fit their plans, and it is one call.
llvm::LogicalResult verifyHeldOps(LibraryOpInterface op);

/// Bytes of scratch memory with which each implementation that accepts the op
/// can run: 0 if the op is not a library op. Needs memory orders.
int64_t getScratchBytes(mlir::Operation *op);

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_LIBRARY_H
