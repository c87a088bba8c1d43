//===- CostModel.h - seconds of computations and collectives --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Time on a machine model. A computation takes the longer of its operations
/// and its memory traffic (the roofline model: Williams, Waterman and
/// Patterson, CACM 52, 2009). A collective takes α per message and β per byte
/// with the ring algorithms (Thakur, Rabenseifner and Gropp, IJHPCA 19, 2005).
/// On k ranks, with a whole of n bytes (dialects/Spmd/Traffic.h):
///
///     all_reduce                               2 (k - 1) α + 2 (k - 1)/k n / β
///     reduce_scatter, all_gather, all_to_all     (k - 1) α +   (k - 1)/k n / β
///
/// Over several axes these are sums over the levels of Traffic.h.
///
/// A call on several cores of a rank is a parallel region: it takes a time to
/// begin and end, and attains a share of the cores' rates (Machine.h). It runs
/// on one core if it ends earlier there. Of a sort, each core takes whole rows.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_COSTMODEL_H
#define MESHC_LIB_COST_COSTMODEL_H

#include "dialects/Nd/Interfaces/OpCost.h"
#include "lib/Cost/Machine.h"
#include "lib/Reshard/CallCosts.h"

namespace meshc::cost {

/// Bytes that a computation reads and writes on one rank.
struct MemoryTraffic {
  double memory = 0; ///< from and to memory
  double cache = 0;  ///< from and to the machine's cache
};

/// The costs of one rank of a program on a mesh.
class CostModel {
public:
  CostModel(const Machine &machine, nd::MeshAttr mesh);

  /// Seconds of a matrix product whose factors have these elements.
  double getProductSeconds(double flops, const MemoryTraffic &traffic,
                           mlir::Type element) const;
  /// Seconds of a generated kernel that computes on such elements. Of `cost`,
  /// the bytes do not count: `traffic` has them.
  double getKernelSeconds(const nd::OpCost &cost, const MemoryTraffic &traffic,
                          mlir::Type element) const;
  /// The same, if nothing is in a cache.
  double getKernelSeconds(const nd::OpCost &cost, mlir::Type element) const {
    return getKernelSeconds(cost, {cost.bytes, 0}, element);
  }
  /// Seconds of a kernel that sorts rows and does nothing else.
  double getSortSeconds(const nd::SortWork &work,
                        const MemoryTraffic &traffic) const;
  /// Seconds of a collective over `axes` (in the mesh's order) with a whole of
  /// `wholeBytes`. 0 if the group has one rank.
  double getCollectiveSeconds(spmd::CollectiveKind kind,
                              llvm::ArrayRef<mlir::StringAttr> axes,
                              double wholeBytes) const;
  /// What connects neighbours on the axis. Ranks are numbered row-major, so
  /// that the ranks of a group along the axis lie within stride · size numbers,
  /// where stride is the product of the later axes' sizes. The axis is within a
  /// node if these are at most the ranks of a node, otherwise between nodes.
  const Link &getLink(mlir::StringAttr axis) const;
  /// What bytes cost over each axis of the mesh, beside the fastest one; empty
  /// if all are equal.
  reshard::ByteCosts getByteCosts() const;
  /// Bytes per second over the fastest axis; 0 without axes.
  double getFastestBandwidth() const;
  /// What a point of a pointwise op costs, beside a byte over the axis where
  /// bytes cost the most: to read or write an f32, or to compute it if that
  /// takes longer. 1 without axes.
  double getPointCost() const;
  /// What calls of collectives cost over each axis.
  reshard::CallCosts getCallCosts() const;

  /// Bytes of the machine's cache for each rank; 0: none.
  double getCacheBytes() const { return cacheBytes; }
  const Machine &getMachine() const { return machine; }

private:
  double getCallSeconds(double computing, const MemoryTraffic &traffic) const;
  double getCallSeconds(double alone, double together,
                        const MemoryTraffic &traffic) const;
  double getDeviceSortSeconds(const nd::SortWork &work) const;
  double getMemorySeconds(const MemoryTraffic &traffic, double cores) const;

  Machine machine;
  nd::MeshAttr mesh;
  double cores = 1;       ///< of a rank; below 1 if ranks share one
  double memoryLimit = 0; ///< bytes/s of a rank; 0: no limit
  double cacheBytes = 0;  ///< of a rank
};

} // namespace meshc::cost

#endif // MESHC_LIB_COST_COSTMODEL_H
