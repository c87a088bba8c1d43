//===- PlanPrice.h - what a plan costs --------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prices a plan without building its program: in time that is linear in the
/// plan's steps, some microseconds for each. Later phases fuse, combine and
/// overlap what the plan leads to; a price estimates the result
/// (docs/rationale/plan-prices.md says how well).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_PLANPRICE_H
#define MESHC_LIB_PARTITION_PLANPRICE_H

#include "lib/Partition/PlanCalls.h"

namespace meshc::partition {

/// What collectives over an axis cost a rank.
struct AxisPrice {
  mlir::StringAttr axis;
  double bytes = 0; ///< that the rank sends along the axis
  /// Of the collectives, on the network; one over several axes counts for each
  /// of them.
  double seconds = 0;
  bool operator==(const AxisPrice &) const = default;
};

/// What one run of a function costs on a rank.
struct PlanPrice {
  cost::SimulatedTime time; ///< on the machine of the cost model
  /// Of the axes along which the rank sends, in the order of the mesh.
  llvm::SmallVector<AxisPrice, 4> axes;
  double arenaBytes = 0; ///< an estimate: what is alive at the peak
};

/// The price of a function whose block has the plan.
PlanPrice getPrice(const BlockPlan &plan, mlir::Block &block,
                   reshard::ReshardPlanner &planner,
                   const cost::CostModel &model);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_PLANPRICE_H
