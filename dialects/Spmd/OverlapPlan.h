//===- OverlapPlan.h - gathers from blocks that overlap ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ranks exchange where a gather or a scatter is cut along an overlap (see
/// FactorKind::Overlap). Before a gather, each rank widens its block of the
/// table to all entries that its indices name. After a scatter, each adds up
/// the parts of widened blocks that are of its own block. For convolutions,
/// this is the halo exchange of Dryden et al. (arXiv 1903.06681).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_OVERLAPPLAN_H
#define MESHC_DIALECTS_SPMD_OVERLAPPLAN_H

#include "dialects/Spmd/WindowPlan.h"

namespace meshc::spmd {

struct OverlapPlan {
  /// The table, widened: as many entries for each rank as its indices span.
  nd::TensorType widened;
  int64_t block = 0; ///< so many
  /// Of a gather, one window that makes the widened table. Of a scatter,
  /// windows of the widened result, whose sum is the result.
  llvm::SmallVector<WindowSegments, 1> windows;
  double bytes = 0; ///< sent by each rank, padding of other dims included
};

/// The plan for an Overlap factor of a gather or a scatter that has operands
/// and results of these types, where some axis cuts the factor. Nothing where
/// planWindow gives none for one of the windows, where more than eight pieces
/// move in all, where 32 bits do not number the widened table, where a widened
/// block is no smaller than the table, or where no rank names an entry of it.
std::optional<OverlapPlan> planOverlap(const nd::Factor &factor,
                                       llvm::ArrayRef<nd::TensorType> operands,
                                       llvm::ArrayRef<nd::TensorType> results,
                                       nd::MeshAttr mesh);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_OVERLAPPLAN_H
