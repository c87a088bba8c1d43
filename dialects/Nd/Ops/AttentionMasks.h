//===- AttentionMasks.h - what a mask of attention says ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to the Attention family: the conditions in a mask that kernels need
/// not read from a tensor of the scores' size.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_ATTENTIONMASKS_H
#define MESHC_DIALECTS_ND_OPS_ATTENTIONMASKS_H

#include "dialects/Nd/Ops/AttentionOps.h"
#include "mlir/IR/PatternMatch.h"

namespace meshc::nd {

/// A band that a mask is.
struct MaskBand {
  mlir::StringAttr position;
  std::optional<int64_t> lowest, highest;
};

/// The band if the mask is a comparison of `memory` with a dim of the rows,
/// such as `iota(memory) <= iota(row)` or `abs(iota(memory) - iota(row)) < 64`.
std::optional<MaskBand> getBand(mlir::Value mask,
                                const AttentionScores &scores);

/// Labels whose comparison a mask is.
struct MaskLabels {
  mlir::Value rows, memory;
  Predicate predicate; ///< memory label PREDICATE row label
};

/// Whether labels take less memory than the mask: if it compares two i32 of
/// which one has `memory` and otherwise only dims of the keys, and the other
/// has a dim that the keys lack, and not `memory`; or if `or` joins such
/// comparisons, and all of them bound the index along `memory` from one side.
bool comparesLabels(mlir::Value mask, const AttentionScores &scores);

/// The labels of such a mask. Ops that compute them are built before its op.
MaskLabels makeLabels(mlir::Value mask, const AttentionScores &scores,
                      mlir::PatternRewriter &rewriter);

/// Whether the mask is true everywhere.
bool allowsAll(mlir::Value mask);

/// A search for a part of a mask that must be true where the mask is. The mask
/// may be computed outside of loops.
class MaskSearch {
public:
  using Test = llvm::function_ref<bool(mlir::Value)>;

  /// The first part that passes the test; null without one.
  mlir::Value find(mlir::Value mask, Test isWanted);
  /// The mask without the part that was found; null if nothing is left. What
  /// was computed outside of a loop still is.
  mlir::Value makeRest(mlir::PatternRewriter &rewriter) const;
  /// A value from the block of the part, in the block of the mask.
  mlir::Value carryIn(mlir::Value value, mlir::PatternRewriter &rewriter) const;

private:
  /// An operand on the way from the mask to the part.
  struct Step {
    mlir::Operation *op;
    unsigned operand;
  };
  static llvm::MutableArrayRef<mlir::OpOperand> getParts(mlir::Value mask);

  llvm::SmallVector<Step> path; ///< the first op makes the mask
  unsigned left = 64;           ///< how many more values may be visited
};

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_ATTENTIONMASKS_H
