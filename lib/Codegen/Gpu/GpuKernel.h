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

/// What is to blame where no code comes about.
enum class GpuFault { Compiler, Input };

/// Appends the kernel's function, named like it, to `module`: the *gpu-level*
/// code of one thread, in scf, arith, math, vector and LLVM ops with those of
/// the gpu dialect for the thread's and block's number, barriers, shuffles and
/// reductions over a warp. Its parameters are those that RuntimeAbi.h gives
/// MeshcKernel on CUDA; it has the attributes `nvvm.kernel` and `nvvm.reqntid`.
/// Workgroup memory is a global of NVPTX's address space 3, used through a cast
/// to the generic one. From here the code goes to a GPU (LowerToNvvm) or, to be
/// tested, to the host (EmulateGpu). Reports what cannot be emitted, and sets
/// `fault` where it is the program's.
llvm::FailureOr<KernelLaunch> emitGpuKernel(exec::KernelOp kernel,
                                            mlir::ModuleOp module,
                                            const GpuOptions &options = {},
                                            GpuFault *fault = nullptr);

/// Threads of a block of an emitted kernel.
int64_t getBlockThreads(mlir::LLVM::LLVMFuncOp function);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUKERNEL_H
