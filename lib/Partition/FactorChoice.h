//===- FactorChoice.h - which axes cut which factor of an op --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Chooses, for one op, the mesh axes that cut each factor of its partition
/// rule. The candidates come from its operands, the desired results, and other
/// values of the block (LinkedCuts); the choice minimizes the bytes moved.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_FACTORCHOICE_H
#define MESHC_LIB_PARTITION_FACTORCHOICE_H

#include "lib/Partition/LinkedCuts.h"
#include "lib/Reshard/ReshardPlan.h"

namespace meshc::partition {

/// The search's knowledge of an operand.
struct OperandForms {
  /// The shardings in which it is already available; the first is that of its
  /// defining op. Behind them, those in which an earlier loop may keep it: what
  /// that costs counts later (BlockPlanner::obtain).
  llvm::SmallVector<nd::TensorType> types;
  /// Any sharding is free, because the value is recomputed (constants and the
  /// like).
  bool isRecomputed = false;
  /// The sharding to which it is reduced unless a user needs another one.
  nd::TensorType settled;
  /// It is still partial and has other users: it will be reduced to its desired
  /// sharding, whatever this op needs.
  bool willBeReduced = false;
  /// It is partial, and this op is its only user, so that nobody else pays if
  /// it stays partial.
  bool mayStayPartial = false;
  /// It is a stack of partial entries, and a loop can reduce each while it
  /// computes the next: if a later reduction costs as much, this one is better.
  bool reducesInLoop = false;
  /// How often it is resharded for one execution of the op: once, or once in n
  /// executions if the op is in a loop of n iterations and the operand is not.
  double share = 1;
};

/// What is wanted of a result.
struct WantedResult {
  /// The bytes that ranks send to reshard the result that was computed as
  /// `made`, for one execution of the op; see OperandForms::share.
  double getCost(nd::TensorType made, reshard::ReshardPlanner &planner) const;
  /// It is not less than this (reshard::ReshardPlanner::getLeastCost).
  double getLeastCost(nd::TensorType made,
                      reshard::ReshardPlanner &planner) const;

  DesiredSharding desired;
  /// How often it is resharded to it for one execution of the op; see
  /// OperandForms.
  double share = 1;
  /// How the layout cuts a gradient that a loop sums, if the result is added to
  /// that sum; null for other results. Each execution of the op scatters its
  /// result so (scatterSum). Only what is left to reshard then counts by
  /// `share`.
  nd::TensorType scattered;
};

/// A consistent way to compute an op on blocks.
struct FactorChoice {
  /// Of the rule's factors, then of its alternatives.
  llvm::SmallVector<spmd::AxisList> axesOfFactor;
  llvm::SmallVector<nd::TensorType> operandTypes; ///< that the op needs
  llvm::SmallVector<nd::TensorType> resultTypes;  ///< that the op makes
  /// Moved for operands, by the op, and to get the desired results, per
  /// execution: bytes at the costs of their axes (reshard::ReshardPlanner).
  double bytes = 0;
  /// Of these, what the op itself sends along factors that are exchanged.
  double haloBytes = 0;
  /// What the points of the iteration space cost per rank, without padding: the
  /// layout has decided on uneven blocks, and moving data cannot be meant to
  /// avoid them. A point of a product costs as much as a byte over the axis
  /// where bytes cost the most, one of another op ReshardPlanner::getPointCost
  /// times that.
  double work = 0;
  /// Axes cut a dim that they cut in no operand, no wanted result, and nothing
  /// that is linked to it.
  bool movesAxes = false;
};

class OpCuts; // OpCuts.h

/// Whether axes may move to dims that they cut in no operand, no wanted result,
/// and nothing that is linked to them; see findFactorChoices.
enum class AxisMoves { None, One };

/// The sharded type that `type` has along the factors, dims cut as
/// `axesOfFactor` says. `dimsOf` gives the name of the value's dim along a
/// factor, or null. Factors along one dim cut it in the order of the rule,
/// major first. Null where an axis would cut it twice.
nd::TensorType
getTypeAlong(nd::TensorType type, const nd::PartitionRule &rule,
             llvm::ArrayRef<spmd::AxisList> axesOfFactor,
             llvm::function_ref<mlir::StringAttr(const nd::Factor &)> dimOf);

/// Points of the iteration space of the whole op: multiply-adds of a product,
/// and at least the elements of the largest value. A dim that is looked up has
/// no points of its own.
double countPoints(mlir::Operation *op);

/// Whether the op has more points of its iteration space than any of its values
/// has elements, as products have.
bool hasMostPoints(mlir::Operation *op);

/// The at most `count` best choices for an op, the best one first. There is
/// always one: nothing cut. `known` is of this op, and of one planner.
///
/// The axes of a factor are those of its dims, and of the dims that `cuts`
/// links to them. With AxisMoves::One, those of one other dim may move there: a
/// product whose operands are both cut along the summed dim may send less if
/// one of them is gathered and the other one cut along another dim. So may an
/// axis that cuts nothing of the op, but other values of the block: otherwise
/// its ranks compute the same. Only ops with more points than their values have
/// elements move axes, and only where it is cheaper by itself than all choices
/// that move none.
llvm::SmallVector<FactorChoice>
findFactorChoices(OpCuts &known, llvm::ArrayRef<OperandForms> operands,
                  reshard::ReshardPlanner &planner, nd::MeshAttr mesh,
                  const LinkedCuts &cuts, AxisMoves moves, size_t count);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_FACTORCHOICE_H
