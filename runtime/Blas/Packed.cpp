//===- Packed.cpp - f32 matrix products by packed AVX2 blocks -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products on CPUs with AVX2 and without AVX-512, where oneDNN's choice of
/// kernel leaves up to a third of the peak on some shapes. The loops are those
/// of Goto and van de Geijn ("Anatomy of high-performance matrix
/// multiplication", 2008): a panel of B, packed for the third-level cache, is
/// shared by all threads; each packs its own blocks of A for the second level,
/// and a kernel keeps 6 × 16 sums in registers.
///
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Gemm.h"
#include "runtime/Device/Parallel.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <memory>

using namespace meshc::runtime;

#define MESHC_AVX2 __attribute__((target("avx2,fma")))

namespace {

constexpr int64_t tileM = 6, tileN = 16; ///< sums in registers
constexpr int64_t blockM = 24 * tileM, blockK = 256, panelN = 2048;
/// Floats from one packed sliver to the next: a cache line more than its
/// content, so that slivers do not meet in the same cache sets and the last
/// vector of one may run over its end.
constexpr int64_t sliverA = tileM * blockK + 16, sliverB = tileN * blockK + 16;

/// Memory of one thread, kept from product to product.
struct Buffer {
  float *get(int64_t floats) {
    if (!memory)
      memory.reset(static_cast<float *>(
          std::aligned_alloc(64, static_cast<size_t>(floats) * 4)));
    return memory.get();
  }
  struct Free {
    void operator()(float *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> memory;
};

/// A matrix operand: element (i, p) of its sliver's width and of k is at
/// data[i * across + p * along]; one of the strides is 1.
struct Operand {
  const float *data;
  int64_t across, along;

  Operand from(int64_t i, int64_t p) const {
    return {data + i * across + p * along, across, along};
  }
};

/// Transposes an 8 × 8 block: out[p] has element p of each of the rows.
MESHC_AVX2 inline void transpose(const float *const rows[8], int64_t at,
                                 __m256 out[8]) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(rows[i] + at);
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    out[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
}

/// Packs one sliver of `width` ≤ tile rows that are contiguous along k, the
/// missing ones as zeros: target[p * tile + i].
template <int64_t tile>
MESHC_AVX2 void packAlong(const Operand &from, int64_t width, int64_t count,
                          float *target) {
  alignas(32) static const float zeros[blockK + 8] = {};
  for (int64_t group = 0; group < tile; group += 8) {
    const float *rows[8];
    for (int64_t i = 0; i < 8; ++i)
      rows[i] =
          group + i < width ? from.data + (group + i) * from.across : zeros;
    int64_t p = 0;
    for (; p + 8 <= count; p += 8) {
      __m256 columns[8];
      transpose(rows, p, columns);
      for (int64_t i = 0; i < 8; ++i)
        _mm256_storeu_ps(target + (p + i) * tile + group, columns[i]);
    }
    for (; p < count; ++p)
      for (int64_t i = 0; i < 8 && group + i < tile; ++i)
        target[p * tile + group + i] = rows[i][p];
  }
}

/// Packs `width` elements that are contiguous across, into slivers `stride`
/// apart, a row of k after the other.
template <int64_t tile>
MESHC_AVX2 void packAcross(const Operand &from, int64_t width, int64_t count,
                           float *target, int64_t stride) {
  int64_t whole = width / tile, rest = width % tile;
  for (int64_t p = 0; p < count; ++p) {
    const float *row = from.data + p * from.along;
    float *to = target + p * tile;
    for (int64_t j = 0; j < whole; ++j, to += stride, row += tile)
      std::memcpy(to, row, tile * sizeof(float));
    if (rest) {
      float last[tile] = {};
      std::memcpy(last, row, static_cast<size_t>(rest) * sizeof(float));
      std::memcpy(to, last, tile * sizeof(float));
    }
  }
}

template <int64_t tile>
MESHC_AVX2 void pack(const Operand &from, int64_t width, int64_t count,
                     float *target, int64_t stride) {
  if (from.across == 1)
    return packAcross<tile>(from, width, count, target, stride);
  for (int64_t i = 0; i < width; i += tile, target += stride)
    packAlong<tile>(from.from(i, 0), std::min(tile, width - i), count, target);
}

/// A tile of C: where it is, how much of it there is, and whether the sums are
/// added to what it holds.
struct Tile {
  float *c;
  int64_t leading, rows, columns;
  bool adds;
};

MESHC_AVX2 inline void storeRow(float *c, __m256 low, __m256 high, bool adds) {
  if (adds) {
    low = _mm256_add_ps(low, _mm256_loadu_ps(c));
    high = _mm256_add_ps(high, _mm256_loadu_ps(c + 8));
  }
  _mm256_storeu_ps(c, low);
  _mm256_storeu_ps(c + 8, high);
}

/// The sums of one tile over `count` of k, from packed slivers.
MESHC_AVX2 void multiply(const float *a, const float *b, int64_t count,
                         const Tile &tile) {
  __m256 sums[tileM][2];
  for (auto &row : sums)
    row[0] = row[1] = _mm256_setzero_ps();
  for (int64_t i = 0; i < tile.rows; ++i) // the kernel ends with these lines
    _mm_prefetch(reinterpret_cast<const char *>(tile.c + i * tile.leading),
                 _MM_HINT_T0);
#pragma clang loop unroll_count(4)
  for (int64_t p = 0; p < count; ++p, a += tileM, b += tileN) {
    __m256 low = _mm256_load_ps(b), high = _mm256_load_ps(b + 8);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < tileM; ++i) {
      __m256 value = _mm256_broadcast_ss(a + i);
      sums[i][0] = _mm256_fmadd_ps(value, low, sums[i][0]);
      sums[i][1] = _mm256_fmadd_ps(value, high, sums[i][1]);
    }
  }
  if (tile.rows == tileM && tile.columns == tileN) {
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < tileM; ++i)
      storeRow(tile.c + i * tile.leading, sums[i][0], sums[i][1], tile.adds);
    return;
  }
  alignas(32) float rest[tileM * tileN];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < tileM; ++i)
    storeRow(rest + i * tileN, sums[i][0], sums[i][1], false);
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      float &c = tile.c[i * tile.leading + j];
      c = rest[i * tileN + j] + (tile.adds ? c : 0.0f);
    }
}

