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
#ifndef MESHC_DIALECTS_SPMD_RESHARDPLAN_H
#define MESHC_DIALECTS_SPMD_RESHARDPLAN_H

#include "dialects/Spmd/Sharding.h"
#include "dialects/Spmd/Traffic.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace meshc::spmd {

/// One step of a plan: a collective, or (no kind) a local slice.
struct ReshardStep {
  std::optional<CollectiveKind> kind;
  AxisList axes;         ///< in the mesh's order for collectives; the senders'
                         ///< order of a permute
  mlir::StringAttr from; ///< the dim that loses the axes (gather, all_to_all)
  mlir::StringAttr to;   ///< the dim that gains them (all_to_all,
                         ///< reduce_scatter, slice)
  nd::TensorType result; ///< the sharding after the step
  AxisList receivers = {}; ///< the receivers' order (permute)
};

struct ReshardPlan {
  llvm::SmallVector<ReshardStep> steps;
  double bytes = 0; ///< sent by each rank with the ring algorithms
};

/// Finds plans with Dijkstra's algorithm over shardings and caches them. An
/// axis is only placed on dims where the source or the target has it. Of plans
/// with equal bytes, the one with fewer steps wins.
class ReshardPlanner {
public:
  explicit ReshardPlanner(nd::MeshAttr mesh) : mesh(mesh) {}

  /// The cheapest plan. One always exists if spmd.reshard verifies. The
  /// reference is valid until the next call.
  const ReshardPlan &plan(nd::TensorType from, nd::TensorType to);
  /// The bytes of that plan.
  double getBytes(nd::TensorType from, nd::TensorType to) {
    return plan(from, to).bytes;
  }

private:
  nd::MeshAttr mesh;
  llvm::DenseMap<std::pair<nd::TensorType, nd::TensorType>, ReshardPlan> plans;
};

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_RESHARDPLAN_H
