//===- Packed512Kernel.h - tiles of sums in AVX-512 registers --*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Packing and the innermost loop of products on CPUs with AVX-512: up to
/// 14 × 32 sums in registers, which leaves room for two vectors of B and one
/// element of A. Included only by files that are compiled for such CPUs, so
/// everything has internal linkage: no function may replace one that the rest
/// of the program uses.
///
/// `Arithmetic` says what a unit of k (4 bytes) is: how units are loaded for
/// packing, how columns of B are loaded as they lie, and how two units are
/// multiplied and added to a sum.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_PACKED512KERNEL_H
#define MESHC_RUNTIME_BLAS_PACKED512KERNEL_H

#include "runtime/Blas/PackedProduct.h"

#include <immintrin.h>
#include <utility>

namespace meshc::runtime {
namespace {

constexpr int64_t maxTileRows = 14, tileColumns = 32, lanes = 16;

/// The first `count` lanes; none below 1, all from 16 on.
inline __mmask16 firstLanes(int64_t count) {
  return count >= lanes ? 0xffff : count <= 0 ? 0 : (1u << count) - 1;
}

/// Transposes a 16 × 16 block of units in place.
inline void transpose(__m512 rows[16]) {
  __m512 s[16];
  for (int i = 0; i < 16; i += 2) {
    s[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    s[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  // Lane group L of rows[4g + q] becomes column 4L + q of rows 4g to 4g + 3.
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_shuffle_ps(s[i], s[i + 2], 0x44);
    rows[i + 1] = _mm512_shuffle_ps(s[i], s[i + 2], 0xee);
    rows[i + 2] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    rows[i + 3] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int q = 0; q < 4; ++q) {
    s[q] = _mm512_shuffle_f32x4(rows[q], rows[4 + q], 0x88);
    s[4 + q] = _mm512_shuffle_f32x4(rows[q], rows[4 + q], 0xdd);
    s[8 + q] = _mm512_shuffle_f32x4(rows[8 + q], rows[12 + q], 0x88);
    s[12 + q] = _mm512_shuffle_f32x4(rows[8 + q], rows[12 + q], 0xdd);
  }
  for (int q = 0; q < 4; ++q) {
    rows[q] = _mm512_shuffle_f32x4(s[q], s[8 + q], 0x88);
    rows[4 + q] = _mm512_shuffle_f32x4(s[4 + q], s[12 + q], 0x88);
    rows[8 + q] = _mm512_shuffle_f32x4(s[q], s[8 + q], 0xdd);
    rows[12 + q] = _mm512_shuffle_f32x4(s[4 + q], s[12 + q], 0xdd);
  }
}

/// Packs a block of 16 rows and 16 units of k, from row `first` and element `p`
/// on. Only `there` of the rows exist, and only `count` elements of k; the rest
/// is 0. isWhole: the whole block exists.
template <typename Arithmetic, bool isWhole>
inline __attribute__((always_inline)) void
packBlockAlong(const PackedOperand &from, int64_t first, int64_t there,
               int64_t p, int64_t count, int64_t tile, float *to) {
  __m512 units[16];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < lanes; ++i)
    units[i] = isWhole || i < there
                   ? Arithmetic::loadAlong(from, first + i, p, count)
                   : _mm512_setzero_ps();
  transpose(units);
  int64_t rest = (count - p + Arithmetic::elements - 1) / Arithmetic::elements;
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < lanes; ++i)
    if (isWhole || i < rest)
      _mm512_storeu_ps(to + i * tile, units[i]);
}

/// Packs slivers of `rows` rows of an operand that is contiguous along k, in
/// `tile` units for each of k, a multiple of 16.
template <typename Arithmetic>
void packAlong(const PackedOperand &from, int64_t width, int64_t count,
               int64_t rows, int64_t tile, float *target, int64_t stride) {
  constexpr int64_t group = lanes * Arithmetic::elements;
  for (int64_t first = 0; first < width; first += rows, target += stride)
    for (int64_t chunk = 0; chunk < tile; chunk += lanes) {
      int64_t there = (width - first < rows ? width - first : rows) - chunk;
      for (int64_t p = 0; p < count; p += group) {
        float *to = target + p / Arithmetic::elements * tile + chunk;
        if (there >= lanes && count - p >= group)
          packBlockAlong<Arithmetic, true>(from, first + chunk, there, p, count,
                                           tile, to);
        else
          packBlockAlong<Arithmetic, false>(from, first + chunk, there, p,
                                            count, tile, to);
      }
    }
}

/// Packs slivers of an operand that is contiguous across, `atOnce` units of k
/// after the other: loads of one and stores of the other lie together.
template <typename Arithmetic, int64_t atOnce>
inline __attribute__((always_inline)) void
packUnits(const PackedOperand &from, int64_t width, int64_t p, int64_t count,
          int64_t rows, int64_t tile, float *target, int64_t stride) {
  for (int64_t first = 0; first < width; first += rows, target += stride)
    for (int64_t chunk = 0; chunk < tile; chunk += lanes) {
      int64_t rest = (width - first < rows ? width - first : rows) - chunk;
      __m512 units[atOnce];
#pragma clang loop unroll(full)
      for (int64_t q = 0; q < atOnce; ++q)
        units[q] = Arithmetic::loadAcross(from, first + chunk, rest,
                                          p + q * Arithmetic::elements, count);
#pragma clang loop unroll(full)
      for (int64_t q = 0; q < atOnce; ++q)
        _mm512_storeu_ps(target + q * tile + chunk, units[q]);
    }
}

template <typename Arithmetic>
void packAcross(const PackedOperand &from, int64_t width, int64_t count,
                int64_t rows, int64_t tile, float *target, int64_t stride) {
  constexpr int64_t atOnce = 8, step = atOnce * Arithmetic::elements;
  int64_t p = 0;
  for (; p + step <= count; p += step, target += atOnce * tile)
    packUnits<Arithmetic, atOnce>(from, width, p, count, rows, tile, target,
                                  stride);
  for (; p < count; p += Arithmetic::elements, target += tile)
    packUnits<Arithmetic, 1>(from, width, p, count, rows, tile, target, stride);
}

template <typename Arithmetic>
void packSlivers(const PackedOperand &from, int64_t width, int64_t count,
                 int64_t rows, int64_t tile, float *target, int64_t stride) {
  if (from.across == 1)
    packAcross<Arithmetic>(from, width, count, rows, tile, target, stride);
  else
    packAlong<Arithmetic>(from, width, count, rows, tile, target, stride);
}

template <typename Arithmetic>
void packRows(const PackedOperand &from, int64_t width, int64_t count,
              int64_t rows, float *target, int64_t stride) {
  packSlivers<Arithmetic>(from, width, count, rows, lanes, target, stride);
}

template <typename Arithmetic>
void packColumns(const PackedOperand &from, int64_t width, int64_t count,
                 float *target, int64_t stride) {
  packSlivers<Arithmetic>(from, width, count, tileColumns, tileColumns, target,
                          stride);
}

/// Writes a tile whose columns are not contiguous in C, from rows of `width`
/// sums.
__attribute__((noinline)) void
storeScattered(const TileProduct &tile, const float *sums, int64_t width) {
  int64_t columns = tile.columns < width ? tile.columns : width;
#pragma clang loop vectorize(disable) unroll(disable)
  for (int64_t j = 0; j < columns; ++j)
#pragma clang loop vectorize(disable) unroll(disable)
    for (int64_t i = 0; i < tile.rows; ++i) {
      float &c = tile.c[i * tile.rowStride + j * tile.columnStride];
      c = sums[i * width + j] + (tile.adds ? c : 0.0f);
    }
}

/// How the rows of A are read.
enum class Form {
  Units, ///< all rows of one unit of k lie together; so in slivers
  Rows   ///< each row lies along k
};

/// Fetches cache lines ahead of their use, `lines` of them from `bytes` beyond
/// `from` on. Addresses behind a matrix do no harm.
template <int lines>
inline __attribute__((always_inline)) void fetch(const void *from,
                                                 int64_t bytes) {
  auto address =
      reinterpret_cast<uintptr_t>(from) + static_cast<uintptr_t>(bytes);
#pragma clang loop unroll(full)
  for (int i = 0; i < lines; ++i)
    _mm_prefetch(reinterpret_cast<const char *>(address + i * 64u),
                 _MM_HINT_T0);
}

/// How many units of k ahead: 900 cycles of sums, some accesses to memory.
constexpr int64_t fetchedUnits = 32;

/// Fetches columns of B some units of k before they are used: the processor
/// does not foresee a walk along k with long steps.
template <int vectors>
inline __attribute__((always_inline)) void fetchUnit(const TileProduct &tile,
                                                     const char *b) {
  fetch<vectors>(b, fetchedUnits * tile.alongB);
}

/// Fetches a row of the tile of C, where the sums go in the end. One row at a
/// time: while the fetches of a whole tile are under way, B waits.
template <int rows, int vectors>
inline __attribute__((always_inline)) void fetchRowOfC(const TileProduct &tile,
                                                       int64_t row) {
  fetch<vectors>(tile.c, (row < rows ? row : rows - 1) * tile.rowStride * 4);
}

/// Fetches the rows of A that the next strip reads along k: 16 rows, four of
/// them every four units of k, so that each line is fetched once.
template <int rows>
inline __attribute__((always_inline)) void
fetchNextStrip(const TileProduct &tile, int64_t p) {
  const int64_t row = rows + p % 16, unit = p / 16 * 16;
#pragma clang loop unroll(full)
  for (int i = 0; i < 4; ++i)
    fetch<1>(tile.a, ((row + i) * tile.acrossA + unit) * 4);
}

template <int rows, int vectors> using Sums = __m512[rows][vectors];

/// Adds one unit of k. `a(i)` is row i's element.
template <typename Arithmetic, bool isMasked, int rows, int vectors,
          typename Row>
inline __attribute__((always_inline)) void
addUnit(Sums<rows, vectors> &sums, const char *b,
        const __mmask16 (&masks)[vectors], const Row &a) {
  __m512 columns[vectors];
  for (int v = 0; v < vectors; ++v)
    columns[v] = Arithmetic::template loadColumns<isMasked>(b, v, masks[v]);
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i) {
    __m512 value = _mm512_set1_ps(a(i));
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = Arithmetic::multiplyAdd(sums[i][v], value, columns[v]);
  }
}

/// The sums of a tile whose rows of A lie together for each unit of k.
template <typename Arithmetic, bool isMasked, bool isFirst, int rows,
          int vectors>
inline __attribute__((always_inline)) void
addUnits(Sums<rows, vectors> &sums, const TileProduct &tile,
         const __mmask16 (&masks)[vectors]) {
  const float *a = tile.a;
  const char *b = tile.b;
#pragma clang loop unroll_count(2)
  for (int64_t p = 0; p < tile.depth; ++p, a += tile.alongA, b += tile.alongB) {
    fetchRowOfC<rows, vectors>(tile, p);
    fetchUnit<vectors>(tile, b);
    if (isFirst) {
      fetch<1>(a, fetchedUnits * tile.alongA * 4);
      fetch<1>(a + rows - 1, fetchedUnits * tile.alongA * 4);
    }
    addUnit<Arithmetic, isMasked, rows, vectors>(sums, b, masks,
                                                 [&](int i) { return a[i]; });
  }
}

/// The sums of a tile whose rows of A lie along k. One pointer for three rows:
/// the processor computes the other two addresses. isFirst: the first tile of a
/// strip.
template <typename Arithmetic, bool isMasked, bool isFirst, int rows,
          int vectors>
inline __attribute__((always_inline)) void
addRows(Sums<rows, vectors> &sums, const TileProduct &tile,
        const __mmask16 (&masks)[vectors]) {
  constexpr int groups = (rows + 2) / 3, atOnce = 4;
  const float *a[groups];
  const char *b = tile.b;
  const int64_t across = tile.acrossA;
  for (int g = 0; g < groups; ++g)
    a[g] = tile.a + 3 * g * across;
  int64_t p = 0;
  for (; p + atOnce <= tile.depth; p += atOnce) {
    // Hides from the compiler that the pointers depend on each other: it would
    // compute each from the one before.
#pragma clang loop unroll(full)
    for (int g = 0; g < groups; ++g)
      asm("" : "+r"(a[g]));
    fetchRowOfC<rows, vectors>(tile, p / atOnce);
    if (isFirst)
      fetchNextStrip<rows>(tile, p);
#pragma clang loop unroll(full)
    for (int q = 0; q < atOnce; ++q, b += tile.alongB)
      addUnit<Arithmetic, isMasked, rows, vectors>(
          sums, b, masks, [&](int i) { return a[i / 3][i % 3 * across + q]; });
#pragma clang loop unroll(full)
    for (int g = 0; g < groups; ++g)
      a[g] += atOnce;
  }
  for (; p < tile.depth; ++p, b += tile.alongB) {
    addUnit<Arithmetic, isMasked, rows, vectors>(
        sums, b, masks, [&](int i) { return a[i / 3][i % 3 * across]; });
    for (int g = 0; g < groups; ++g)
      ++a[g];
  }
}

/// Writes a tile, all of it or a part, to C.
template <bool isEdge, int rows, int vectors>
inline __attribute__((always_inline)) void
store(const TileProduct &tile, Sums<rows, vectors> &sums,
      const __mmask16 (&masks)[vectors]) {
  if (tile.columnStride != 1) {
    alignas(64) float buffer[rows][vectors * lanes];
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < vectors; ++v)
        _mm512_store_ps(buffer[i] + v * lanes, sums[i][v]);
    return storeScattered(tile, buffer[0], vectors * lanes);
  }
  float *c = tile.c;
  if (!isEdge) {
#pragma clang loop unroll(full)
    for (int i = 0; i < rows; ++i, c += tile.rowStride)
      for (int v = 0; v < vectors; ++v) {
        if (tile.adds)
          sums[i][v] =
              _mm512_add_ps(sums[i][v], _mm512_loadu_ps(c + v * lanes));
        _mm512_storeu_ps(c + v * lanes, sums[i][v]);
      }
    return;
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < rows; ++i, c += tile.rowStride) {
    for (int v = 0; v < vectors; ++v) {
      if (tile.adds)
        sums[i][v] = _mm512_add_ps(
            sums[i][v], _mm512_maskz_loadu_ps(masks[v], c + v * lanes));
      _mm512_mask_storeu_ps(c + v * lanes, masks[v], sums[i][v]);
    }
  }
}

