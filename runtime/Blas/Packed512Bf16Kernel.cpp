//===- Packed512Bf16Kernel.cpp - products of bf16 matrices ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Blas/Packed512Dots.h"
#include "runtime/Blas/Packed512Kernel.h"
#include "runtime/Blas/ThinAvx2.h"

using namespace meshc::runtime;

namespace {

/// A unit of k is two elements: one instruction multiplies and adds both.
struct Bf16Pairs {
  static constexpr int64_t elements = 2;

  static __mmask32 firstElements(int64_t count) {
    return count >= 32 ? 0xffffffffu : count <= 0 ? 0 : (1u << count) - 1;
  }
  static __m512 loadAlong(const PackedOperand &from, int64_t i, int64_t p,
                          int64_t count) {
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(
        firstElements(count - p), from.from(i, p).data));
  }
  /// Sixteen elements at element `p` of k, each in the low half of a unit.
  static __m512i loadRow(const PackedOperand &from, int64_t i, int64_t width,
                         int64_t p) {
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(firstLanes(width), from.from(i, p).data));
  }
  static __m512 loadAcross(const PackedOperand &from, int64_t i, int64_t width,
                           int64_t p, int64_t count) {
    __m512i units = loadRow(from, i, width, p);
    if (p + 1 < count)
      units = _mm512_or_si512(
          units, _mm512_slli_epi32(loadRow(from, i, width, p + 1), 16));
    return _mm512_castsi512_ps(units);
  }
  template <bool isMasked>
  static __m512 loadColumns(const char *b, int v, __mmask16) {
    return _mm512_loadu_ps(reinterpret_cast<const float *>(b) + v * lanes);
  }
  static __m512 multiplyAdd(__m512 sum, __m512 a, __m512 b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
};

/// The f32 value of a bf16 number has the same bits, followed by zeros.
inline __m512 widen(__m256i elements) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(elements), 16));
}

/// A unit of k is one element, converted to f32.
struct Bf16AsF32 {
  static constexpr int64_t elements = 1, elementBytes = 2;

  static __m512 loadAlong(const PackedOperand &from, int64_t i, int64_t p,
                          int64_t count) {
    return widen(
        _mm256_maskz_loadu_epi16(firstLanes(count - p), from.from(i, p).data));
  }
  static __m512 loadAcross(const PackedOperand &from, int64_t i, int64_t width,
                           int64_t p, int64_t) {
    return widen(
        _mm256_maskz_loadu_epi16(firstLanes(width), from.from(i, p).data));
  }
  static __m512 multiplyAdd(__m512 sum, __m512 a, __m512 b) {
    return _mm512_fmadd_ps(a, b, sum);
  }
};

/// The same from packed slivers of B.
struct Bf16Packed : Bf16AsF32 {
  template <bool isMasked>
  static __m512 loadColumns(const char *b, int v, __mmask16) {
    return _mm512_loadu_ps(reinterpret_cast<const float *>(b) + v * lanes);
  }
};

/// The same from columns of B as they lie.
struct Bf16AsItLies : Bf16AsF32 {
  template <bool isMasked>
  static __m512 loadColumns(const char *b, int v, __mmask16 mask) {
    const char *from = b + 2 * v * lanes;
    return widen(
        isMasked ? _mm256_maskz_loadu_epi16(mask, from)
                 : _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from)));
  }
};

void multiplyWidened(const TileProduct &strip) {
  if (strip.packedB)
    multiplySlivers<Bf16Packed>(strip);
  else
    multiplySlivers<Bf16AsItLies>(strip);
}

} // namespace

const PackedKernel &meshc::runtime::avx512WidenedKernel() {
  static constexpr PackedKernel kernel = {maxTileRows,
                                          tileColumns,
                                          lanes,
                                          MESHC_AVX512_ROWS,
                                          MESHC_AVX512_COLUMNS,
                                          MESHC_AVX512_DEPTH,
                                          Bf16AsF32::elements,
                                          /*elementBytes=*/2,
                                          /*anyRows=*/true,
                                          /*readsA=*/false,
                                          /*readsB=*/true,
                                          /*takesStrips=*/true,
                                          packRows<Bf16AsF32>,
                                          packColumns<Bf16AsF32>,
                                          multiplyWidened,
                                          multiplyDots<Bf16AsItLies>,
                                          /*lanesCost=*/64,
                                          multiplyAcrossBf16Avx2};
  return kernel;
}

const PackedKernel &meshc::runtime::avx512Bf16Kernel() {
  static constexpr PackedKernel kernel = {maxTileRows,
                                          tileColumns,
                                          lanes,
                                          MESHC_AVX512_ROWS,
                                          MESHC_AVX512_COLUMNS,
                                          MESHC_AVX512_DEPTH,
                                          Bf16Pairs::elements,
                                          /*elementBytes=*/2,
                                          /*anyRows=*/true,
                                          /*readsA=*/false,
                                          /*readsB=*/false,
                                          /*takesStrips=*/true,
                                          packRows<Bf16Pairs>,
                                          packColumns<Bf16Pairs>,
                                          multiplySlivers<Bf16Pairs>,
                                          multiplyDots<Bf16AsItLies>,
                                          /*lanesCost=*/64,
                                          multiplyAcrossBf16Avx2};
  return kernel;
}
