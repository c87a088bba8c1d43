//===- ThinAvx2.cpp - sums with few rows, in AVX2 registers ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/ThinAvx2.h"

#include <algorithm>
#include <immintrin.h>

using namespace meshc::runtime;

namespace {

constexpr int64_t lanes = 8;
/// The most rows of the thin matrix in a tile.
constexpr int maxThin = 4;

/// A mask of the first `count` ≤ 8 lanes.
MESHC_AVX2 inline __m256i firstLanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

MESHC_AVX2 inline float addLanes(__m256 sum) {
  __m128 half =
      _mm_add_ps(_mm256_castps256_ps128(sum), _mm256_extractf128_ps(sum, 1));
  half = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(half, _mm_movehdup_ps(half)));
}

/// For each number of thin rows, the large rows of a tile of dot products: the
/// sums, a vector of each thin row and one more fit the 16 registers.
constexpr int largeRowsOf[maxThin + 1] = {0, 8, 6, 4, 2};

/// Adds up to 8 elements of k. `mask` has those of the last, partial vector.
template <bool isMasked, int thin, int large>
MESHC_AVX2 inline __attribute__((always_inline)) void
addDots(__m256 (&results)[thin][large], const ThinSums &sums, const float *rows,
        const char *columns, __m256i mask) {
  auto load = [mask](const float *from) MESHC_AVX2 {
    return isMasked ? _mm256_maskload_ps(from, mask) : _mm256_loadu_ps(from);
  };
  __m256 values[thin];
#pragma clang loop unroll(full)
  for (int t = 0; t < thin; ++t)
    values[t] = load(rows + t * sums.thinStride);
#pragma clang loop unroll(full)
  for (int l = 0; l < large; ++l) {
    __m256 vector =
        load(reinterpret_cast<const float *>(columns + l * sums.largeStride));
#pragma clang loop unroll(full)
    for (int t = 0; t < thin; ++t)
      results[t][l] = _mm256_fmadd_ps(values[t], vector, results[t][l]);
  }
}

/// The dot products of `thin` rows from `t` on with `large` rows from `l` on.
template <int thin, int large>
MESHC_AVX2 void multiplyDotTile(const ThinSums &sums, int64_t t, int64_t l) {
  __m256 results[thin][large];
#pragma clang loop unroll(full)
  for (auto &row : results)
#pragma clang loop unroll(full)
    for (__m256 &sum : row)
      sum = _mm256_setzero_ps();
  const float *rows = sums.thin + t * sums.thinStride;
  const char *columns = sums.large + l * sums.largeStride;
  int64_t p = 0;
  for (; p + lanes <= sums.depth; p += lanes)
    addDots<false>(results, sums, rows + p, columns + p * sizeof(float),
                   _mm256_setzero_si256());
  if (p < sums.depth)
    addDots<true>(results, sums, rows + p, columns + p * sizeof(float),
                  firstLanes(sums.depth - p));
#pragma clang loop unroll(full)
  for (int i = 0; i < thin; ++i)
#pragma clang loop unroll(full)
    for (int j = 0; j < large; ++j) {
      float &c = sums.c[(t + i) * sums.thinStep + (l + j) * sums.largeStep];
      c = addLanes(results[i][j]) + (sums.adds ? c : 0.0f);
    }
}

template <int thin>
MESHC_AVX2 void multiplyDotRows(const ThinSums &sums, int64_t t, int64_t begin,
                                int64_t end) {
  constexpr int large = largeRowsOf[thin];
  bool oneByOne = sums.rowsAtOnce == 1;
  for (; !oneByOne && begin + large <= end; begin += large)
    multiplyDotTile<thin, large>(sums, t, begin);
  for (; begin < end; ++begin)
    multiplyDotTile<thin, 1>(sums, t, begin);
}

/// For each number of thin rows, the vectors of C in a tile: the sums, one
/// vector of the large matrix and one factor fit the 16 registers.
constexpr int vectorsOf[maxThin + 1] = {0, 8, 6, 4, 3};

/// Elements of the large matrix: 8 of a row, or its last ones.
struct F32 {
  static constexpr int64_t bytes = 4;
  MESHC_AVX2 static __m256 load(const char *from) {
    return _mm256_loadu_ps(reinterpret_cast<const float *>(from));
  }
  MESHC_AVX2 static __m256 loadFirst(const char *from, int64_t count) {
    return _mm256_maskload_ps(reinterpret_cast<const float *>(from),
                              firstLanes(count));
  }
};
/// The f32 value of a bf16 number has the same bits, followed by zeros.
struct Bf16 {
  static constexpr int64_t bytes = 2;
  MESHC_AVX2 static __m256 load(const char *from) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(
                              reinterpret_cast<const __m128i *>(from))),
                          16));
  }
  MESHC_AVX2 static __m256 loadFirst(const char *from, int64_t count) {
    alignas(16) char elements[16] = {};
    __builtin_memcpy(elements, from, static_cast<size_t>(count * bytes));
    return load(elements);
  }
};