/// A tile of `rows` × 16·`vectors` sums; `isEdge`: with fewer columns; isFirst:
/// of its strip.
template <typename Arithmetic, Form form, bool isEdge, bool isFirst,
          int vectors, int rows>
inline __attribute__((always_inline)) void
multiplyTile(const TileProduct &tile) {
  Sums<rows, vectors> sums;
  for (auto &row : sums)
    for (__m512 &sum : row)
      sum = _mm512_setzero_ps();
  __mmask16 masks[vectors];
  for (int v = 0; v < vectors; ++v)
    masks[v] = firstLanes(tile.columns - v * lanes);
  if (form == Form::Rows)
    addRows<Arithmetic, isEdge, isFirst, rows, vectors>(sums, tile, masks);
  else
    addUnits<Arithmetic, isEdge, isFirst, rows, vectors>(sums, tile, masks);
  store<isEdge, rows, vectors>(tile, sums, masks);
}

/// `rows` rows of C: one tile after the other.
template <typename Arithmetic, Form form, int rows>
void multiplyStrip(const TileProduct &strip) {
  TileProduct tile = strip;
  auto next = [&] {
    tile.columns -= tileColumns;
    tile.b += tile.stepB;
    tile.c += tileColumns * tile.columnStride;
  };
  if (tile.columns >= tileColumns) {
    multiplyTile<Arithmetic, form, false, true, 2, rows>(tile);
    next();
  }
  for (; tile.columns >= tileColumns; next())
    multiplyTile<Arithmetic, form, false, false, 2, rows>(tile);
  if (tile.columns > lanes)
    multiplyTile<Arithmetic, form, true, false, 2, rows>(tile);
  else if (tile.columns > 0)
    multiplyTile<Arithmetic, form, true, false, 1, rows>(tile);
}

template <typename Arithmetic, Form form, int... numbers>
void multiplyForm(const TileProduct &strip,
                  std::integer_sequence<int, numbers...>) {
  static constexpr void (*functions[])(const TileProduct &) = {
      multiplyStrip<Arithmetic, form, numbers + 1>...};
  functions[strip.rows - 1](strip);
}

template <typename Arithmetic> void multiply(const TileProduct &strip) {
  std::make_integer_sequence<int, maxTileRows> all;
  if (strip.acrossA == 1)
    multiplyForm<Arithmetic, Form::Units>(strip, all);
  else
    multiplyForm<Arithmetic, Form::Rows>(strip, all);
}

/// Of a kernel that reads A from slivers only.
template <typename Arithmetic> void multiplySlivers(const TileProduct &strip) {
  multiplyForm<Arithmetic, Form::Units>(
      strip, std::make_integer_sequence<int, maxTileRows>());
}

} // namespace
} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_PACKED512KERNEL_H
