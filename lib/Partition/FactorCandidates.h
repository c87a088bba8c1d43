//===- FactorCandidates.h - the axes that may cut an op ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_FACTORCANDIDATES_H
#define MESHC_LIB_PARTITION_FACTORCANDIDATES_H

#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// Axes that may cut a factor.
struct FactorCandidate {
  spmd::AxisList axes;
  bool isMoved; ///< they cut no dim along the factor now
};

using FactorCandidates = llvm::SmallVector<FactorCandidate>;

/// Which axes are also candidates for factors whose dims they do not cut.
enum class Movable {
  None,
  OfWholeDims, ///< that cut a dim of the op along a Whole factor, such as the
               ///< minor dim of a merge: they must leave it, and an all-to-all
               ///< sends less than to gather the dim
  All          ///< that cut a value of the op or of the block
};

/// The candidates of each factor of the op's rule: axes that cut a dim along it
/// in a wanted result, in an operand as it is available or will be, or in a
/// value that ops of the block link to it; then movable ones; and at last none.
/// What results want comes first.
llvm::SmallVector<FactorCandidates>
findCandidates(mlir::Operation *op, const nd::PartitionRule &rule,
               llvm::ArrayRef<OperandForms> operands,
               llvm::ArrayRef<WantedResult> wanted, nd::MeshAttr mesh,
               const LinkedCuts &cuts, Movable movable);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_FACTORCANDIDATES_H
