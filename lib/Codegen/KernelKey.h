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

/// All that a kernel's code depends on. Names of kernels, tensors, dims and
/// streams make no difference, except for the order of the dims' names, by
/// which types sort their dims.
struct KernelKey {
  std::string text; ///< equal for two kernels of one code
  /// Streams of random numbers, in order of first use: arguments of that code.
  llvm::SmallVector<mlir::StringAttr> streams;

  static KernelKey of(exec::KernelOp kernel);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELKEY_H
