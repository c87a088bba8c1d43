//===- AttentionScratch.h - scratch memory of attention ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How much scratch memory the compiler plans for an attention on the host, and
/// how the runtime divides it: a part for each thread, and for a gradient what
/// the threads share.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_ATTENTIONSCRATCH_H
#define MESHC_ATTENTIONSCRATCH_H

#include "meshc/GemmScratch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A block of the scores: at most this many rows and entries of the memory.
/// Whole tiles of 6 and of 14 rows, and of 16 and of 32 columns. What a thread
/// needs for a block stays in the second cache. The blocks do not depend on the
/// number of threads: sums are added in one order.
#define MESHC_ATTENTION_ROWS 168
#define MESHC_ATTENTION_MEMORY 64
/// At most this many threads work on an attention.
#define MESHC_ATTENTION_THREADS 16

static inline int64_t meshcRoundUp(int64_t x, int64_t to) {
  return (x + to - 1) / to * to;
}
static inline int64_t meshcDivideUp(int64_t x, int64_t by) {
  return (x + by - 1) / by;
}

/// Floats from one row to the next of a block with rows of this width.
static inline int64_t meshcAttentionStride(int64_t width) {
  return meshcRoundUp(width, 16);
}

/// Floats of a matrix of `depth` rows and `columns` columns as the kernels of
/// runtime/Blas pack it: slivers of 16 or 32 columns with 16 unused floats
/// each, in parts of at most MESHC_AVX2_DEPTH rows.
static inline int64_t meshcPackedColumns(int64_t columns, int64_t depth) {
  return meshcRoundUp(columns, 32) * depth +
         meshcRoundUp(columns, 32) * meshcDivideUp(depth, MESHC_AVX2_DEPTH);
}

/// The blocks that a thread works on, in floats. Which of them exist depends on
/// the call; an absent one has 0.
typedef struct MeshcAttentionBlocks {
  int64_t rows, memory; ///< of a block of scores
  /// f32 copies of rows of the query and of the output's gradient, and of a
  /// block of 16-bit rows before it is packed.
  int64_t query, gradient, widened;
  /// Factors of products: keys, values, query and gradient, whose columns are
  /// the rows of the tensor (`Along`) or its elements (`Across`).
  int64_t keysAlong, keysAcross, valuesAlong, valuesAcross;
  int64_t queryAcross, gradientAcross;
  int64_t scores, slopes;   ///< with the gradient of the scores
  int64_t output;           ///< sums
  int64_t ofKeys, ofValues; ///< sums
  int64_t ofBias;           ///< sums, one for each distance of a block
  int64_t ranges; ///< what mask and labels allow to each block of rows
} MeshcAttentionBlocks;

static inline MeshcAttentionBlocks meshcAttentionBlocks(const MeshcAttention *a,
                                                        int isGradient) {
  MeshcAttentionBlocks b;
  int64_t rows = meshcSmaller(a->rows, MESHC_ATTENTION_ROWS);
  int64_t memory = meshcSmaller(a->memory, MESHC_ATTENTION_MEMORY);
  int64_t key = meshcAttentionStride(a->keys);
  int64_t value = meshcAttentionStride(a->values);
  int64_t most = rows > memory ? rows : memory;
  int64_t backward = isGradient ? 1 : 0, forward = 1 - backward;
  b.rows = rows;
  b.memory = memory;
  b.query = rows * key;
  b.gradient = backward * rows * value;
  b.widened = a->type == MESHC_F32 ? 0 : most * (key > value ? key : value);
  b.keysAlong = meshcPackedColumns(memory, a->keys);
  b.keysAcross = backward * meshcPackedColumns(a->keys, memory);
  b.valuesAlong = backward * meshcPackedColumns(memory, a->values);
  b.valuesAcross = forward * meshcPackedColumns(a->values, memory);
  b.queryAcross = backward * meshcPackedColumns(a->keys, rows);
  b.gradientAcross = backward * meshcPackedColumns(a->values, rows);
  b.scores = rows * meshcAttentionStride(memory);
  b.slopes = backward * b.scores;
  b.output = forward * rows * value;
  b.ofKeys = backward * memory * key;
  b.ofValues = backward * memory * value;
  b.ofBias = a->hasBiasGradient ? meshcRoundUp(a->rows + memory, 16) : 0;
  b.ranges =
      a->hasMask || a->labels
          ? meshcRoundUp(4 * meshcDivideUp(a->rows, MESHC_ATTENTION_ROWS), 16)
          : 0;
  return b;
}

