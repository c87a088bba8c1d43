//===- Packed512Dots.h - dot products in AVX-512 registers -----*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Dot products of a few rows with many, for CPUs with AVX-512: each sum is a
/// vector of 16 partial sums along k, which are added in a fixed order. So a
/// result does not depend on which rows are computed together. Included only by
/// files that are compiled for such CPUs; everything has internal linkage.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_PACKED512DOTS_H
#define MESHC_RUNTIME_BLAS_PACKED512DOTS_H

#include "runtime/Blas/Packed512Kernel.h"

namespace meshc::runtime {
namespace {

/// Lane i of the result is the sum of the lanes of vectors[i].
inline __m512 addLanes(const __m512 vectors[16]) {
  __m512 pairs[8], fours[4], halves[2];
  for (int i = 0; i < 8; ++i)
    pairs[i] =
        _mm512_add_ps(_mm512_unpacklo_ps(vectors[2 * i], vectors[2 * i + 1]),
                      _mm512_unpackhi_ps(vectors[2 * i], vectors[2 * i + 1]));
  for (int i = 0; i < 4; ++i)
    fours[i] =
        _mm512_add_ps(_mm512_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0x44),
                      _mm512_shuffle_ps(pairs[2 * i], pairs[2 * i + 1], 0xee));
  for (int i = 0; i < 2; ++i)
    halves[i] = _mm512_add_ps(
        _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88),
        _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
  return _mm512_add_ps(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                       _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
}

/// The most rows of the thin matrix in a tile, and for each number of them the
/// rows of the large matrix: the sums, a vector of each of these rows and one
/// of the thin matrix fit the registers.
constexpr int maxThinRows = 8;
constexpr int largeRowsOf[maxThinRows + 1] = {0, 8, 8, 7, 6, 5, 4, 3, 3};

/// Adds up to 16 elements of k.
template <typename Arithmetic, bool isMasked, int thin, int large, int room>
inline __attribute__((always_inline)) void
addDots(__m512 (&sums)[room], const ThinSums &dots, const float *rows,
        const char *columns, __mmask16 mask) {
  __m512 vectors[large];
#pragma clang loop unroll(full)
  for (int l = 0; l < large; ++l)
    vectors[l] = Arithmetic::template loadColumns<isMasked>(
        columns + l * dots.largeStride, 0, mask);
#pragma clang loop unroll(full)
  for (int t = 0; t < thin; ++t) {
    const float *row = rows + t * dots.thinStride;
    __m512 value =
        isMasked ? _mm512_maskz_loadu_ps(mask, row) : _mm512_loadu_ps(row);
#pragma clang loop unroll(full)
    for (int l = 0; l < large; ++l)
      sums[t * large + l] =
          _mm512_fmadd_ps(value, vectors[l], sums[t * large + l]);
  }
}

/// Adds all elements of k.
template <typename Arithmetic, int thin, int large, int room>
inline __attribute__((always_inline)) void
addAllDots(__m512 (&sums)[room], const ThinSums &dots, const float *rows,
           const char *columns) {
  int64_t p = 0;
  for (; p + lanes <= dots.depth; p += lanes)
    addDots<Arithmetic, false, thin, large>(
        sums, dots, rows + p, columns + p * Arithmetic::elementBytes, 0xffff);
  if (p < dots.depth)
    addDots<Arithmetic, true, thin, large>(
        sums, dots, rows + p, columns + p * Arithmetic::elementBytes,
        firstLanes(dots.depth - p));
}

/// The dot products of `thin` rows from `t` on with `large` rows from `l` on.
template <typename Arithmetic, int thin, int large>
void multiplyDotTile(const ThinSums &dots, int64_t t, int64_t l) {
  constexpr int room = (thin * large + 15) / 16 * 16;
  __m512 sums[room];
#pragma clang loop unroll(full)
  for (__m512 &sum : sums)
    sum = _mm512_setzero_ps();
  const float *rows = dots.thin + t * dots.thinStride;
  const char *columns = dots.large + l * dots.largeStride;
  if (thin == 1 && dots.rowsAtOnce == 1) {
#pragma clang loop unroll(full)
    for (int row = 0; row < large; ++row) {
      __m512 sum[1] = {sums[row]};
      addAllDots<Arithmetic, 1, 1>(sum, dots, rows,
                                   columns + row * dots.largeStride);
      sums[row] = sum[0];
    }
  } else {
    addAllDots<Arithmetic, thin, large>(sums, dots, rows, columns);
  }
  alignas(64) float results[room];
#pragma clang loop unroll(full)
  for (int i = 0; i < room; i += 16)
    _mm512_store_ps(results + i, addLanes(sums + i));
  for (int i = 0; i < thin; ++i)
    for (int j = 0; j < large; ++j) {
      float &c = dots.c[(t + i) * dots.thinStep + (l + j) * dots.largeStep];
      c = results[i * large + j] + (dots.adds ? c : 0.0f);
    }
}

/// The dot products of `thin` rows from `t` on with the large rows from `begin`
/// to `end`.
template <typename Arithmetic, int thin>
void multiplyThinRows(const ThinSums &dots, int64_t t, int64_t begin,
                      int64_t end) {
  constexpr int large = largeRowsOf[thin];
  for (; begin + large <= end; begin += large)
    multiplyDotTile<Arithmetic, thin, large>(dots, t, begin);
  for (; begin < end; ++begin)
    multiplyDotTile<Arithmetic, thin, 1>(dots, t, begin);
}

template <typename Arithmetic, int... numbers>
void multiplyDotsBy(const ThinSums &dots,
                    std::integer_sequence<int, numbers...>) {
  static constexpr void (*functions[])(const ThinSums &, int64_t, int64_t,
                                       int64_t) = {
      multiplyThinRows<Arithmetic, numbers + 1>...};
  int64_t parts = (dots.thinRows + maxThinRows - 1) / maxThinRows;
  // All parts use a tile's large rows before the next ones are loaded.
  int64_t tallest = (dots.thinRows + parts - 1) / parts;
  int64_t step = parts > 1 ? largeRowsOf[tallest] : dots.largeRows;
  for (int64_t l = 0; l < dots.largeRows; l += step) {
    int64_t end = l + step < dots.largeRows ? l + step : dots.largeRows;
    for (int64_t part = 0; part < parts; ++part) {
      int64_t begin = dots.thinRows * part / parts;
      int64_t rows = dots.thinRows * (part + 1) / parts - begin;
      functions[rows - 1](dots, begin, l, end);
    }
  }
}

template <typename Arithmetic> void multiplyDots(const ThinSums &dots) {
  multiplyDotsBy<Arithmetic>(dots,
                             std::make_integer_sequence<int, maxThinRows>());
}

} // namespace
} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_PACKED512DOTS_H
