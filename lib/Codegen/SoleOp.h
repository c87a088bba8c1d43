//===- SoleOp.h - kernels of one op that is neither element nor sum -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_SOLEOP_H
#define MESHC_LIB_CODEGEN_SOLEOP_H

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdInterfaces.h"

namespace meshc::codegen {

/// The kernel's op with that interface, or null.
template <typename Interface> Interface getSoleOp(exec::KernelOp kernel) {
  auto ops = kernel.getBody().front().getOps<Interface>();
  return ops.empty() ? Interface() : *ops.begin();
}

/// Reports an error if the kernel gives anything but the result of `op`, or has
/// other ops than those of elements beside it.
llvm::LogicalResult verifyStandsAlone(exec::KernelOp kernel,
                                      mlir::Operation *op);

/// Entries of the tensor's dim on one rank.
int64_t getLocalSize(mlir::Value tensor, mlir::StringAttr dim,
                     nd::MeshAttr mesh);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_SOLEOP_H
