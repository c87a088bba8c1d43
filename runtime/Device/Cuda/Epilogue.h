//===- Epilogue.h - epilogues in cublasLt's terms ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_CUDA_EPILOGUE_H
#define MESHC_RUNTIME_DEVICE_CUDA_EPILOGUE_H

#include "runtime/Device/CudaPlugin.h"

#include <cublasLt.h>

#include <cstdint>

namespace meshc::cuda {

/// An epilogue in cublasLt's terms. Its D has our columns as rows.
struct Epilogue {
  cublasLtEpilogue_t mode = CUBLASLT_EPILOGUE_DEFAULT;
  /// One number for each row of D, or, for sums of a factor, for each row or
  /// column; null for modes without one.
  const void *bias = nullptr;
  void *auxiliary = nullptr;   ///< for modes with the bit 128; else null
  int64_t auxiliaryStride = 0; ///< elements (of a mask: bits) between columns
  bool keepsProduct = true;    ///< D is C itself, and not the epilogue's result
  bool isPossible = true;      ///< cublasLt may support it for the product
};

/// Null: no epilogue.
Epilogue translate(const MeshcCudaEpilogue *known, const MeshcGemm &gemm,
                   MeshcCudaRounding rounding);

} // namespace meshc::cuda

#endif // MESHC_RUNTIME_DEVICE_CUDA_EPILOGUE_H
