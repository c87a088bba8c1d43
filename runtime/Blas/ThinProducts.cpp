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
/// thin matrix is copied if it is not contiguous along k or not f32. Memory is
/// the limit where there is one thin row, as in generation. So large matrices
/// are read in the order in which memory is fastest
/// (docs/rationale/matrix-products.md).
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/PackedProduct.h"

#include <algorithm>

using namespace meshc::runtime;

namespace {

/// The thin rows from some element of k on, in f32.
struct ThinRows {
  const float *data;
  int64_t stride;
};

/// The thin matrix and the large one. Rows of either are rows of A or columns
/// of B.
struct ThinProduct {
  PackedOperand thin, large;
  int64_t thinRows, largeRows, k;
  int64_t largeBatch;          ///< how many large matrices there are
  int64_t thinStep, largeStep; ///< of C from row to row
  uint8_t type;
  bool copies; ///< the thin matrix

  ThinProduct(const MeshcGemm &gemm, const void *a, const void *b);

  /// Compares the costs of 16 sums. Vectors along k are added up lane by lane
  /// in the end, which costs as much as some elements of k. Vectors of 16 sums
  /// have unused lanes.
  bool suitsDots(int64_t lanesCost) const {
    return large.along == 1 && largeRows > thinRows &&
           thinRows * (k + lanesCost) < 16 * k;
  }
  /// With more rows, C would be loaded and stored too often.
  bool suitsAcross() const {
    return large.across == 1 && largeStep == 1 && largeRows >= 8 &&
           thinRows <= 4;
  }
  /// The function of the kernel that suits the product, or null.
  void (*function(const PackedKernel &kernel) const)(const ThinSums &) {
    if (kernel.multiplyDots && suitsDots(kernel.lanesCost))
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
  /// Whether the large matrices of the batch exceed the caches of a core.
  bool comesFromMemory() const {
    return largeBatch * largeRows * k * large.elementBytes > cachesOfCore;
  }
  /// Of a large matrix that lies across: whether `columns` of them have no gaps
  /// between one element of k and the next.
  bool isStream(int64_t columns) const { return large.along == columns; }
  /// ThinSums::rowsAtOnce. With more rows, C or the thin rows are loaded less
  /// often. But processors fetch only one stream well ahead from memory. So a
  /// single thin row takes one row at a time, if its row of C stays in the
  /// first-level cache.
  int64_t getRowsAtOnce(int64_t columns) const {
    constexpr int64_t longest = 4096;
    if (comesFromMemory() && thinRows == 1 &&
        (large.along == 1 || (columns <= longest && isStream(columns))))
      return 1;
    return columns <= 1024 && !comesFromMemory() ? 32 : 8;
  }
  /// The thin rows as they lie.
  ThinRows rowsFrom(int64_t first) const {
    return {reinterpret_cast<const float *>(thin.from(0, first).data),
            thin.across};
  }
  /// The sums over elements `first` to `first + depth`, from which on `rows`
  /// are, for rows `begin` to `end` of the large matrix.
  ThinSums part(int64_t first, int64_t depth, const ThinRows &rows,
                int64_t begin, int64_t end) const {
    ThinSums sums;
    sums.thin = rows.data;
    sums.thinRows = thinRows;
    sums.thinStride = rows.stride;
    sums.large = large.from(begin, first).data;
    sums.largeRows = end - begin;
    sums.largeStride = large.across * large.elementBytes;
    sums.alongStride = large.along * large.elementBytes;
    sums.depth = depth;
    sums.thinStep = thinStep, sums.largeStep = largeStep;
    sums.rowsAtOnce = getRowsAtOnce(sums.largeRows);
    return sums;
  }
};

} // namespace

ThinProduct::ThinProduct(const MeshcGemm &gemm, const void *a, const void *b)
    : thinRows(gemm.m), largeRows(gemm.n), k(gemm.k), largeBatch(gemm.batch),
      thinStep(gemm.ldc), largeStep(1), type(gemm.type) {
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
  if ((gemm.m > gemm.n ? gemm.strideA : gemm.strideB) == 0)
    largeBatch = 1;
  copies = type != MESHC_F32 || thin.along != 1;
}

/// Threads share each entry of a batch, so there must be enough to share.
static bool hasLargeEntries(const MeshcGemm &gemm) {
  constexpr int64_t leastElements = MESHC_PACKED_FEW_SUMS;
  return gemm.batch == 1 || std::max(gemm.m, gemm.n) * gemm.k >= leastElements;
}

bool meshc::runtime::suitsThinProduct(const PackedKernel &kernel,
                                      const MeshcGemm &gemm) {
  return hasLargeEntries(gemm) &&
         ThinProduct(gemm, nullptr, nullptr).function(kernel);
}

namespace {

/// A product whose large matrix comes from memory and lies across, without
/// gaps. Threads that shared its columns would each read many short parts of
/// rows, which processors fetch less well than one stream. So they share k. The
/// number of parts does not depend on that of the threads, so each sum has the
/// same bits.
struct StreamProduct {
  static constexpr int64_t parts = 8;
  /// Threads share the columns of wider ones, whose parts are long enough.
  static constexpr int64_t mostColumns = 8192;

