//===- ThinProducts.cpp - products of a thin matrix and a large one -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products C = A B of a thin matrix (few rows or columns) and a large one. The
/// large matrix is read once, as it lies: by dot products where it is
/// contiguous along k, and otherwise by adding multiples of its rows to C. The
/// thin matrix is copied if it is not contiguous along k or not f32.
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
  /// in the end, which costs as much as some elements of k. Vectors of 16 sums
  /// have unused lanes.
  bool suitsDots(int64_t k, int64_t lanesCost) const {
    return large.along == 1 && largeRows > thinRows &&
           thinRows * (k + lanesCost) < 16 * k;
  }
  /// With more rows, C would be loaded and stored too often.
  bool suitsAcross() const {
    return large.across == 1 && largeStep == 1 && largeRows >= 8 &&
           thinRows <= 4;
  }
  /// The function of the kernel that suits the product, or null.
  void (*function(const PackedKernel &kernel, int64_t k)
            const)(const ThinSums &) {
    if (kernel.multiplyDots && suitsDots(k, kernel.lanesCost))
      return kernel.multiplyDots;
    return suitsAcross() ? kernel.multiplyAcross : nullptr;
  }
  /// Copies elements `first` to `first + depth` of the thin rows.
  void copyThin(int64_t first, int64_t depth, float *target) const {
    for (int64_t t = 0; t < thinRows; ++t)
      for (int64_t p = 0; p < depth; ++p)
        target[t * depth + p] =
            loadElement(type, thin.from(t, first + p).data, 0);
  }
  /// The sums over elements `first` to `first + depth`.
  ThinSums part(int64_t first, int64_t depth, const float *copy) const {
    ThinSums sums;
    sums.thin = copies
                    ? copy
                    : reinterpret_cast<const float *>(thin.from(0, first).data);
    sums.thinRows = thinRows;
    sums.thinStride = copies ? depth : thin.across;
    sums.large = large.from(0, first).data;
    sums.largeRows = largeRows;
    sums.largeStride = large.across * large.elementBytes;
    sums.alongStride = large.along * large.elementBytes;
    sums.depth = depth;
    sums.thinStep = thinStep, sums.largeStep = largeStep;
    return sums;
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

bool meshc::runtime::suitsThinProduct(const PackedKernel &kernel,
                                      const MeshcGemm &gemm) {
  return gemm.batch == 1 &&
         ThinProduct(gemm, nullptr, nullptr).function(kernel, gemm.k);
}

bool meshc::runtime::runThinProduct(const PackedKernel &kernel,
                                    const MeshcGemm &gemm, const void *a,
                                    const void *b, float *c,
                                    const GemmScratch &scratch) {
  ThinProduct product(gemm, a, b);
  auto function = product.function(kernel, gemm.k);
  if (!function || gemm.batch > 1)
    return false;
  constexpr int64_t maxDepth = 1024; // the thin rows stay in the caches
  int64_t parts = (gemm.k + maxDepth - 1) / maxDepth;
  int64_t step = (gemm.k + parts - 1) / parts;
  if (product.copies && product.thinRows * step * 4 > scratch.bytes)
    return false;
  auto *copy = reinterpret_cast<float *>(scratch.data);
  bool isSmall = gemm.m * gemm.n * gemm.k <= MESHC_PACKED_FEW_SUMS;
  int64_t grain = isSmall ? product.largeRows : 16;
  auto run = [&](int64_t p, int64_t begin, int64_t end) {
    ThinSums sums = product.part(p, std::min(step, gemm.k - p), copy);
    sums.large += begin * sums.largeStride;
    sums.largeRows = end - begin;
    sums.c = c + begin * sums.largeStep;
    sums.adds = gemm.accumulate || p > 0;
    function(sums);
  };
  if (!product.copies) {
    parallelFor(product.largeRows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t p = 0; p < gemm.k; p += step)
        run(p, begin, end);
    });
    return true;
  }
  for (int64_t p = 0; p < gemm.k; p += step) {
    product.copyThin(p, std::min(step, gemm.k - p), copy);
    parallelFor(product.largeRows, grain,
                [&](int64_t begin, int64_t end) { run(p, begin, end); });
  }
  return true;
}
