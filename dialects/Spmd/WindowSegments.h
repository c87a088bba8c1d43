//===- WindowSegments.h - what a window takes from where --------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The segments of a window of a dim that is cut (spmd.window), and how they
/// may repeat.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_WINDOWSEGMENTS_H
#define MESHC_DIALECTS_SPMD_WINDOWSEGMENTS_H

#include "dialects/Nd/Interfaces/PartitionRule.h"
#include <optional>

namespace meshc::spmd {

/// How a segment repeats: once for each rank of the dim's axes. For the rank
/// with number p, row-major over the axes, p times these numbers are added to
/// the segment's `at` and `from`. Entries that would come from beyond the
/// operand hold anything. Entries beyond the result do not exist.
struct Repeat {
  int64_t at = 0, from = 0;
};

/// What a window takes from where.
struct WindowSegments {
  llvm::SmallVector<nd::Segment, 1> list;
  /// How the only segment repeats, if it does.
  std::optional<Repeat> repeat = {};

  /// Whether each repetition is all of a rank's block of the result, of
  /// `resultBlock` entries.
  bool isWidening(int64_t resultBlock) const;
  /// Whether each repetition is of a rank's block of the operand, of
  /// `operandBlock` entries.
  bool isNarrowing(int64_t operandBlock) const;
  /// The step of the spmd.join that a widening window becomes.
  int64_t getWideningStep(int64_t operandBlock) const {
    return repeat->at - repeat->from + operandBlock;
  }
  /// Whether the segments do not repeat, or do so in one of these two ways; a
  /// step must be at least 1.
  bool canBeLowered(int64_t operandBlock, int64_t resultBlock) const {
    return !repeat || isNarrowing(operandBlock) ||
           (isWidening(resultBlock) && getWideningStep(operandBlock) > 0);
  }
};

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_WINDOWSEGMENTS_H