  const ThinProduct &product;
  const MeshcGemm &gemm;
  void (*function)(const ThinSums &);
  float *c;
  /// For the sums of all parts but the first, and a copy of the thin rows.
  GemmScratch scratch;

  bool isPossible() const {
    if (product.largeRows > mostColumns || gemm.k < 64)
      return false;
    int64_t floats =
        (parts - 1) * size() + (product.copies ? product.thinRows * gemm.k : 0);
    return product.comesFromMemory() && product.isStream(product.largeRows) &&
           floats * 4 <= scratch.bytes;
  }
  /// One part of k, in one of some ranges of columns.
  void multiply(int64_t part, int64_t range, int64_t ranges) const {
    int64_t first = gemm.k * part / parts;
    int64_t begin = product.largeRows * range / ranges;
    ThinRows rows = product.copies ? ThinRows{sumsOf(parts) + first, gemm.k}
                                   : product.rowsFrom(first);
    ThinSums sums =
        product.part(first, gemm.k * (part + 1) / parts - first, rows, begin,
                     product.largeRows * (range + 1) / ranges);
    sums.c = c + begin;
    sums.adds = gemm.accumulate;
    if (part > 0) {
      sums.c = sumsOf(part) + begin;
      sums.thinStep = product.largeRows;
      sums.adds = false;
    }
    function(sums);
  }
  /// Adds the sums of the parts for columns `begin` to `end`.
  void addParts(int64_t begin, int64_t end) const {
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t t = 0; t < product.thinRows; ++t) {
        const float *from = sumsOf(part) + t * product.largeRows;
        float *to = c + t * product.thinStep;
        for (int64_t l = begin; l < end; ++l)
          to[l] += from[l];
      }
  }
  void run() const {
    if (product.copies)
      product.copyThin(0, gemm.k, sumsOf(parts));
    TeamBarrier barrier;
    parallelTeam([&](int64_t thread, int64_t count) {
      int64_t ranges = (count + parts - 1) / parts, pieces = parts * ranges;
      for (int64_t piece = pieces * thread / count;
           piece < pieces * (thread + 1) / count; ++piece)
        multiply(piece / ranges, piece % ranges, ranges);
      barrier.wait(count);
      addParts(product.largeRows * thread / count,
               product.largeRows * (thread + 1) / count);
    });
  }

private:
  int64_t size() const { return product.thinRows * product.largeRows; }
  /// The thin rows' copy follows the last part's.
  float *sumsOf(int64_t part) const {
    return reinterpret_cast<float *>(scratch.data) + (part - 1) * size();
  }
};

} // namespace

/// One entry of the batch.
static bool runEntry(const PackedKernel &kernel, const MeshcGemm &gemm,
                     const void *a, const void *b, float *c,
                     const GemmScratch &scratch) {
  ThinProduct product(gemm, a, b);
  auto function = product.function(kernel);
  if (!function)
    return false;
  StreamProduct stream{product, gemm, function, c, scratch};
  if (function == kernel.multiplyAcross && stream.isPossible()) {
    stream.run();
    return true;
  }
  // The thin rows stay in the caches. Parts of long rows of the large matrix
  // are fetched less well than whole ones.
  const int64_t maxDepth = product.thinRows > 4 ? 1024 : 4096;
  int64_t parts = (gemm.k + maxDepth - 1) / maxDepth;
  int64_t step = (gemm.k + parts - 1) / parts;
  if (product.copies && product.thinRows * step * 4 > scratch.bytes)
    return false;
  auto *copy = reinterpret_cast<float *>(scratch.data);
  bool isSmall = gemm.m * gemm.n * gemm.k <= MESHC_PACKED_FEW_SUMS;
  int64_t grain = isSmall ? product.largeRows : 16;
  auto run = [&](int64_t p, int64_t begin, int64_t end) {
    int64_t depth = std::min(step, gemm.k - p);
    ThinRows rows =
        product.copies ? ThinRows{copy, depth} : product.rowsFrom(p);
    ThinSums sums = product.part(p, depth, rows, begin, end);
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

bool meshc::runtime::runThinProduct(const PackedKernel &kernel,
                                    const MeshcGemm &gemm, const void *a,
                                    const void *b, float *c,
                                    const GemmScratch &scratch) {
  if (!hasLargeEntries(gemm))
    return false;
  const int64_t bytes = gemm.type == MESHC_F32 ? 4 : 2;
  auto entryOf = [&](const void *matrix, int64_t stride, int64_t entry) {
    return static_cast<const char *>(matrix) + entry * stride * bytes;
  };
  // What makes an entry impossible makes the first one so.
  for (int64_t entry = 0; entry < gemm.batch; ++entry)
    if (!runEntry(kernel, gemm, entryOf(a, gemm.strideA, entry),
                  entryOf(b, gemm.strideB, entry), c + entry * gemm.strideC,
                  scratch))
      return false;
  return true;
}
