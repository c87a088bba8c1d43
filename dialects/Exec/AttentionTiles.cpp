//===- AttentionTiles.cpp - attention on a GPU, in tiles ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Exec/AttentionTiles.h"
#include "dialects/Exec/AttentionCall.h"
#include "dialects/Nd/Ops/AttentionOps.h"

using namespace mlir;

namespace meshc::exec {

/// Workgroup memory that every GPU gives a block without being asked.
static constexpr int64_t mostBytes = 48 * 1024;

int64_t AttentionTiles::getBytes(int64_t keys, int64_t values,
                                 bool isGradient) const {
  int64_t both = getStride(keys) + getStride(values);
  int64_t scores = getHeldEntries() * getScoreStride();
  // A gradient holds query and gradient of the output, or keys and values, and
  // has two numbers for each row.
  int64_t held = getHeldEntries() * (isGradient ? both : getStride(keys));
  int64_t rows =
      isGradient ? 2 * std::max(getHeldEntries(), getStreamedEntries()) : 0;
  return 4 * (held + getStreamedEntries() * both + scores + rows);
}

/// Whether keys and values have the same dims of the rows.
static bool haveSameRows(Operation *op, const AttentionLoops &loops) {
  auto scores = nd::AttentionScores::of(op);
  return llvm::none_of(
      llvm::drop_begin(loops.outer, loops.shared), [&](StringAttr dim) {
        return nd::getTensorType(scores.keys).hasDim(dim.getValue()) ||
               nd::getTensorType(scores.values).hasDim(dim.getValue());
      });
}

/// Whether all rows have one mask, as those of a position that is generated.
static bool sharesMask(Operation *op, const AttentionLoops &loops) {
  Value mask = nd::AttentionScores::of(op).mask;
  return mask &&
         !(loops.row && nd::getTensorType(mask).hasDim(loops.row.getValue()));
}

std::optional<AttentionTiles> AttentionTiles::of(Operation *op) {
  auto loops = AttentionLoops::of(op);
  if (!loops || !haveSameRows(op, *loops))
    return std::nullopt;
  MeshcAttention sizes = describeAttentionSizes(op);
  bool isGradient = isa<nd::AttentionGradientOp>(op);
  if (sizes.rows < heldThreads && (isGradient || !sharesMask(op, *loops)))
    return std::nullopt;
  // From the most products for each load to the fewest.
  constexpr AttentionTiles choices[] = {{4, 4}, {4, 2}, {2, 4}, {2, 2},
                                        {2, 1}, {1, 4}, {1, 2}, {1, 1}};
  for (const AttentionTiles &tiles : choices) {
    bool hasRows = isGradient || tiles.held == 1 ||
                   tiles.getHeldEntries() / 2 < sizes.rows;
    if (hasRows &&
        tiles.getBytes(sizes.keys, sizes.values, isGradient) <= mostBytes)
      return tiles;
  }
  return std::nullopt;
}

} // namespace meshc::exec