/// Bytes for one thread; a multiple of 64, like each block.
static inline int64_t meshcAttentionThreadBytes(const MeshcAttention *a,
                                                int isGradient) {
  MeshcAttentionBlocks b = meshcAttentionBlocks(a, isGradient);
  return 4 * (b.query + b.gradient + b.widened + b.keysAlong + b.keysAcross +
              b.valuesAlong + b.valuesAcross + b.queryAcross +
              b.gradientAcross + b.scores + b.slopes + b.output + b.ofKeys +
              b.ofValues + b.ofBias + b.ranges);
}

static inline int64_t meshcAttentionEntries(const MeshcAttention *a,
                                            int64_t firstDim, int64_t lastDim) {
  int64_t count = 1;
  for (int64_t dim = firstDim; dim < lastDim; ++dim)
    count *= a->outerSizes[dim];
  return count;
}

/// The number of parts that threads compute: blocks of rows, or for a gradient,
/// blocks of the memory, each with all rows that add to it.
static inline int64_t meshcAttentionTasks(const MeshcAttention *a,
                                          int isGradient) {
  return isGradient ? meshcAttentionEntries(a, 0, a->sharedCount) *
                          meshcDivideUp(a->memory, MESHC_ATTENTION_MEMORY)
                    : meshcAttentionEntries(a, 0, a->outerCount) *
                          meshcDivideUp(a->rows, MESHC_ATTENTION_ROWS);
}

/// Of a gradient: the number of entries of the shared dims that threads work on
/// at the same time, at most. Each has a slot in the scratch memory.
static inline int64_t meshcAttentionSlots(const MeshcAttention *a) {
  int64_t blocks = meshcDivideUp(a->memory, MESHC_ATTENTION_MEMORY);
  return meshcSmaller(meshcAttentionEntries(a, 0, a->sharedCount),
                      meshcDivideUp(MESHC_ATTENTION_THREADS, blocks) + 1);
}

/// Blocks of rows of such an entry.
static inline int64_t meshcAttentionSlotBlocks(const MeshcAttention *a) {
  return meshcAttentionEntries(a, a->sharedCount, a->outerCount) *
         meshcDivideUp(a->rows, MESHC_ATTENTION_ROWS);
}

/// Counters of a slot: one for each block of rows, one for the entry, and one
/// for the gradient of each bias.
static inline int64_t meshcAttentionSlotCounters(const MeshcAttention *a) {
  int64_t biases = a->hasBiasGradient
                       ? meshcAttentionEntries(a, a->sharedCount, a->outerCount)
                       : 0;
  return meshcAttentionSlotBlocks(a) + 1 + biases;
}

/// Bytes of a slot: the counters, and for 16 bits the sums of the query's
/// gradient in f32. A multiple of 64.
static inline int64_t meshcAttentionSlotBytes(const MeshcAttention *a) {
  int64_t sums = a->type == MESHC_F32
                     ? 0
                     : meshcAttentionSlotBlocks(a) *
                           meshcSmaller(a->rows, MESHC_ATTENTION_ROWS) *
                           meshcAttentionStride(a->keys);
  return meshcRoundUp(8 * meshcAttentionSlotCounters(a), 64) + 4 * sums;
}

/// Bytes for any number of threads; a multiple of 64.
static inline int64_t meshcAttentionScratchBytes(const MeshcAttention *a,
                                                 int isGradient) {
  int64_t threads =
      meshcSmaller(meshcAttentionTasks(a, isGradient), MESHC_ATTENTION_THREADS);
  return threads * meshcAttentionThreadBytes(a, isGradient) +
         (isGradient ? meshcAttentionSlots(a) * meshcAttentionSlotBytes(a) : 0);
}

#ifdef __cplusplus
}
#endif

#endif // MESHC_ATTENTIONSCRATCH_H
