//===- LowerToLlvm.h - kernels from MLIR's dialects to LLVM IR ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H
#define MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H

#include "lib/Codegen/Host/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/Module.h"

namespace meshc::codegen {

/// Lowers emitted kernels (emitHostKernel, emulateGpu) to the LLVM dialect, in
/// place, as is best for the target, and translates them. Reports an error and
/// returns null if an op has no lowering.
std::unique_ptr<llvm::Module> lowerToLlvm(mlir::ModuleOp kernels,
                                          const HostTarget &target,
                                          llvm::LLVMContext &context);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_LOWERTOLLVM_H
