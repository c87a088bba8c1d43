//===- AttentionScratch.h - scratch memory of attention ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How much scratch memory the compiler plans for an attention on the host, and
/// how the runtime divides it. With many threads, each works on smaller blocks
/// of the scores.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_ATTENTIONSCRATCH_H
#define MESHC_ATTENTIONSCRATCH_H

#include "meshc/GemmScratch.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A block of the scores: at most this many rows and entries of the memory. It
/// stays in the second cache, with its gradient.
#define MESHC_ATTENTION_ROWS 64
#define MESHC_ATTENTION_MEMORY 512
/// Blocks are not made smaller than this.
#define MESHC_ATTENTION_FEW_ROWS 8
#define MESHC_ATTENTION_FEW_MEMORY 64
/// The number of threads whose blocks are full-sized.
#define MESHC_ATTENTION_THREADS 8

static inline int64_t meshcRoundUp(int64_t x, int64_t to) {
  return (x + to - 1) / to * to;
}

/// Bytes for the products of a block of these sizes.
static inline int64_t meshcAttentionProductBytes(const MeshcAttention *a,
                                                 int64_t rows, int64_t memory) {
  int64_t width = a->keys > a->values ? a->keys : a->values;
  int64_t shapes[3][3] = {
      {rows, memory, width}, {rows, width, memory}, {memory, width, rows}};
  int64_t most = 0;
  for (int i = 0; i < 3; ++i) {
    MeshcGemm gemm;
    gemm.m = shapes[i][0], gemm.n = shapes[i][1], gemm.k = shapes[i][2];
    gemm.batch = 1;
    gemm.type = gemm.typeC = MESHC_F32;
    int64_t bytes = meshcGemmScratchBytes(&gemm);
    most = bytes > most ? bytes : most;
  }
  return meshcRoundUp(most, 64);
}

/// Bytes for one thread that works on blocks of these sizes: the scores, for a
/// gradient also theirs, two numbers for each row, and the products.
static inline int64_t meshcAttentionBlockBytes(const MeshcAttention *a,
                                               int isGradient, int64_t rows,
                                               int64_t memory) {
  int64_t scores = 4 * rows * meshcRoundUp(memory, 16);
  return meshcRoundUp((isGradient ? 2 : 1) * scores + 8 * rows, 64) +
         meshcAttentionProductBytes(a, rows, memory);
}

/// The number of parts that threads compute independently: blocks of rows, or
/// for a gradient, which adds to keys and values, their shared dims.
static inline int64_t meshcAttentionTasks(const MeshcAttention *a,
                                          int isGradient) {
  int64_t tasks = isGradient ? 1
                             : (a->rows + MESHC_ATTENTION_FEW_ROWS - 1) /
                                   MESHC_ATTENTION_FEW_ROWS;
  int64_t dims = isGradient ? a->sharedCount : a->outerCount;
  for (int64_t i = 0; i < dims; ++i)
    tasks *= a->outerSizes[i];
  return tasks;
}

/// Bytes for any number of threads; a multiple of 64.
static inline int64_t meshcAttentionScratchBytes(const MeshcAttention *a,
                                                 int isGradient) {
  int64_t rows = meshcSmaller(a->rows, MESHC_ATTENTION_ROWS);
  int64_t memory = meshcSmaller(a->memory, MESHC_ATTENTION_MEMORY);
  return meshcSmaller(meshcAttentionTasks(a, isGradient),
                      MESHC_ATTENTION_THREADS) *
         meshcAttentionBlockBytes(a, isGradient, rows, memory);
}

#ifdef __cplusplus
}
#endif

#endif // MESHC_ATTENTIONSCRATCH_H
