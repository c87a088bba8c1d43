//===- Traffic.h - bytes that collectives move ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a collective costs each rank, by the ring algorithms (Patarasuk and
/// Yuan, J. Parallel Distrib. Comput. 69, 2009; Thakur et al., IJHPCA 19,
/// 2005), which are optimal in bytes. Over a group of k ranks, with a whole of
/// n bytes (the operand's block where data is reduced or exchanged, the
/// result's block where it is gathered), each rank sends
///
///     all_reduce                                  2 (k - 1) / k · n
///     reduce_scatter, all_gather, all_to_all        (k - 1) / k · n
///
/// Over several axes the ring goes level by level: the last axis carries
/// (k_last - 1) / k_last of the whole, the one before it the same share of the
/// rest (n / k_last), and so on. The levels add up to the formula above.
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

/// Traffic of one collective over `axes` (the mesh's order) whose whole, as
/// above, is `wholeBytes`. One entry per axis.
llvm::SmallVector<AxisTraffic>
getRingTraffic(CollectiveKind kind, llvm::ArrayRef<mlir::StringAttr> axes,
               double wholeBytes, nd::MeshAttr mesh);

/// The sum of getRingTraffic over the axes.
double getRingBytes(CollectiveKind kind, llvm::ArrayRef<mlir::StringAttr> axes,
                    double wholeBytes, nd::MeshAttr mesh);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_TRAFFIC_H
