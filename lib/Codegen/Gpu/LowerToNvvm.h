//===- LowerToNvvm.h - gpu-level code to LLVM IR for NVIDIA GPUs ----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_LOWERTONVVM_H
#define MESHC_LIB_CODEGEN_GPU_LOWERTONVVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace meshc::codegen {

/// Lowers emitted kernels (emitGpuKernel) to the LLVM and NVVM dialects, in
/// place, and translates them. Functions of the math dialect become arithmetic
/// (VectorMath) or instructions if possible, otherwise calls of the CUDA
/// toolkit's libdevice. Reports an error and returns null if an op has no
/// lowering.
std::unique_ptr<llvm::Module> lowerToNvvm(mlir::ModuleOp kernels,
                                          llvm::LLVMContext &context);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_LOWERTONVVM_H
