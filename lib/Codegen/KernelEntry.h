//===- KernelEntry.h - a kernel's function around its code -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELENTRY_H
#define MESHC_LIB_CODEGEN_KERNELENTRY_H

#include "lib/Codegen/KernelElements.h"

namespace meshc::codegen {

/// The function that a target creates for a kernel's code. The builder is in
/// its first block.
struct KernelEntry {
  mlir::LLVM::LLVMFuncOp function;
  mlir::Value context;                    ///< address of a MeshcContext
  llvm::SmallVector<mlir::Value> buffers; ///< addresses: inputs, outputs
  /// Numbers of streams that are arguments. The others are constants.
  llvm::DenseMap<mlir::StringAttr, mlir::Value> streams{};
};

/// Appends a function to `module`: `open` creates it and `code` fills it, with
/// an emitter of up to `lanes` lanes. Falls back to one lane if an op cannot
/// produce vectors, so that both may be called twice. Reports an error if code
/// generation fails.
llvm::LogicalResult emitKernelFunction(
    exec::KernelOp kernel, mlir::ModuleOp module, int64_t lanes,
    llvm::function_ref<KernelEntry(mlir::OpBuilder &)> open,
    llvm::function_ref<void(KernelElements &, KernelEntry)> code);

/// Elements in a vector of this kernel: the largest power of two up to `lanes`
/// that its ops support; 1 for scalar code.
int64_t chooseLanes(exec::KernelOp kernel, int64_t lanes);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELENTRY_H