/// Adds the rows of the large matrix from `p` on, `count` of them, times the
/// elements of the `thin` rows, to C at columns `l` and following; in the last,
/// partial vector to `columns` of them.
template <typename Element, bool isPartial, int thin, int vectors>
MESHC_AVX2 inline __attribute__((always_inline)) void
addRows(const ThinSums &sums, int64_t l, int64_t p, int64_t count,
        int64_t columns = lanes) {
  const __m256i mask = firstLanes(columns);
  float *c = sums.c + l;
  __m256 results[thin][vectors];
  bool adds = sums.adds || p > 0;
#pragma clang loop unroll(full)
  for (int i = 0; i < thin; ++i)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v)
      results[i][v] = !adds ? _mm256_setzero_ps()
                      : isPartial
                          ? _mm256_maskload_ps(c + i * sums.thinStep, mask)
                          : _mm256_loadu_ps(c + i * sums.thinStep + v * lanes);
  const float *factors = sums.thin + p;
  const char *row = sums.large + l * Element::bytes + p * sums.alongStride;
  for (int64_t q = 0; q < count; ++q, row += sums.alongStride) {
    __m256 values[thin];
#pragma clang loop unroll(full)
    for (int i = 0; i < thin; ++i)
      values[i] = _mm256_broadcast_ss(factors + i * sums.thinStride + q);
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      __m256 vector = isPartial
                          ? Element::loadFirst(row, columns)
                          : Element::load(row + v * lanes * Element::bytes);
#pragma clang loop unroll(full)
      for (int i = 0; i < thin; ++i)
        results[i][v] = _mm256_fmadd_ps(values[i], vector, results[i][v]);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < thin; ++i)
#pragma clang loop unroll(full)
    for (int v = 0; v < vectors; ++v) {
      float *to = c + i * sums.thinStep + v * lanes;
      if (isPartial)
        _mm256_maskstore_ps(to, mask, results[i][v]);
      else
        _mm256_storeu_ps(to, results[i][v]);
    }
}

/// All columns, and all of k.
template <typename Element, int thin>
MESHC_AVX2 void addAllRows(const ThinSums &sums) {
  constexpr int vectors = vectorsOf[thin];
  const int64_t end = sums.largeRows;
  for (int64_t p = 0; p < sums.depth; p += sums.rowsAtOnce) {
    int64_t count = std::min(sums.rowsAtOnce, sums.depth - p), l = 0;
    for (; l + vectors * lanes <= end; l += vectors * lanes)
      addRows<Element, false, thin, vectors>(sums, l, p, count);
    for (; l + lanes <= end; l += lanes)
      addRows<Element, false, thin, 1>(sums, l, p, count);
    if (l < end)
      addRows<Element, true, thin, 1>(sums, l, p, count, end - l);
  }
}

} // namespace

void meshc::runtime::multiplyDotsAvx2(const ThinSums &sums) {
  static constexpr void (*functions[])(const ThinSums &, int64_t, int64_t,
                                       int64_t) = {
      multiplyDotRows<1>, multiplyDotRows<2>, multiplyDotRows<3>,
      multiplyDotRows<4>};
  // Parts of the thin rows, nearly equal, use a few large rows before the next
  // ones are loaded.
  int64_t parts = (sums.thinRows + maxThin - 1) / maxThin;
  int64_t step = parts > 1 ? largeRowsOf[2] : sums.largeRows;
  for (int64_t l = 0; l < sums.largeRows; l += step)
    for (int64_t part = 0; part < parts; ++part) {
      int64_t begin = sums.thinRows * part / parts;
      int64_t rows = sums.thinRows * (part + 1) / parts - begin;
      functions[rows - 1](sums, begin, l, std::min(l + step, sums.largeRows));
    }
}

template <typename Element> static void multiplyAcross(const ThinSums &sums) {
  static constexpr void (*functions[])(const ThinSums &) = {
      addAllRows<Element, 1>, addAllRows<Element, 2>, addAllRows<Element, 3>,
      addAllRows<Element, 4>};
  functions[sums.thinRows - 1](sums);
}

void meshc::runtime::multiplyAcrossAvx2(const ThinSums &sums) {
  multiplyAcross<F32>(sums);
}

void meshc::runtime::multiplyAcrossBf16Avx2(const ThinSums &sums) {
  multiplyAcross<Bf16>(sums);
}
