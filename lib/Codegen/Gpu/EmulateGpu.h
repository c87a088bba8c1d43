//===- EmulateGpu.h - GPU kernels as functions of the host ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_EMULATEGPU_H
#define MESHC_LIB_CODEGEN_GPU_EMULATEGPU_H

#include "mlir/IR/BuiltinOps.h"

namespace meshc::codegen {

/// Rewrites gpu-level code (emitGpuKernel) in place for the host's lowering, so
/// that what GPUs would run can be tested where there is none. Each kernel
/// becomes a MeshcHostKernel of its name whose units are blocks, and a function
/// of one thread. The thread's number and workgroup memory come from the
/// MeshcEmulatedThread of runtime/Device/Emulation.h; barriers, shuffles and
/// reductions over warps are calls of the functions there. Reports gpu ops that
/// no kernel emits.
llvm::LogicalResult emulateGpu(mlir::ModuleOp kernels);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_EMULATEGPU_H
