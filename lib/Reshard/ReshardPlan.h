//===- ReshardPlan.h - the cheapest path between two shardings ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A search for the sequence of collectives and local slices that converts a
/// tensor from one sharding to another and moves the fewest bytes. The
/// partition phase uses its costs; the collectives phase builds its plans.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_RESHARDPLAN_H
#define MESHC_LIB_RESHARD_RESHARDPLAN_H

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/SharedObjects.h"
#include "dialects/Spmd/Traffic.h"
#include "llvm/ADT/DenseMap.h"
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace meshc::reshard {

/// One step of a plan: a collective, or (no kind) a local op: a slice, or with
/// neither `from` nor `to` one that makes a whole value a partial sum.
struct ReshardStep {
  std::optional<spmd::CollectiveKind> kind;
  spmd::AxisList axes;   ///< in the mesh's order for collectives; the senders'
                         ///< order of a permute
  mlir::StringAttr from; ///< the dim that loses the axes (gather, all_to_all)
  mlir::StringAttr to;   ///< the dim that gains them (all_to_all,
                         ///< reduce_scatter, slice)
  nd::TensorType result; ///< the sharding after the step
  spmd::AxisList receivers = {}; ///< the receivers' order (permute)
};

/// What a byte costs that a rank sends over each axis, beside one over the
/// fastest axis; 1 for axes that are not there.
using ByteCosts = llvm::SmallDenseMap<mlir::StringAttr, double, 4>;

struct ReshardPlan {
  llvm::SmallVector<ReshardStep> steps;
  double bytes = 0; ///< sent by each rank with the ring algorithms
  double cost = 0;  ///< these bytes at the costs of their axes
  double peak = 0;  ///< the largest memory of a step, in bytes: its input's
                    ///< block and its output's block together
};

/// Plans that are known, for one mesh, memory bound and costs of bytes. Several
/// threads may share it.
class ReshardPlans {
public:
  /// The plan from one sharding to another, which `make` makes if it is new.
  /// The reference stays valid.
  const ReshardPlan &get(nd::TensorType from, nd::TensorType to,
                         llvm::function_ref<ReshardPlan()> make);
  /// What users of the plans have found with them and keep for one another: one
  /// object of each type, empty at first. It must allow several threads.
  template <typename Found> Found &getFound() { return found.get<Found>(); }

private:
  std::mutex mutex;
  spmd::SharedObjects found;
  std::map<std::pair<const void *, const void *>, ReshardPlan> plans;
};

/// Finds plans by a search over shardings (ReshardSearch.h) and caches them. Of
/// plans with equal costs, the one with fewer steps wins, but one that places
/// an axis on a dim where neither the source nor the target has it must send
/// less. To make a whole value a partial sum moves nothing.
///
/// The memory bound limits ReshardPlan::peak: for each step, local ones
/// included, the sum of its input's and its output's block on a rank, padding
/// included. Only plans within the bound are considered, if the search finds
/// any. Otherwise the plan is the cheapest of those with the least peak found.
///
/// Reshards on a mesh of at most three axes get the cheapest plan there is, and
/// the least peak; those that use at most three axes of a larger mesh, that of
/// plans which use no others. With more axes, plans place an axis only on dims
/// where the source or the target has it, the search gives up after some time,
/// and permutes lead to few shardings. Over more than five axes (runs,
/// AxisRuns.h) it is in haste: on twelve axes of 2 that divide two dims, and
/// without a bound, its plans send about a fifth more than getLeastBytes, on
/// the average over random pairs.
class ReshardPlanner {
public:
  /// `memoryBound`: in bytes. By default that of each reshard is twice the
  /// larger one of its source's and its target's block.
  explicit ReshardPlanner(nd::MeshAttr mesh,
                          std::optional<double> memoryBound = std::nullopt,
                          ByteCosts byteCosts = ByteCosts(),
                          double pointCost = 1)
      : mesh(mesh), memoryBound(memoryBound), byteCosts(std::move(byteCosts)),
        pointCost(pointCost), plans(std::make_shared<ReshardPlans>()) {}
  /// The planner for the module around `op`: with its mesh, and the bound and
  /// the costs that its attributes `spmd.memory_bound` and `spmd.byte_costs`
  /// give, if it has them. Planners for modules of one context share their
  /// plans: trials of a program need mostly the same ones.
  static ReshardPlanner of(mlir::Operation *op, double pointCost = 1);

  /// The cheapest plan. One always exists if spmd.reshard verifies. Between two
  /// kinds of partial results, and between element types other than mayRound
  /// allows, there is none, and its cost is infinite. The
  /// reference is valid as long as the planner.
  const ReshardPlan &plan(nd::TensorType from, nd::TensorType to);
  /// The cost of that plan.
  double getCost(nd::TensorType from, nd::TensorType to) {
    return plan(from, to).cost;
  }
  /// No plan costs less, but for rounding. Takes less time than a plan that is
  /// not known yet.
  double getLeastCost(nd::TensorType from, nd::TensorType to);
  /// The cost of a byte over any of `axes`: the highest one.
  double getByteCost(llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// The same, of all axes of the mesh.
  double getDearestByte() const;
  /// What a point of a pointwise op's iteration space costs, beside a byte over
  /// the axis where bytes cost the most.
  double getPointCost() const { return pointCost; }
  /// ReshardPlans::getFound of its plans.
  template <typename Found> Found &getFound() {
    return plans->getFound<Found>();
  }

private:
  ReshardPlan make(nd::TensorType from, nd::TensorType to) const;
  ReshardPlan makeWhole(nd::TensorType from, nd::TensorType to) const;

  nd::MeshAttr mesh;
  std::optional<double> memoryBound;
  ByteCosts byteCosts;
  double pointCost;
  std::shared_ptr<ReshardPlans> plans;
  /// Those that this planner has asked for.
  llvm::DenseMap<std::pair<nd::TensorType, nd::TensorType>, const ReshardPlan *>
      known;
  /// What getLeastCost has found.
  llvm::DenseMap<std::pair<nd::TensorType, nd::TensorType>, double> least;
};

/// Gives the module the attribute `spmd.memory_bound`, in bytes.
void setMemoryBound(mlir::Operation *module, int64_t bytes);

/// Gives the module the attribute `spmd.byte_costs`: a dictionary of numbers by
/// axis. Those that are not finite and positive are ignored.
void setByteCosts(mlir::Operation *module, const ByteCosts &costs);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_RESHARDPLAN_H
