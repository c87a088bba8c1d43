//===- AffineIndex.h - indices that depend on positions alone ---*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Indices that are an affine function of their position, such as
/// iota(row) + iota(tap) - 1: the windows of a convolution, dilated ones and
/// those with a stride too. Ranks know the entries that they name before the
/// program runs.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_AFFINEINDEX_H
#define MESHC_DIALECTS_ND_INTERFACES_AFFINEINDEX_H

#include "dialects/Nd/NdTypes.h"
#include <optional>
#include <utility>

namespace meshc::nd {

/// The element at a position is `constant` plus, for each step, its number
/// times the global index along its dim. Each dim has at most one step; no step
/// is 0.
struct AffineIndex {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<mlir::StringAttr, int64_t>, 2> steps = {};

  /// The step along the dim, 0 if there is none.
  int64_t getStep(mlir::StringAttr dim) const;
  /// Adds `other` times `factor`. False where a number exceeds 64 bits.
  bool add(const AffineIndex &other, int64_t factor);
};

/// The least and the greatest element of a tensor that the function gives for
/// positions of `type`, which has all dims of the steps.
struct IndexRange {
  int64_t least = 0, greatest = 0;
};
/// Nothing where a number exceeds 64 bits.
std::optional<IndexRange> getRange(const AffineIndex &index, TensorType type);

/// The function that gives the elements of an i32 tensor; nothing if none is
/// found, or if one of the values from which it is computed exceeds 32 bits.
/// Follows AffineOpInterface and what loops take whole; of large expressions,
/// only the first ops.
std::optional<AffineIndex> findAffineIndex(mlir::Value value);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_AFFINEINDEX_H
