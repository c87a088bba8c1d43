//===- GpuParts.h - kernels of several parts for GPUs ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUPARTS_H
#define MESHC_LIB_CODEGEN_GPU_GPUPARTS_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "lib/Codegen/KernelEntry.h"

namespace meshc::codegen {

/// Blocks of a launch, and threads of each.
struct PartsGrid {
  int64_t blocks, threads;
};

/// Emits the code of a kernel with parts (exec.part) into the function of
/// `entry`, at `builder`'s place in its first block. Each part has blocks of
/// its own, and a block finds its part by its number. Reports an error if an op
/// has no code.
llvm::FailureOr<PartsGrid> emitParts(exec::KernelOp kernel,
                                     mlir::OpBuilder &builder,
                                     const KernelEntry &entry,
                                     const GpuOptions &options);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUPARTS_H
