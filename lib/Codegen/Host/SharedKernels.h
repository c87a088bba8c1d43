//===- SharedKernels.h - one function for equal kernels -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_SHAREDKERNELS_H
#define MESHC_LIB_CODEGEN_HOST_SHAREDKERNELS_H

#include "lib/Codegen/Host/HostKernel.h"
#include "lib/Codegen/KernelKey.h"

namespace meshc::codegen {

/// Emits the kernels of a program for the host. Kernels with equal code share
/// one function; each calls it with the streams of its random numbers. The time
/// to compile a network therefore does not grow with its layers.
class SharedKernels {
public:
  /// Kernels of `program` go to `code`, with vectors of up to `lanes` elements.
  SharedKernels(mlir::ModuleOp program, mlir::ModuleOp code, int64_t lanes);

  /// Appends the kernel's function; see emitHostKernel.
  llvm::FailureOr<KernelLaunch> emit(exec::KernelOp kernel);

private:
  struct Shared {
    unsigned users = 0;
    mlir::LLVM::LLVMFuncOp function; ///< once the first user is emitted
    KernelLaunch launch;
  };

  mlir::ModuleOp code;
  int64_t lanes;
  llvm::DenseMap<mlir::Operation *, KernelKey> keys;
  llvm::StringMap<Shared> shared; ///< by the key's text
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_SHAREDKERNELS_H
