//===- KernelKey.h - kernels of equal code --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELKEY_H
#define MESHC_LIB_CODEGEN_KERNELKEY_H

#include "dialects/Exec/Exec.h"

namespace meshc::codegen {

/// Everything on which a kernel's code depends. Names of kernels, tensors, dims
/// and streams do not matter, except that types sort their dims by name.
struct KernelKey {
  std::string text; ///< equal for kernels with equal code
  /// Streams of random numbers in order of first use: arguments of the code.
  llvm::SmallVector<mlir::StringAttr> streams;

  static KernelKey of(exec::KernelOp kernel);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELKEY_H
