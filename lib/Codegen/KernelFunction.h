//===- KernelFunction.h - a kernel's function around its code -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELFUNCTION_H
#define MESHC_LIB_CODEGEN_KERNELFUNCTION_H

#include "lib/Codegen/KernelEmitter.h"

namespace meshc::codegen {

/// What a target opens for a kernel's code: a function, the builder in its
/// first block.
struct KernelEntry {
  mlir::LLVM::LLVMFuncOp function;
  mlir::Value context;                    ///< address of a MeshcContext
  llvm::SmallVector<mlir::Value> buffers; ///< addresses: inputs, outputs
  /// Numbers of streams that are arguments; of all others they are constants.
  llvm::DenseMap<mlir::StringAttr, mlir::Value> streams{};
};

/// Appends a function that `open` makes to `module`, filled by `code` with an
/// emitter of up to `lanes` lanes; with one lane where ops turn out to have no
/// vectors. Both may be called twice. Reports code that does not come about.
llvm::LogicalResult
emitKernelFunction(exec::KernelOp kernel, mlir::ModuleOp module, int64_t lanes,
                   llvm::function_ref<KernelEntry(mlir::OpBuilder &)> open,
                   llvm::function_ref<void(KernelEmitter &, KernelEntry)> code);

/// Elements in a vector of this kernel: at most `lanes`, 2^n, as many as its
/// ops can give; 1 for scalar code.
int64_t chooseLanes(exec::KernelOp kernel, int64_t lanes);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELFUNCTION_H
