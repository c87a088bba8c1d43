//===- LoopCopies.h - what loops keep for later ones ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LOOPCOPIES_H
#define MESHC_LIB_PARTITION_LOOPCOPIES_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "llvm/ADT/MapVector.h"

namespace meshc::partition {

/// Finds values of the body of `later` that the body of `earlier` has as well,
/// for the same entry: entries of one stack, one whole tensor, entries that
/// `earlier` stacks for `later`, and what equal ops make of equal values (value
/// numbering: Cocke and Schwartz, Programming Languages and Their Compilers,
/// 1970). A backward loop has such values where it recomputes those of its
/// forward loop.
///
/// Maps them to those of `earlier`, in the order of the body. Empty if the
/// loops are not over the same entries of one dim, or if `earlier` may end
/// before the last one. Linear in the ops of both bodies.
llvm::MapVector<mlir::Value, mlir::Value> findLoopTwins(nd::ScanOp earlier,
                                                        nd::ScanOp later);

/// What a loop of the new block may keep for later ones, besides what its
/// model keeps: stacked results whose entries are values that its body has
/// moved to other shardings. It keeps those that are used.
struct LoopCopies {
  explicit LoopCopies(nd::ScanOp loop) : loop(loop) {}

  nd::ScanOp loop; ///< the old one
  /// The stacks, by the values of its body.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::OpResult, 1>> stacks;
};

/// A quick test of a program after the phase partition: false if no loop has
/// copies to keep. There may be some if another loop over the same dim follows,
/// and the first one moves a value at a higher cost than that of keeping it
/// (MoveLimit::keptByteCost). Partial sums do not count.
bool mayKeepCopies(mlir::ModuleOp partitioned, double keptByteCost);

/// Replaces the new loop by one without the stacks that nothing uses. To be
/// called for later loops first.
void dropUnused(const LoopCopies &copies);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LOOPCOPIES_H