/// One product in the making: the panel of B and the part of k that all threads
/// are at.
struct Product {
  Operand a, b;
  float *c;
  int64_t ldc, m, n;
  bool adds;
  int64_t firstK, countK;

  void packB(float *packed, int64_t firstN, int64_t begin, int64_t end) const {
    pack<tileN>(b.from(firstN + begin * tileN, firstK),
                std::min(end * tileN, n - firstN) - begin * tileN, countK,
                packed + begin * sliverB, sliverB);
  }

  /// Rows [firstM, lastM) of C times the slivers [begin, end) of the panel.
  void multiplyRows(const float *packedB, int64_t firstN, int64_t firstM,
                    int64_t lastM, int64_t begin, int64_t end) const;
};

} // namespace

void Product::multiplyRows(const float *packedB, int64_t firstN, int64_t firstM,
                           int64_t lastM, int64_t begin, int64_t end) const {
  thread_local Buffer buffer;
  float *packedA = buffer.get(blockM / tileM * sliverA);
  for (int64_t i = firstM; i < lastM; i += blockM) {
    int64_t rows = std::min(blockM, lastM - i);
    pack<tileM>(a.from(i, firstK), rows, countK, packedA, sliverA);
    for (int64_t sliver = begin; sliver < end; ++sliver) {
      int64_t j = firstN + sliver * tileN;
      for (int64_t row = 0; row < rows; row += tileM)
        multiply(packedA + row / tileM * sliverA, packedB + sliver * sliverB,
                 countK,
                 {c + (i + row) * ldc + j, ldc, std::min(tileM, rows - row),
                  std::min(tileN, n - j), adds});
    }
  }
}

static void runEntry(const MeshcGemm &gemm, const float *a, const float *b,
                     float *c) {
  thread_local Buffer buffer;
  Product product;
  product.a = {a, gemm.transA ? 1 : gemm.lda, gemm.transA ? gemm.lda : 1};
  product.b = {b, gemm.transB ? gemm.ldb : 1, gemm.transB ? 1 : gemm.ldb};
  product.c = c, product.ldc = gemm.ldc;
  product.m = gemm.m, product.n = gemm.n;
  float *packedB = buffer.get(panelN / tileN * sliverB);
  for (int64_t j = 0; j < gemm.n; j += panelN)
    for (int64_t p = 0; p < gemm.k; p += blockK) {
      product.firstK = p;
      product.countK = std::min(blockK, gemm.k - p);
      product.adds = gemm.accumulate || p > 0;
      int64_t slivers = (std::min(panelN, gemm.n - j) + tileN - 1) / tileN;
      parallelFor(slivers, 4, [&](int64_t begin, int64_t end) {
        product.packB(packedB, j, begin, end);
      });
      // Threads share the rows where there are enough, else the columns.
      int64_t tiles = (gemm.m + tileM - 1) / tileM;
      if (tiles >= slivers || tiles >= 8 * threads())
        parallelFor(tiles, 4, [&](int64_t begin, int64_t end) {
          product.multiplyRows(packedB, j, begin * tileM,
                               std::min(end * tileM, gemm.m), 0, slivers);
        });
      else
        parallelFor(slivers, 2, [&](int64_t begin, int64_t end) {
          product.multiplyRows(packedB, j, 0, gemm.m, begin, end);
        });
    }
}

static bool canRun(const MeshcGemm &gemm) {
  return gemm.type == MESHC_F32 && gemm.typeC == MESHC_F32 &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool runPacked(const MeshcGemm &gemm, const void *a, const void *b,
                      void *c) {
  if (!canRun(gemm))
    return false;
  for (int64_t entry = 0; entry < gemm.batch; ++entry)
    runEntry(gemm, static_cast<const float *>(a) + entry * gemm.strideA,
             static_cast<const float *>(b) + entry * gemm.strideB,
             static_cast<float *>(c) + entry * gemm.strideC);
  return true;
}

/// Not the thin ones, of which packing is too large a part.
static bool suitsPacked(const MeshcGemm &gemm) {
  return canRun(gemm) && !__builtin_cpu_supports("avx512f") &&
         std::min(gemm.m, gemm.n) >= 128 && std::max(gemm.m, gemm.n) >= 256;
}

const GemmImplementation meshc::runtime::packedImplementation = {
    "packed", suitsPacked, runPacked};
