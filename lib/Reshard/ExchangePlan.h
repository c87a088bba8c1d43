//===- ExchangePlan.h - what the blocks of an op lack -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What ranks exchange for an op where its factors are cut so that a rank's
/// blocks lack entries (nd::Access). Windows (spmd.window) widen the blocks of
/// operands to all entries that the rank needs; the op runs on these; then
/// windows take the entries of its results to the ranks that have them, and the
/// windows of one result are added up. For convolutions, this is the halo
/// exchange of Dryden et al. (arXiv 1903.06681).
///
/// An op may have several such factors. They are exchanged one after another,
/// so that the second exchange moves the corners that the first one brought:
/// entries of neighbours along both dims, which no rank sends separately.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_RESHARD_EXCHANGEPLAN_H
#define MESHC_LIB_RESHARD_EXCHANGEPLAN_H

#include "dialects/Spmd/Sharding.h"
#include "lib/Reshard/WindowPlan.h"

namespace meshc::reshard {

/// The exchange of one value along one factor.
struct BlockExchange {
  unsigned factor = 0; ///< in the rule
  unsigned value = 0;  ///< the operand's or the result's number
  mlir::StringAttr dim;
  /// The value before and after the windows: they widen an operand, and narrow
  /// a result.
  nd::TensorType from, to;
  /// Their sum is the value after them. An operand has one.
  llvm::SmallVector<spmd::WindowSegments, 1> windows;
  double bytes = 0; ///< sent by each rank, padding of other dims included

  /// Entries of a widened block along the dim: of `to` for an operand.
  int64_t getBlock(bool isOperand, nd::MeshAttr mesh) const {
    return spmd::getBlockSize(isOperand ? to : from, dim.getValue(), mesh);
  }
};

/// What moves along one factor.
struct FactorTraffic {
  double bytes = 0;     ///< sent by each rank
  int64_t permutes = 0; ///< pieces from other ranks, or rounds
};

struct ExchangePlan {
  /// In the order in which they take place; one value may have several.
  llvm::SmallVector<BlockExchange, 1> operands, results;
  /// The types of the op on widened blocks.
  llvm::SmallVector<nd::TensorType> operandTypes, resultTypes;
  /// The factor in segments that is cut. The op is then a window of its
  /// operands, which makes the result, and nothing else is exchanged.
  std::optional<unsigned> inSegments;
  llvm::SmallVector<FactorTraffic> traffic; ///< by factor

  bool isEmpty() const {
    return operands.empty() && results.empty() && !inSegments;
  }
};

/// Whether ranks exchange what blocks lack if these axes cut the factor.
bool isExchanged(const nd::Factor &factor,
                 llvm::ArrayRef<mlir::StringAttr> axes, nd::MeshAttr mesh);

/// The only segment of a window that changes the size of a dim from `a` to `b`:
/// its first min(a, b) entries.
nd::Segment getCommonSegment(int64_t a, int64_t b);

/// The plan for an op with this rule (alternatives among its factors) and with
/// operands and results of these types, whose dims are cut as `axesOfFactor`
/// says. Results that are added up have the types in which they are.
///
/// Nothing where the types contradict the factors, where planWindow gives none
/// for one of the windows, or if a factor in segments is not the only one that
/// is exchanged. For an access in windows there are four more reasons:
///
/// - more than eight pieces move along the factor;
/// - 32 bits do not number the entries of a widened value;
/// - a widened block is no smaller than the value;
/// - no rank needs an entry of the value.
std::optional<ExchangePlan>
planExchange(const nd::PartitionRule &rule,
             llvm::ArrayRef<spmd::AxisList> axesOfFactor,
             llvm::ArrayRef<nd::TensorType> operands,
             llvm::ArrayRef<nd::TensorType> results, nd::MeshAttr mesh);

} // namespace meshc::reshard

#endif // MESHC_LIB_RESHARD_EXCHANGEPLAN_H
