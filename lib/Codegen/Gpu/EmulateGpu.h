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
/// that GPU code can be tested without a GPU. Each kernel becomes a
/// MeshcHostKernel of its name whose units are blocks, and a function for one
/// thread. The thread's number and workgroup memory come from the
/// MeshcEmulatedThread of runtime/Device/Emulation.h; barriers, shuffles and
/// warp reductions become calls of functions declared there. Reports gpu ops
/// that no kernel emits.
llvm::LogicalResult emulateGpu(mlir::ModuleOp kernels);

/// MeshcImage::data of a program for fake GPUs with emulated code: this number
/// (8 bytes), the number of kernels (8 bytes), and the address of their table.
/// Each entry holds the name, a MeshcHostKernel that runs the blocks [begin,
/// end), the number of blocks (8 bytes), the number of buffers and the threads
/// per block (4 bytes each).
constexpr uint64_t emulatedImageMagic = 0x6d657368632d6675;
constexpr uint64_t emulatedImageBytes = 24;

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_EMULATEGPU_H
