//===- BlockProducts.h - products of blocks of scores -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: f32 products of a block of scores, on one thread, by
/// the kernels of runtime/Blas. The right factor is packed once and used for
/// many products; the left one is read as it lies. Tiles that the band leaves
/// out are not computed. An element's sum does not depend on which other rows
/// a product has.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_ATTENTION_BLOCKPRODUCTS_H
#define MESHC_RUNTIME_ATTENTION_BLOCKPRODUCTS_H

#include "runtime/Attention/RowLoops.h"

namespace meshc::runtime {

/// Indices [begin, end).
struct Range {
  int64_t begin, end;

  int64_t size() const { return end - begin; }
  bool isEmpty() const { return begin >= end; }
};

/// Which entries belong to a row: lowest ≤ entry - row ≤ highest, within a
/// range.
struct Band {
  int64_t lowest, highest;
  Range within;

  /// What belongs to any of `count` rows from `row` on.
  Range of(int64_t row, int64_t count) const;
  /// Which of `rows` belong to an entry.
  Band transposed(int64_t rows) const { return {-highest, -lowest, {0, rows}}; }
};

/// A right factor, packed: `depth` rows of `columns` columns.
struct PackedFactor {
  const float *data;
  int64_t columns, depth;
};

/// Pack rows, whose elements become the columns' (`Along`) or the rows' of the
/// factor (`Across`), into meshcPackedColumns() floats at `target`.
PackedFactor packAlong(const FloatRows &rows, float *target);
PackedFactor packAcross(const FloatRows &rows, float *target);

/// A left factor: element (i, p) is data[i * across + p * along].
struct LeftFactor {
  const float *data;
  int64_t across, along, rows;
};

/// The rows as they lie, and their transposed matrix.
inline LeftFactor asRows(const FloatRows &rows) {
  return {rows.data, rows.stride, 1, rows.count};
}
inline LeftFactor asColumns(const FloatRows &rows) {
  return {rows.data, 1, rows.stride, rows.width};
}

/// c ← a · b, or c + a · b.
struct BlockProduct {
  LeftFactor a;
  PackedFactor b;
  Band band; ///< of a's rows, and the columns or the depth of b
  float *c;
  int64_t stride; ///< from one row of c to the next
  bool adds;

  /// Computes at least the columns that belong to each row.
  void findColumns() const { run(true); }
  /// Adds up what belongs to any row of a tile. The others are 0 in `a`, or do
  /// not lie within the band's range.
  void sumDepth() const { run(false); }

private:
  void run(bool limitsColumns) const;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_ATTENTION_BLOCKPRODUCTS_H
