//===- LowerToLlvm.h - kernels from MLIR's dialects to LLVM IR ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H
#define MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace meshc::codegen {

/// Loads the dialects that kernels and their lowering are written in, and what
/// translates them, into the context. Once, before any code is emitted.
void loadCodegenDialects(mlir::MLIRContext &context);

/// Lowers emitted kernels (emitHostKernel) to the LLVM dialect, in place, and
/// translates them. Null, reported, where an op has no lowering.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp kernels,
                                          llvm::LLVMContext &context);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H
