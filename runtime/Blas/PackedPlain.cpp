//===- PackedPlain.cpp - packed blocks for any processor ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernel of PackedProduct.h in vectors that every processor has. Matrix
/// products do not use it: without AVX2, oneDNN's are faster. Attention works
/// on packed blocks everywhere.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Blas/PackedProduct.h"

#include <algorithm>

using namespace meshc::runtime;

static constexpr int64_t plainRows = 2, plainColumns = 16; ///< of a tile

namespace {
typedef float Four __attribute__((vector_size(16)));
}

template <int64_t tile>
static void packPlain(const PackedOperand &from, int64_t width, int64_t count,
                      float *target, int64_t stride) {
  const float *data = reinterpret_cast<const float *>(from.data);
  for (int64_t first = 0; first < width; first += tile, target += stride)
    for (int64_t p = 0; p < count; ++p)
      for (int64_t i = 0; i < tile; ++i)
        target[p * tile + i] =
            first + i < width ? data[(first + i) * from.across + p * from.along]
                              : 0.0f;
}

static void packPlainRows(const PackedOperand &from, int64_t width,
                          int64_t count, int64_t, float *target,
                          int64_t stride) {
  packPlain<plainRows>(from, width, count, target, stride);
}

static void multiplyPlain(const TileProduct &tile) {
  Four sums[plainRows][plainColumns / 4] = {};
  // The last row again in place of one that is absent.
  const int64_t second = (tile.rows - 1) * tile.acrossA;
  const float *a = tile.a, *b = reinterpret_cast<const float *>(tile.b);
  for (int64_t p = 0; p < tile.depth; ++p, a += tile.alongA, b += plainColumns)
    for (int64_t j = 0; j < plainColumns / 4; ++j) {
      Four columns;
      __builtin_memcpy(&columns, b + 4 * j, sizeof(columns));
      sums[0][j] += a[0] * columns;
      sums[1][j] += a[second] * columns;
    }
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      float &c = tile.c[i * tile.rowStride + j];
      c = sums[i][j / 4][j % 4] + (tile.adds ? c : 0.0f);
    }
}

const PackedKernel &meshc::runtime::plainKernel() {
  static constexpr PackedKernel kernel = {plainRows,
                                          plainColumns,
                                          /*sliverRows=*/plainRows,
                                          MESHC_AVX2_ROWS,
                                          MESHC_AVX2_COLUMNS,
                                          MESHC_AVX2_DEPTH,
                                          /*unitElements=*/1,
                                          /*elementBytes=*/4,
                                          /*anyRows=*/false,
                                          /*readsA=*/true,
                                          /*readsB=*/false,
                                          /*takesStrips=*/false,
                                          packPlainRows,
                                          packPlain<plainColumns>,
                                          multiplyPlain,
                                          /*multiplyDots=*/nullptr,
                                          /*lanesCost=*/0,
                                          /*multiplyAcross=*/nullptr};
  return kernel;
}

const PackedKernel &meshc::runtime::f32Kernel() {
  static const PackedKernel &chosen = usesAvx512() ? avx512Kernel()
                                      : usesAvx2() ? avx2Kernel()
                                                   : plainKernel();
  return chosen;
}
