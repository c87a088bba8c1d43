//===- HostKernel.h - loops of kernels for CPUs ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTKERNEL_H
#define MESHC_LIB_CODEGEN_HOST_HOSTKERNEL_H

#include "lib/Codegen/KernelEntry.h"
#include "lib/Codegen/LoopNest.h"
#include "lib/Codegen/StepFunctions.h"

namespace meshc::codegen {

/// Appends the kernel's function to `module`: a MeshcHostKernel of RuntimeAbi.h
/// with the kernel's name. It consists of scf loops with arith, math and vector
/// ops and LLVM dialect loads and stores. Vectors have up to `lanes` 32-bit
/// elements. Results do not depend on how the launch splits [0, extent).
/// Reports what cannot be emitted. A `name` replaces the kernel's name; the
/// function then takes the numbers of `streams` as further arguments.
llvm::FailureOr<KernelLaunch>
emitHostKernel(exec::KernelOp kernel, mlir::ModuleOp module, int64_t lanes,
               llvm::StringRef name = {},
               llvm::ArrayRef<mlir::StringAttr> streams = {});

/// Appends the head of such a function at the builder's insertion point and
/// moves the builder into the body. The buffers' addresses are not loaded yet.
KernelEntry openHostKernel(exec::KernelOp kernel, mlir::OpBuilder &builder,
                           llvm::StringRef name,
                           llvm::ArrayRef<mlir::StringAttr> streams = {});

/// Loads the buffers' addresses from the array that the function gets.
void loadBuffers(exec::KernelOp kernel, KernelEntry &entry,
                 mlir::OpBuilder &builder);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTKERNEL_H
