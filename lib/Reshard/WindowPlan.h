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
#ifndef MESHC_LIB_RESHARD_WINDOWPLAN_H
#define MESHC_LIB_RESHARD_WINDOWPLAN_H

#include "dialects/Spmd/WindowSegments.h"
#include "meshc/RuntimeAbi.h"
#include <optional>

namespace meshc::reshard {

/// Entries low … low + size - 1 of an operand's block on the rank whose number
/// is that of the receiver plus `distance`, which may be negative or 0. Some
/// rank needs each of them for the segment. Or `size` entries that move in a
/// round, if there is one; distance and low are then 0.
struct WindowPiece {
  unsigned segment = 0;
  int64_t distance = 0;
  int64_t low = 0, size = 0;
  std::optional<MeshcRound> round = {};

  bool isOwn() const { return !round && distance == 0; }
};

struct WindowPlan {
  /// By segment, then by distance or round. A rank's own piece comes first if
  /// the others move in rounds.
  llvm::SmallVector<WindowPiece> pieces;
  double bytes = 0; ///< sent by each rank, padding of other dims included
};

/// The plan for the segments along `dim`, which the same axes cut in all types;
/// operands may also be whole, and then nothing of them moves. Ranks are
/// numbered row-major over these axes. What a segment needs moves from all
/// ranks at the same distance at once, or in rounds: if operand and result have
/// blocks of different sizes, ranks need different entries, at distances that
/// grow with the ranks. A segment takes at most ⌈larger block / smaller block⌉
/// + 1 rounds. The plan is taken whose busiest rank sends less.
///
/// Time is linear in the ranks. Nothing if blocks do not begin at equal
/// distances (areEquidistant), if a segment repeats in another way than those
/// two or with too small a step, or if both plans need too many permutes: a
/// program's size does not grow with the ranks.
std::optional<WindowPlan> planWindow(llvm::ArrayRef<nd::TensorType> operands,
                                     nd::TensorType result, llvm::StringRef dim,
                                     const spmd::WindowSegments &segments,
                                     nd::MeshAttr mesh);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_WINDOWPLAN_H
