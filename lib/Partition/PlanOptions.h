//===- PlanOptions.h - what a search of plans may do ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLANOPTIONS_H
#define MESHC_LIB_PARTITION_PLANOPTIONS_H

#include "lib/Partition/TieForms.h"
#include <optional>

namespace meshc::partition {

/// What the search may do to send less or to compute less, and at which prices.
/// The usual plans have the initial values; moves change them (PlanSearch.h).
struct PlanOptions {
  /// The axes of a block move to other dims (AxisMoves) if it then sends at
  /// most this share of what it sends otherwise; at least 0. With a half, the
  /// layouts of the literature keep their collectives.
  double moveShare = 0.5;

  /// Whether blocks may cut placed dims further where no axes move. They may
  /// where more moves of axes are allowed than usual, and where the values of
  /// loops are cut (cutCarried): such plans are compared with others as a
  /// whole.
  bool mayCutFurther = false;

  /// What a byte costs that a loop keeps as a copy of what it moves, for later
  /// loops that would move it as well (LoopPlanner), beside a byte that is sent
  /// (reshard::ReshardPlanner). Without it, loops keep no copies.
  std::optional<double> keptByteCost;

  /// What a point of a pointwise op costs
  /// (reshard::ReshardPlanner::getPointCost).
  double pointCost = 1;

  /// Whether parameters are gathered once for all micro-batches, and not in
  /// each (dialects/Spmd/ParameterGathers.h).
  bool gathersOnce = false;

  /// Other forms of what loops carry and keep.
  TieForms ties = {};
};

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLANOPTIONS_H
