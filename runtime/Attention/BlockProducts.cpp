//===- BlockProducts.cpp - products of blocks of scores -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/BlockProducts.h"

#include "meshc/AttentionScratch.h"
#include "runtime/Blas/PackedProduct.h"

#include <algorithm>

using namespace meshc::runtime;

Range Band::of(int64_t row, int64_t count) const {
  int64_t begin = std::clamp(row + lowest, within.begin, within.end);
  return {begin, std::clamp(row + count + highest, begin, within.end)};
}

/// Floats of a sliver of columns over `depth` rows. Kernels fetch whole lines.
static int64_t sliverSize(const PackedKernel &kernel, int64_t depth) {
  return kernel.columns * depth + 16;
}

static PackedFactor packFactor(const PackedOperand &from, int64_t columns,
                               int64_t depth, float *target) {
  const PackedKernel &kernel = f32Kernel();
  PackedFactor factor{target, columns, depth};
  int64_t slivers = meshcDivideUp(columns, kernel.columns);
  for (int64_t first = 0; first < depth; first += kernel.depth) {
    int64_t count = std::min(kernel.depth, depth - first);
    int64_t size = sliverSize(kernel, count);
    kernel.packB(from.from(0, first), columns, count, target, size);
    target += slivers * size;
  }
  return factor;
}

PackedFactor meshc::runtime::packAlong(const FloatRows &rows, float *target) {
  return packFactor(
      {reinterpret_cast<const char *>(rows.data), rows.stride, 1, 4},
      rows.count, rows.width, target);
}

PackedFactor meshc::runtime::packAcross(const FloatRows &rows, float *target) {
  return packFactor(
      {reinterpret_cast<const char *>(rows.data), 1, rows.stride, 4},
      rows.width, rows.count, target);
}

namespace {

/// A product over a part of the depth, tile by tile.
struct PartialProduct {
  const BlockProduct &product;
  const PackedKernel &kernel;
  bool limitsColumns;
  Range depth;         ///< the part
  const float *packed; ///< of the right factor

  /// The tile, or the strip of tiles, of these rows and slivers.
  void runTile(Range rows, Range slivers) const;
};

} // namespace

void PartialProduct::runTile(Range rows, Range slivers) const {
  const int64_t width = kernel.columns;
  Range allowed = product.band.of(rows.begin, rows.size()), part = depth;
  bool adds = product.adds || depth.begin > 0;
  if (limitsColumns) {
    slivers.begin = std::max(slivers.begin, allowed.begin / width);
    slivers.end = std::min(slivers.end, meshcDivideUp(allowed.end, width));
    if (slivers.isEmpty() || allowed.isEmpty())
      return;
  } else {
    part.begin = std::clamp(allowed.begin, depth.begin, depth.end);
    part.end = std::clamp(allowed.end, part.begin, depth.end);
    if (part.isEmpty() && adds)
      return;
  }
  const LeftFactor &a = product.a;
  int64_t size = sliverSize(kernel, depth.size());
  int64_t column = slivers.begin * width, skipped = part.begin - depth.begin;
  TileProduct tile;
  tile.a = a.data + rows.begin * a.across + part.begin * a.along;
  tile.acrossA = a.across, tile.alongA = a.along;
  tile.b = reinterpret_cast<const char *>(packed + slivers.begin * size +
                                          skipped * width);
  tile.alongB = 4 * width, tile.stepB = 4 * size;
  tile.packedB = true;
  tile.depth = part.size();
  tile.c = product.c + rows.begin * product.stride + column;
  tile.rowStride = product.stride, tile.columnStride = 1;
  tile.rows = rows.size();
  int64_t end = std::min(slivers.end * width, product.b.columns);
  // Vectors of a tile that no row needs are left out.
  if (limitsColumns && kernel.takesStrips)
    end = std::min(end, allowed.end);
  tile.columns = end - column;
  tile.adds = adds;
  kernel.multiply(tile);
}

void BlockProduct::run(bool limitsColumns) const {
  const PackedKernel &kernel = f32Kernel();
  int64_t slivers = meshcDivideUp(b.columns, kernel.columns);
  int64_t step = kernel.takesStrips ? slivers : 1;
  int64_t tiles = meshcDivideUp(a.rows, kernel.maxRows);
  int64_t height =
      kernel.anyRows ? meshcDivideUp(a.rows, tiles) : kernel.maxRows;
  const float *packed = b.data;
  for (int64_t first = 0; first < b.depth; first += kernel.depth) {
    Range depth = {first, std::min(first + kernel.depth, b.depth)};
    PartialProduct part{*this, kernel, limitsColumns, depth, packed};
    for (int64_t sliver = 0; sliver < slivers; sliver += step)
      for (int64_t row = 0; row < a.rows; row += height)
        part.runTile({row, std::min(row + height, a.rows)},
                     {sliver, std::min(sliver + step, slivers)});
    packed += slivers * sliverSize(kernel, depth.size());
  }
}
