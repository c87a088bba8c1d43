//===- ReshardSearch.h - a search between two shardings ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search behind ReshardPlanner (ReshardPlan.h), and what its steps cost.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_RESHARDSEARCH_H
#define MESHC_LIB_RESHARD_RESHARDSEARCH_H

#include "lib/Reshard/ReshardPlan.h"

namespace meshc::reshard {

/// What a search makes as small as possible: the cost of a plan, or its peak.
enum class Objective { Cost, Memory };

/// The best plan from one sharding to another by the steps of ReshardSteps.h
/// whose memory is within the bound, in bytes. Nothing if none was found. A
/// search that takes too long gives up and is repeated in haste.
std::optional<ReshardPlan> searchReshard(nd::TensorType from, nd::TensorType to,
                                         nd::MeshAttr mesh,
                                         const ByteCosts &byteCosts,
                                         double memoryBound,
                                         Objective objective);

/// What a byte costs at least, over any axis of the mesh.
double getLeastByteCost(const ByteCosts &costs);
/// What a byte over all of the axes costs: the highest of their costs.
double getByteCost(const ByteCosts &costs,
                   llvm::ArrayRef<mlir::StringAttr> axes);

/// The bytes of a step on a rank: its input's block and its output's together.
double getMemory(nd::TensorType previous, const ReshardStep &step,
                 nd::MeshAttr mesh);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_RESHARDSEARCH_H
