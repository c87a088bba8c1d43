//===- WindowPlan.h - what a window of a cut dim sends ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pieces of other ranks' blocks from which a rank computes its block of a
/// slice, a padded tensor or a concatenation along a dim that is cut: an
/// exchange of halos. The partition phase uses the costs; the collectives phase
/// builds the plans.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_WINDOWPLAN_H
#define MESHC_DIALECTS_SPMD_WINDOWPLAN_H

#include "dialects/Nd/Interfaces/PartitionRule.h"
#include <optional>

namespace meshc::spmd {

/// Entries low … low + size - 1 of an operand's block on the rank whose number
/// is that of the receiver plus `distance`, which may be negative or 0. Some
/// rank needs each of them for the segment.
struct WindowPiece {
  unsigned segment = 0;
  int64_t distance = 0;
  int64_t low = 0, size = 0;
};

struct WindowPlan {
  /// By segment, then by distance.
  llvm::SmallVector<WindowPiece> pieces;
  double bytes = 0; ///< sent by each rank, padding of other dims included
};

/// The plan for the segments along `dim`, which the same axes cut in all types.
/// Ranks are numbered row-major over these axes. Time is linear in the ranks.
/// Nothing if blocks do not begin at equal distances (areEquidistant), or if a
/// rank receives from more than eight others: a program's size does not grow
/// with the ranks.
std::optional<WindowPlan> planWindow(llvm::ArrayRef<nd::TensorType> operands,
                                     nd::TensorType result, llvm::StringRef dim,
                                     llvm::ArrayRef<nd::Segment> segments,
                                     nd::MeshAttr mesh);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_WINDOWPLAN_H
