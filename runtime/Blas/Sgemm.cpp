//===- Sgemm.cpp - f32 matrix products by oneDNN's sgemm ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Gemm.h"

#include <atomic>
#include <dnnl.h>

using namespace meshc::runtime;

static bool runEntry(const MeshcGemm &gemm, int64_t entry, const float *a,
                     const float *b, float *c) {
  return dnnl_sgemm(gemm.transA ? 'T' : 'N', gemm.transB ? 'T' : 'N', gemm.m,
                    gemm.n, gemm.k, 1.0f, a + entry * gemm.strideA, gemm.lda,
                    b + entry * gemm.strideB, gemm.ldb,
                    gemm.accumulate ? 1.0f : 0.0f, c + entry * gemm.strideC,
                    gemm.ldc) == dnnl_success;
}

static bool runSgemm(const MeshcGemm &gemm, const void *a, const void *b,
                     void *c, const GemmScratch &) {
  const auto *fa = static_cast<const float *>(a);
  const auto *fb = static_cast<const float *>(b);
  auto *fc = static_cast<float *>(c);
  // The first one determines whether oneDNN accepts this shape at all.
  if (!runEntry(gemm, 0, fa, fb, fc))
    return false;
  if (gemm.batch == 1)
    return true;
  // For many products, one thread each, as oneDNN does not split within a
  // parallel region.
  std::atomic<bool> done{true};
  auto entries = [&](int64_t begin, int64_t end) {
    for (int64_t entry = begin; entry < end; ++entry)
      if (!runEntry(gemm, entry + 1, fa, fb, fc))
        done = false;
  };
  if (gemm.batch > threads())
    parallelFor(gemm.batch - 1, 1, entries);
  else
    entries(0, gemm.batch - 1);
  return done;
}

const GemmImplementation meshc::runtime::sgemmImplementation = {
    [](const MeshcGemm &) { return true; }, runSgemm};
