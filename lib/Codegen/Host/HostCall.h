//===- HostCall.h - kernels whose code is the runtime's ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTCALL_H
#define MESHC_LIB_CODEGEN_HOST_HOSTCALL_H

#include "dialects/Exec/Exec.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace meshc::codegen {

/// Appends a function of this name, a MeshcHostKernel of one unit, that calls
/// the runtime: for a kernel that is an attention. The runtime uses the rank's
/// threads itself.
void emitHostCall(exec::KernelOp kernel, mlir::ModuleOp module,
                  llvm::StringRef name);

/// Whether the kernel is one of those.
bool isHostCall(exec::KernelOp kernel);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTCALL_H
