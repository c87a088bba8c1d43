//===- Packed512Bf16.cpp - bf16 matrix products by packed AVX-512 blocks --===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products of bf16 matrices on CPUs with AVX-512: as pairs of bf16, where the
/// CPU multiplies them fast (AVX512_BF16), or converted to f32 while they are
/// packed. Sums are f32; a result of 16 bits is computed in f32 blocks first,
/// and rounded once.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Blas/PackedProduct.h"

#include <algorithm>

using namespace meshc::runtime;

/// The kernel for bf16, or null.
static const PackedKernel *findKernel() {
  static const PackedKernel *const kernel = []() -> const PackedKernel * {
    if (!usesAvx512() || !hasProcessorFeature("avx512bw") ||
        !hasProcessorFeature("avx512vl"))
      return nullptr;
    return usesBf16Pairs() ? &avx512Bf16Kernel() : &avx512WidenedKernel();
  }();
  return kernel;
}

static bool suitsBf16(const MeshcGemm &) { return findKernel(); }

/// One block of C: `m` × `n` from row `i` and column `j` on, through `sums`.
static bool runBlock(const MeshcGemm &gemm, const void *a, const void *b,
                     void *c, int64_t i, int64_t j, int64_t m, int64_t n,
                     const GemmScratch &scratch) {
  auto *sums = reinterpret_cast<float *>(scratch.data);
  auto forRows = [&](const auto &body) {
    parallelFor(m, 16, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        for (int64_t column = 0; column < n; ++column)
          body(sums[row * n + column], (i + row) * gemm.ldc + j + column);
    });
  };
  if (gemm.accumulate)
    forRows(
        [&](float &sum, int64_t at) { sum = loadElement(gemm.typeC, c, at); });
  MeshcGemm block = gemm;
  block.m = m, block.n = n, block.ldc = n, block.batch = 1;
  block.typeC = MESHC_F32;
  if (!runPackedProduct(*findKernel(), block,
                        elementAt(gemm.type, a, gemm.transA ? i : i * gemm.lda),
                        elementAt(gemm.type, b, gemm.transB ? j * gemm.ldb : j),
                        sums, scratch.after(m * n * int64_t(sizeof(float)))))
    return false;
  forRows(
      [&](float &sum, int64_t at) { storeElement(gemm.typeC, c, at, sum); });
  return true;
}

static bool runBf16(const MeshcGemm &gemm, const void *a, const void *b,
                    void *c, const GemmScratch &scratch) {
  if (!suitsBf16(gemm))
    return false;
  if (gemm.typeC == MESHC_F32)
    return runPackedProduct(*findKernel(), gemm, a, b, static_cast<float *>(c),
                            scratch);
  constexpr int64_t side = MESHC_WIDENED_BLOCK;
  if (scratch.bytes < meshcGemmScratchBytes(&gemm))
    return false; // rather than fail after some blocks
  for (int64_t entry = 0; entry < gemm.batch; ++entry)
    for (int64_t i = 0; i < gemm.m; i += side)
      for (int64_t j = 0; j < gemm.n; j += side)
        if (!runBlock(gemm, elementAt(gemm.type, a, entry * gemm.strideA),
                      elementAt(gemm.type, b, entry * gemm.strideB),
                      elementAt(gemm.typeC, c, entry * gemm.strideC), i, j,
                      std::min(side, gemm.m - i), std::min(side, gemm.n - j),
                      scratch))
          return false;
  return true;
}

const GemmImplementation meshc::runtime::packedBf16Implementation = {suitsBf16,
                                                                     runBf16};
