//===- ReshardBound.h - bytes that no reshard avoids ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A lower bound for the search for a path between two shardings.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_RESHARDBOUND_H
#define MESHC_LIB_RESHARD_RESHARDBOUND_H

#include "dialects/Spmd/Sharding.h"

namespace meshc::reshard {

/// Bytes that each rank sends at least, on the average of all ranks, to convert
/// `from` into `to` by steps that cut dims only over axes of either:
///
/// - Without a sum, what a rank has of its new block needs no sending; the rest
///   does.
/// - A sum of k terms that m ranks need takes k - 1 messages until one rank has
///   it, and m - 1 more; for k = m, an all-reduce, this is the bound of
///   Patarasuk and Yuan (J. Parallel Distrib. Comput. 69, 2009).
///
/// The two shardings are of one tensor; `to` is partial only over axes of
/// `from`. A sum may be of f32, and become 16 bits where it ends.
double getLeastBytes(nd::TensorType from, nd::TensorType to, nd::MeshAttr mesh);

/// The same for steps over any axes of the mesh. Ranks with copies of a term
/// may then share the work of a sum, so each element of a sum takes k + m - 2
/// messages in all, not for each copy.
double getLeastBytesOverAll(nd::TensorType from, nd::TensorType to,
                            nd::MeshAttr mesh);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_RESHARDBOUND_H
