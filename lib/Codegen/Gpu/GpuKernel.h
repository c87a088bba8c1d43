//===- GpuKernel.h - kernels for GPUs -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUKERNEL_H
#define MESHC_LIB_CODEGEN_GPU_GPUKERNEL_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "lib/Codegen/StepFunctions.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace meshc::codegen {

/// Who is responsible when code generation fails.
enum class GpuFault { Compiler, Input };

/// Appends the kernel's function, with the kernel's name, to `module`: the
/// *gpu-level* code of one thread. It uses scf, arith, math, vector and LLVM
/// ops, and gpu ops for thread and block numbers, barriers, shuffles and warp
/// reductions. Its parameters are those of a MeshcKernel on CUDA
/// (RuntimeAbi.h); it has the attributes `nvvm.kernel` and `nvvm.reqntid`.
/// Workgroup memory is a global in NVPTX's address space 3, accessed through a
/// cast to the generic one. The code is then lowered for a GPU (LowerToNvvm)
/// or, in tests, for the host (EmulateGpu). Reports what cannot be emitted, and
/// sets `fault` if the program is responsible.
llvm::FailureOr<KernelLaunch> emitGpuKernel(exec::KernelOp kernel,
                                            mlir::ModuleOp module,
                                            const GpuOptions &options = {},
                                            GpuFault *fault = nullptr);

/// Threads of a block of an emitted kernel.
int64_t getBlockThreads(mlir::LLVM::LLVMFuncOp function);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUKERNEL_H
