//===- LoopCopies.h - what loops keep for later ones ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LOOPCOPIES_H
#define MESHC_LIB_PARTITION_LOOPCOPIES_H

#include "lib/Partition/PlanMoves.h"
#include "lib/Reshard/ReshardPlan.h"
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

/// What a loop may keep for later ones, besides what its model keeps: values
/// that its body moves to other shardings, or makes of such values by ops other
/// than products. It keeps those that are taken.
struct LoopCopies {
  nd::ScanOp loop;
  llvm::SmallVector<Form> offered; ///< of values of its body
};

/// One of these forms, as a later loop sees it.
struct OfferedForm {
  nd::TensorType type;
  double cost; ///< of keeping an entry, in bytes that are sent
  nd::ScanOp loop;
  mlir::Value source; ///< of that loop's body
};

/// The forms of a loop's body that cost a move: what is moved to another
/// sharding, and what ops make of it, products excepted. Results of products
/// are computed again only where the program asks for it.
FormSet findMoved(const BlockPlan &body, reshard::ReshardPlanner &planner,
                  nd::MeshAttr mesh);

/// Lets the loop, whose block has the plan, keep what later loops of the block
/// take. Drops steps of these loops that nothing uses.
void keepTaken(LoopCopies copies, BlockPlan &plan);

/// The highest cost of a kept byte (PlanOptions::keptByteCost) at which a loop
/// of the plans may have copies to keep: where it moves a value, and another
/// loop over the same dim follows, what the moves cost over the bytes that are
/// kept. Values that are reduced do not count, nor does what is made of moved
/// ones. 0 if there are no such moves.
double getMostForCopies(FunctionPlans plans, reshard::ReshardPlanner &planner,
                        nd::MeshAttr mesh);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LOOPCOPIES_H
