//===- Traffic.h - bytes moved by collectives -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The cost of a collective per rank with the ring algorithms (Patarasuk and
/// Yuan, J. Parallel Distrib. Comput. 69, 2009; Thakur et al., IJHPCA 19,
/// 2005), which are optimal in bytes. Let k be the number of ranks in the group
/// and n the bytes of the *whole*: the result's block for all_gather, the
/// operand's block for all others. Each rank sends
///
///     all_reduce                                  2 (k - 1) / k · n
///     reduce_scatter, all_gather, all_to_all        (k - 1) / k · n
///     permute                                                       n
///
/// In a permute some ranks may send to themselves; the others send all. The
/// bytes count for the group's first axis.
///
/// Over several axes the ring of the others is hierarchical: the last axis
/// carries (k_last - 1) / k_last of the whole, the axis before it the same
/// share of the remaining n / k_last, and so on. The levels add up to the
/// formula above.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_TRAFFIC_H
#define MESHC_DIALECTS_SPMD_TRAFFIC_H

#include "dialects/Nd/NdTypes.h"
#include "dialects/Spmd/SpmdEnums.h.inc"

namespace meshc::spmd {

/// Bytes that each rank sends along one mesh axis.
struct AxisTraffic {
  mlir::StringAttr axis;
  double bytes = 0;
};

/// Traffic of one collective over `axes` (in the mesh's order) with a whole of
/// `wholeBytes`. One entry per axis.
llvm::SmallVector<AxisTraffic>
getRingTraffic(CollectiveKind kind, llvm::ArrayRef<mlir::StringAttr> axes,
               double wholeBytes, nd::MeshAttr mesh);

/// The sum of getRingTraffic over the axes.
double getRingBytes(CollectiveKind kind, llvm::ArrayRef<mlir::StringAttr> axes,
                    double wholeBytes, nd::MeshAttr mesh);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_TRAFFIC_H
