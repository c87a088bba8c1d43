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
/// of PackedProduct.h: a panel of B is packed for the third-level cache, blocks
/// of A for the second level, and a kernel keeps 6 × 16 sums in registers.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Blas/PackedProduct.h"
#include "runtime/Blas/ThinAvx2.h"

#include <algorithm>
#include <cstring>
#include <immintrin.h>
#include <utility>

using namespace meshc::runtime;

namespace {

constexpr int64_t tileM = 6, tileN = 16; ///< sums in registers
constexpr int64_t blockM = MESHC_AVX2_ROWS, blockK = MESHC_AVX2_DEPTH;

const float *dataOf(const PackedOperand &operand) {
  return reinterpret_cast<const float *>(operand.data);
}

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
MESHC_AVX2 void packAlong(const PackedOperand &from, int64_t width,
                          int64_t count, float *target) {
  alignas(32) static const float zeros[blockK + 8] = {};
  for (int64_t group = 0; group < tile; group += 8) {
    const float *rows[8];
    for (int64_t i = 0; i < 8; ++i)
      rows[i] =
          group + i < width ? dataOf(from) + (group + i) * from.across : zeros;
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
MESHC_AVX2 void packAcross(const PackedOperand &from, int64_t width,
                           int64_t count, float *target, int64_t stride) {
  int64_t whole = width / tile, rest = width % tile;
  for (int64_t p = 0; p < count; ++p) {
    const float *row = dataOf(from) + p * from.along;
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
MESHC_AVX2 void pack(const PackedOperand &from, int64_t width, int64_t count,
                     float *target, int64_t stride) {
  if (from.across == 1)
    return packAcross<tile>(from, width, count, target, stride);
  for (int64_t i = 0; i < width; i += tile, target += stride)
    packAlong<tile>(from.from(i, 0), std::min(tile, width - i), count, target);
}

MESHC_AVX2 inline void storeRow(float *c, __m256 low, __m256 high, bool adds) {
  if (adds) {
    low = _mm256_add_ps(low, _mm256_loadu_ps(c));
    high = _mm256_add_ps(high, _mm256_loadu_ps(c + 8));
  }
  _mm256_storeu_ps(c, low);
  _mm256_storeu_ps(c + 8, high);
}

/// How the rows of A are read.
enum class Form {
  Slivers, ///< packed: all rows of one unit of k lie together, `tileM` apart
  Units,   ///< the same, with other steps along k
  Rows     ///< each row lies along k
};

template <int rows> using Sums = __m256[rows][2];

/// Adds one unit of k. `low` points to the first three rows of A, `high` to the
/// others: the processor computes the addresses of the second and third.
template <int rows>
MESHC_AVX2 inline __attribute__((always_inline)) void
addUnit(Sums<rows> &sums, const float *low, const float *high, int64_t across,
        const float *b) {
  __m256 left = _mm256_load_ps(b), right = _mm256_load_ps(b + 8);
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < rows; ++i) {
    __m256 value = _mm256_broadcast_ss((i < 3 ? low : high) + i % 3 * across);
    sums[i][0] = _mm256_fmadd_ps(value, left, sums[i][0]);
    sums[i][1] = _mm256_fmadd_ps(value, right, sums[i][1]);
  }
}

/// The sums of a tile whose rows of A lie together for each unit of k.
template <Form form, int rows>
MESHC_AVX2 inline __attribute__((always_inline)) void
addUnits(Sums<rows> &sums, const TileProduct &tile) {
  const int64_t along = form == Form::Slivers ? tileM : tile.alongA;
  const float *a = tile.a, *b = reinterpret_cast<const float *>(tile.b);
#pragma clang loop unroll_count(4)
  for (int64_t p = 0; p < tile.depth; ++p, a += along, b += tileN)
    addUnit<rows>(sums, a, a + 3, 1, b);
}

/// The sums of a tile whose rows of A lie along k. Unrolled, the loop would
/// load columns of B ahead, for which there are no registers.
template <int rows>
MESHC_AVX2 inline __attribute__((always_inline)) void
addRows(Sums<rows> &sums, const TileProduct &tile) {
  const int64_t across = tile.acrossA;
  const float *low = tile.a, *high = low + 3 * across;
  const float *b = reinterpret_cast<const float *>(tile.b);
#pragma clang loop unroll(disable)
  for (int64_t p = 0; p < tile.depth; ++p, ++low, ++high, b += tileN) {
    // Hides from the compiler that one pointer follows from the other: it would
    // compute the address of each row.
    asm("" : "+r"(low), "+r"(high));
    addUnit<rows>(sums, low, high, across, b);
  }
}

/// A tile of `rows` × 16 sums. C may have fewer columns.
template <Form form, int rows>
MESHC_AVX2 void multiplyTile(const TileProduct &tile) {
  Sums<rows> sums;
  for (auto &row : sums)
    row[0] = row[1] = _mm256_setzero_ps();
  for (int64_t i = 0; i < rows; ++i) // the kernel ends with these lines
    _mm_prefetch(reinterpret_cast<const char *>(tile.c + i * tile.rowStride),
                 _MM_HINT_T0);
  if constexpr (form == Form::Rows)
    addRows<rows>(sums, tile);
  else
    addUnits<form, rows>(sums, tile);
  if (tile.columns == tileN) {
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < rows; ++i)
      storeRow(tile.c + i * tile.rowStride, sums[i][0], sums[i][1], tile.adds);
    return;
  }
  alignas(32) float rest[rows * tileN];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < rows; ++i)
    storeRow(rest + i * tileN, sums[i][0], sums[i][1], false);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      float &c = tile.c[i * tile.rowStride + j];
      c = rest[i * tileN + j] + (tile.adds ? c : 0.0f);
    }
}

template <Form form, int... numbers>
void multiplyForm(const TileProduct &tile,
                  std::integer_sequence<int, numbers...>) {
  static constexpr void (*functions[])(const TileProduct &) = {
      multiplyTile<form, numbers + 1>...};
  functions[tile.rows - 1](tile);
}

/// Columns of B come packed.
void multiply(const TileProduct &tile) {
  std::make_integer_sequence<int, tileM> all;
  if (tile.acrossA != 1)
    multiplyForm<Form::Rows>(tile, all);
  else if (tile.alongA == tileM)
    multiplyForm<Form::Slivers>(tile, all);
  else
    multiplyForm<Form::Units>(tile, all);
}

void packRows(const PackedOperand &from, int64_t width, int64_t count, int64_t,
              float *target, int64_t stride) {
  pack<tileM>(from, width, count, target, stride);
}

} // namespace

