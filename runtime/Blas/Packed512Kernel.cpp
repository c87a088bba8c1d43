//===- Packed512Kernel.cpp - f32 sums in AVX-512 registers ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Packed512Kernel.h"
#include "runtime/Blas/Packed512Dots.h"
#include "runtime/Blas/ThinAvx2.h"

#include "meshc/GemmScratch.h"

using namespace meshc::runtime;

namespace {

struct F32 {
  static constexpr int64_t elements = 1, elementBytes = 4;

  /// Units of row `i` from element `p` of k on, zeros from `count` on.
  static __m512 loadAlong(const PackedOperand &from, int64_t i, int64_t p,
                          int64_t count) {
    return _mm512_maskz_loadu_ps(firstLanes(count - p), from.from(i, p).data);
  }
  /// A unit of each of `width` rows from row `i` on, at element `p` of k.
  static __m512 loadAcross(const PackedOperand &from, int64_t i, int64_t width,
                           int64_t p, int64_t) {
    return _mm512_maskz_loadu_ps(firstLanes(width), from.from(i, p).data);
  }
  /// Vector `v` of the columns of B at `b`; isMasked: the lanes of `mask` only.
  template <bool isMasked>
  static __m512 loadColumns(const char *b, int v, __mmask16 mask) {
    const float *from = reinterpret_cast<const float *>(b) + v * lanes;
    return isMasked ? _mm512_maskz_loadu_ps(mask, from) : _mm512_loadu_ps(from);
  }
  static __m512 multiplyAdd(__m512 sum, __m512 a, __m512 b) {
    return _mm512_fmadd_ps(a, b, sum);
  }
};

} // namespace

const PackedKernel &meshc::runtime::avx512Kernel() {
  static constexpr PackedKernel kernel = {
      maxTileRows,          tileColumns,          lanes,
      MESHC_AVX512_ROWS,    MESHC_AVX512_COLUMNS, MESHC_AVX512_DEPTH,
      F32::elements,
      /*elementBytes=*/4,
      /*anyRows=*/true,
      /*readsA=*/true,
      /*readsB=*/true,
      /*takesStrips=*/true, packRows<F32>,        packColumns<F32>,
      multiply<F32>,        multiplyDots<F32>,
      /*lanesCost=*/64,     multiplyAcrossAvx2};
  return kernel;
}
