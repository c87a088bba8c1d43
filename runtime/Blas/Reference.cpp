//===- Reference.cpp - matrix products by three loops ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The implementation that supports every product, and the reference in tests
/// of the others.
///
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/Gemm.h"

using namespace meshc::runtime;

static bool runReference(const MeshcGemm &gemm, const void *a, const void *b,
                         void *c, const GemmScratch &) {
  int64_t strideAM = gemm.transA ? 1 : gemm.lda;
  int64_t strideAK = gemm.transA ? gemm.lda : 1;
  int64_t strideBK = gemm.transB ? 1 : gemm.ldb;
  int64_t strideBN = gemm.transB ? gemm.ldb : 1;
  parallelFor(gemm.batch * gemm.m, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t entry = row / gemm.m, i = row % gemm.m;
      int64_t fromA = entry * gemm.strideA + i * strideAM;
      int64_t fromB = entry * gemm.strideB;
      int64_t to = entry * gemm.strideC + i * gemm.ldc;
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = gemm.accumulate ? loadElement(gemm.typeC, c, to + j) : 0.0;
        for (int64_t k = 0; k < gemm.k; ++k)
          sum += double(loadElement(gemm.type, a, fromA + k * strideAK)) *
                 loadElement(gemm.type, b, fromB + k * strideBK + j * strideBN);
        storeElement(gemm.typeC, c, to + j, static_cast<float>(sum));
      }
    }
  });
  return true;
}

const GemmImplementation meshc::runtime::referenceImplementation = {
    [](const MeshcGemm &) { return true; }, runReference};