const PackedKernel &meshc::runtime::avx2Kernel() {
  static constexpr PackedKernel kernel = {tileM,
                                          tileN,
                                          /*sliverRows=*/tileM,
                                          blockM,
                                          MESHC_AVX2_COLUMNS,
                                          blockK,
                                          /*unitElements=*/1,
                                          /*elementBytes=*/4,
                                          /*anyRows=*/false,
                                          /*readsA=*/true,
                                          /*readsB=*/false,
                                          /*takesStrips=*/false,
                                          packRows,
                                          pack<tileN>,
                                          multiply,
                                          multiplyDotsAvx2,
                                          /*lanesCost=*/24,
                                          multiplyAcrossAvx2};
  return kernel;
}

static bool runPacked(const MeshcGemm &gemm, const void *a, const void *b,
                      void *c, const GemmScratch &scratch) {
  return usesAvx2() && runPackedProduct(avx2Kernel(), gemm, a, b,
                                        static_cast<float *>(c), scratch);
}

/// Large products, and those of a thin matrix that the kernel reads without
/// packing. For others, packing takes too large a share.
static bool suitsPacked(const MeshcGemm &gemm) {
  if (!usesAvx2() || usesAvx512())
    return false;
  bool isLarge =
      std::min(gemm.m, gemm.n) >= 128 && std::max(gemm.m, gemm.n) >= 256;
  return isLarge || suitsThinProduct(avx2Kernel(), gemm);
}

const GemmImplementation meshc::runtime::packedImplementation = {suitsPacked,
                                                                 runPacked};
