//===- AttentionTiles.h - attention on a GPU, in tiles ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_EXEC_ATTENTIONTILES_H
#define MESHC_DIALECTS_EXEC_ATTENTIONTILES_H

#include "dialects/Exec/Exec.h"

namespace meshc::exec {

/// How a GPU's kernel divides an nd.attention or its gradient. A block of
/// threads holds a tile of the rows (for the gradients of keys and values: of
/// the memory) in workgroup memory, and goes through the tiles of the other
/// dim. Its threads form a grid of 16 × 8; each has the scores of `held` ×
/// `streamed` pairs in registers.
struct AttentionTiles {
  static constexpr int64_t heldThreads = 16, streamedThreads = 8;
  static constexpr int64_t threads = heldThreads * streamedThreads;

  int64_t held = 1, streamed = 1; ///< entries of a thread

  /// Entries of a tile.
  int64_t getHeldEntries() const { return heldThreads * held; }
  int64_t getStreamedEntries() const { return streamedThreads * streamed; }
  /// Floats from one entry of a tile to the next, for entries of `size`
  /// elements: whole groups of what the threads of a row have, and four more,
  /// so that accesses of neighbours fall into different banks.
  static int64_t getStride(int64_t size) { return (size + 31) / 32 * 32 + 4; }
  /// Floats from one row of a tile of scores to the next.
  int64_t getScoreStride() const { return getStreamedEntries() + 4; }
  /// Workgroup memory for keys and values of these sizes.
  int64_t getBytes(int64_t keys, int64_t values, bool isGradient) const;

  /// The largest tiles that fit into the memory of a block. Nothing if none
  /// fit, if there are so few rows that the scores take no more memory than the
  /// query, or if only one of keys and values has a dim of the rows. Few rows
  /// that share a mask have tiles all the same: only these read no more of the
  /// memory than what the mask allows.
  static std::optional<AttentionTiles> of(mlir::Operation *op);
};

} // namespace meshc::exec

#endif // MESHC_DIALECTS_EXEC_ATTENTIONTILES_H
