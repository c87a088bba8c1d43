//===- Product.h - the computation of a cublasLt call -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PRODUCT_H
#define MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PRODUCT_H

#include <cstdint>
#include <cublasLt.h>

namespace meshc::fake {

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *auxiliary = nullptr;
  int64_t auxiliaryStride = 0;
};

/// A matrix, column by column.
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t stride; ///< elements from column to column
  int32_t batch;
  int64_t batchStride;
};

/// D = A · B + C and what follows.
struct Product {
  Operation operation;
  Layout a, b, c, d;
};

struct Addresses {
  const void *a, *b, *c;
  void *d;
};

/// Ends the process where shapes or types do not fit each other.
void checkShapes(const Product &product);
/// cublasLt's error for what it does not support, or 0.
cublasStatus_t refuse(const Product &product);

uint64_t biasBytes(const Product &product);
uint64_t auxiliaryBytes(const Product &product);

/// On a GPU.
void runProduct(const Product &product, const Addresses &at, bool accumulate,
                int gpu);

} // namespace meshc::fake

#endif // MESHC_TEST_RUNTIME_DEVICE_LIBRARIES_PRODUCT_H
