//===- DotProducts.cpp - products of a thin matrix and a large one --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products C = A B of a thin matrix (few rows or columns) and a large one that
/// is contiguous along k. The large matrix is read once, without packing. The
/// thin one is copied if it is not contiguous along k or not f32.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/PackedProduct.h"

#include <algorithm>

using namespace meshc::runtime;

namespace {

/// The thin matrix and the large one. Rows of either are rows of A or columns
/// of B.
struct ThinProduct {
  PackedOperand thin, large;
  int64_t thinRows, largeRows;
  int64_t thinStep, largeStep; ///< of C from row to row
  uint8_t type;
  bool copies; ///< the thin matrix

  ThinProduct(const MeshcGemm &gemm, const void *a, const void *b);

  /// Compares the costs of 16 sums. Vectors along k are added up lane by lane
  /// in the end, which costs as much as about 64 elements of k. Vectors of 16
  /// sums have unused lanes.
  bool suitsDots(int64_t k) const {
    return large.along == 1 && largeRows > thinRows &&
           thinRows * (k + 64) < 16 * k;
  }
  /// Copies elements `first` to `first + depth` of the thin rows.
  void copyThin(int64_t first, int64_t depth, float *target) const {
    for (int64_t t = 0; t < thinRows; ++t)
      for (int64_t p = 0; p < depth; ++p)
        target[t * depth + p] =
            loadElement(type, thin.from(t, first + p).data, 0);
  }
  /// The dot products over elements `first` to `first + depth`.
  DotProducts part(int64_t first, int64_t depth, const float *copy) const {
    DotProducts dots;
    dots.thin = copies
                    ? copy
                    : reinterpret_cast<const float *>(thin.from(0, first).data);
    dots.thinRows = thinRows;
    dots.thinStride = copies ? depth : thin.across;
    dots.large = large.from(0, first).data;
    dots.largeRows = largeRows;
    dots.largeStride = large.across * large.elementBytes;
    dots.depth = depth;
    dots.thinStep = thinStep, dots.largeStep = largeStep;
    return dots;
  }
};

} // namespace

ThinProduct::ThinProduct(const MeshcGemm &gemm, const void *a, const void *b)
    : thinRows(gemm.m), largeRows(gemm.n), thinStep(gemm.ldc), largeStep(1),
      type(gemm.type) {
  int64_t bytes = type == MESHC_F32 ? 4 : 2;
  thin = {static_cast<const char *>(a), gemm.transA ? 1 : gemm.lda,
          gemm.transA ? gemm.lda : 1, bytes};
  large = {static_cast<const char *>(b), gemm.transB ? gemm.ldb : 1,
           gemm.transB ? 1 : gemm.ldb, bytes};
  if (gemm.m > gemm.n) {
    std::swap(thin, large);
    std::swap(thinRows, largeRows);
    std::swap(thinStep, largeStep);
  }
  copies = type != MESHC_F32 || thin.along != 1;
}

bool meshc::runtime::runDotProducts(const PackedKernel &kernel,
                                    const MeshcGemm &gemm, const void *a,
                                    const void *b, float *c,
                                    const GemmScratch &scratch) {
  ThinProduct product(gemm, a, b);
  if (!kernel.multiplyDots || gemm.batch > 1 || !product.suitsDots(gemm.k))
    return false;
  constexpr int64_t maxDepth = 1024; // the thin rows stay in the caches
  int64_t parts = (gemm.k + maxDepth - 1) / maxDepth;
  int64_t step = (gemm.k + parts - 1) / parts;
  if (product.copies && product.thinRows * step * 4 > scratch.bytes)
    return false;
  auto *copy = reinterpret_cast<float *>(scratch.data);
  bool isSmall = gemm.m * gemm.n * gemm.k <= MESHC_PACKED_FEW_SUMS;
  for (int64_t p = 0; p < gemm.k; p += step) {
    int64_t depth = std::min(step, gemm.k - p);
    if (product.copies)
      product.copyThin(p, depth, copy);
    DotProducts all = product.part(p, depth, copy);
    all.c = c, all.adds = gemm.accumulate || p > 0;
    parallelFor(all.largeRows, isSmall ? all.largeRows : 16,
                [&](int64_t begin, int64_t end) {
                  DotProducts dots = all;
                  dots.large += begin * dots.largeStride;
                  dots.largeRows = end - begin;
                  dots.c += begin * dots.largeStep;
                  kernel.multiplyDots(dots);
                });
  }
  return true;
}
