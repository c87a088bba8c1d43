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
/// for the same entry of the loops' dim: entries of one stack, one whole
/// tensor, entries that `earlier` stacks for `later`, and what equal ops make
/// of equal values (value numbering: Cocke and Schwartz, Programming Languages
/// and Their Compilers, 1970). A backward loop has such values where it
/// recomputes those of its forward loop.
///
/// Maps them to those of `earlier`, in the order of the body. Empty if the
/// loops are not over the same entries of one dim, or if `earlier` may end
/// before the last one. Linear in the ops of both bodies.
llvm::MapVector<mlir::Value, mlir::Value> findLoopTwins(nd::ScanOp earlier,
                                                        nd::ScanOp later);

/// Whether a later loop of the block may have twins of the loop's values.
bool isFollowed(nd::ScanOp loop);

/// What a loop of the new block may keep for later ones, besides what its model
/// keeps: stacked results whose entries are values that its body has moved to
/// other shardings, or has made of such values by ops other than products. It
/// keeps those that are used.
struct LoopCopies {
  nd::ScanOp loop; ///< the old one
  /// The stacks, by the values of its body.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::OpResult, 1>> stacks;
};

/// One of these stacks, as a later loop sees it.
struct OfferedForm {
  nd::TensorType type;  ///< of its entries
  double cost;          ///< of keeping an entry, in bytes that are sent
  mlir::OpResult stack; ///< of the new loop
};

/// The highest cost of a kept byte (MoveLimit::keptByteCost) at which a loop of
/// the program may have copies to keep: where it moves a value, and another
/// loop over the same dim follows, what the moves cost over the bytes that are
/// kept. Values that are reduced do not count, nor does what is made of moved
/// ones. 0 if there are no such moves. The program is one after the phase
/// partition.
double getMostForCopies(mlir::ModuleOp partitioned);

/// Replaces the new loop by one without the stacks that nothing uses. To be
/// called for later loops first.
void dropUnused(const LoopCopies &copies);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LOOPCOPIES_H
