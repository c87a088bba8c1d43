//===- VirtualRanks.h - blocks of all ranks in one process ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Building blocks of the collectives' reference semantics: groups of ranks and
/// copies between tensors of different ranks.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_VIRTUALRANKS_H
#define MESHC_DIALECTS_SPMD_VIRTUALRANKS_H

#include "dialects/Nd/Interfaces/HostTensor.h"

namespace meshc::spmd {

/// The rank with these coordinates, one per mesh axis.
int64_t getRankAt(llvm::ArrayRef<int64_t> coordinates, nd::MeshAttr mesh);

/// The ranks that differ from `rank` on `axes` only, row-major over `axes` (the
/// last one fastest); `rank` is among them.
llvm::SmallVector<int64_t> getGroup(int64_t rank,
                                    llvm::ArrayRef<mlir::StringAttr> axes,
                                    nd::MeshAttr mesh);

/// Position of `rank` in getGroup(rank, axes, mesh).
int64_t getPositionInGroup(int64_t rank, llvm::ArrayRef<mlir::StringAttr> axes,
                           nd::MeshAttr mesh);

/// Copies a box of `sizes` from position `from` in `source` to position `to` in
/// `target` (one start per dim). Both have the same dims.
void copyBox(const nd::HostTensor &source, llvm::ArrayRef<int64_t> from,
             nd::HostTensor &target, llvm::ArrayRef<int64_t> to,
             llvm::ArrayRef<int64_t> sizes);

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_VIRTUALRANKS_H
