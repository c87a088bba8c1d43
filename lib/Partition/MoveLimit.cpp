//===- MoveLimit.cpp - moves of axes that blocks refuse -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Partition/MoveLimit.h"
#include "dialects/Nd/StepNames.h"

using namespace mlir;

namespace meshc::partition {

/// Of what a function sends, and of what it computes. Of a block that saves
/// less, a trial would take longer than it is worth. Work that only pointwise
/// ops save is less: ranks of Megatron's layout compute norms of all tokens.
static constexpr double leastBytes = 0.005, leastPoints = 0.1;

/// A block sends more for the sake of less work only if it saves this share of
/// what the function computes: where a layout cuts few dims, ranks would
/// compute most ops alike.
static constexpr double leastPointsForBytes = 0.25;
/// Sums of bytes are rounded.
static constexpr double equalShare = 1 + 1e-9;

func::FuncOp findCompared(ModuleOp module) {
  return nd::findComparedStep<func::FuncOp>(module);
}

std::optional<double> MoveLimit::getRefusedShare() const {
  auto isWorthTrial = [&](const Refused &block) {
    double points =
        used.points *
        (block.share <= equalShare ? leastPoints : leastPointsForBytes);
    return block.saved.points >= points ||
           (block.share <= equalShare &&
            block.saved.bytes >= leastBytes * used.bytes);
  };
  std::optional<double> least;
  for (const Refused &block : refused)
    if (isWorthTrial(block))
      least = std::min(least.value_or(block.share), block.share);
  return least;
}

} // namespace meshc::partition
