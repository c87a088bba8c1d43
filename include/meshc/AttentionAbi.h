//===- AttentionAbi.h - attention in compiled programs ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about attention. C99 and C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_ATTENTIONABI_H
#define MESHC_ATTENTIONABI_H

#include "meshc/KernelAbi.h"
#include "meshc/TensorAbi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// At most this many dims of an attention besides rows, memory, key and value.
#define MESHC_ATTENTION_DIMS 6

/// Where an element of a tensor of an attention lies: elements from one entry
/// of a dim to the next, 0 where the tensor lacks the dim. Elements along the
/// key or the values lie in sequence.
typedef struct MeshcAttentionStrides {
  int64_t outer[MESHC_ATTENTION_DIMS];
  int64_t row, memory;
} MeshcAttentionStrides;

/// The i32 labels of an attention: an entry is allowed only if its memory label
/// is so beside its row label.
typedef enum MeshcLabels {
  MESHC_NO_LABELS = 0,
  MESHC_LABELS_EQUAL = 1,
  MESHC_LABELS_DIFFER = 2,
  MESHC_LABELS_LESS = 3, ///< the memory's is less
  MESHC_LABELS_AT_MOST = 4,
  MESHC_LABELS_GREATER = 5,
  MESHC_LABELS_AT_LEAST = 6
} MeshcLabels;

/// output = softmax(query · keys · scale + bias) · values for each entry of the
/// outer dims: `rows` queries and `memory` keys and values, of `keys` and
/// `values` elements. Query, keys, values, bias, output and gradients are of
/// `type` (F32, BF16 or F16), `logSums` is f32; all is computed in f32. Not
/// allowed are entries whose mask is 0, those that the labels forbid, and those
/// outside of the band:
/// lowest ≤ m - (first + r) ≤ highest for memory m and row r, where `first` is
/// the sum of the rank's coordinates times `rowOffsets`. A row without an
/// allowed entry has output 0.
/// With `biasByDistance`, the bias has one dim instead of rows and memory, in
/// sequence in memory: the bias of m and r is its entry
/// m - (first + r) + `lastRow`, where `lastRow` is the last row of all ranks.
/// `logSums[row]` = log(sum(exp(scores))), +inf without an allowed entry.
/// The gradient's call reads them, the output and its gradient, and writes the
/// gradients of query, keys and values, which lie in memory as these do. With
/// `hasBiasGradient`, it also writes that of a bias by distance, in f32, for
/// each entry of the outer dims.
///
/// A program describes a call so, in a kernel that the runtime computes: the
/// kernel's buffers are query, keys, values, mask, bias, labels of the rows and
/// of the memory if there are any, output and logSums; for a gradient also the
/// gradient of the output, and the gradients of query, keys and values, and of
/// the bias if it is computed; then `scratchBytes` bytes that contain nothing
/// else during the call (AttentionScratch.h).
typedef struct MeshcAttention {
  int64_t outerCount;
  int64_t outerSizes[MESHC_ATTENTION_DIMS];
  int64_t sharedCount; ///< of the outer dims, which keys and values both have;
                       ///< they come first. Keys or values, not both, may have
                       ///< some of those that come next
  int64_t rows, memory, keys, values;
  int64_t rowOffsets[MESHC_MAX_AXES]; ///< by mesh axis
  int64_t lowest, highest;            ///< INT64_MIN, INT64_MAX: no limit
  float scale;
  uint8_t hasMask, hasBias;
  uint8_t type; ///< MeshcType
  uint8_t biasByDistance, hasBiasGradient;
  uint8_t labels;    ///< MeshcLabels
  uint8_t unused[6]; ///< 0: programs have the same bytes each time
  int64_t lastRow;
  MeshcAttentionStrides query, key, value, mask, bias, output, logSums;
  MeshcAttentionStrides rowLabels, memoryLabels;
  MeshcAttentionStrides biasGradient; ///< `memory`: along the distances, 1
  int64_t scratchBytes;
} MeshcAttention;

/// The code of such kernels. `counts` is null, or says how many entries exist
/// on the rank of the rows, and then of each outer dim (MeshcDim): the others
/// are padding and are not computed. `buffers`: of the launch.
void meshc_attention(const MeshcContext *ctx, const MeshcAttention *attention,
                     const int64_t *counts, void *const *buffers);
void meshc_attention_gradient(const MeshcContext *ctx,
                              const MeshcAttention *attention,
                              const int64_t *counts, void *const *buffers);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_ATTENTIONABI_H
