//===- Attention.h - attention that stores no scores ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scaled dot-product attention and its gradient on the host, in blocks of rows
/// and memory whose scores stay in the cache: FlashAttention (arXiv
/// 2205.14135), with the loops of FlashAttention-2 (arXiv 2307.08691). The
/// softmax of a row goes on from one block of the memory to the next (Milakov
/// and Gimelshein, arXiv 1805.02867). Blocks outside of the band are not
/// computed. Elements of 16 bits become f32 when a block is packed, and results
/// are rounded once. Results have the same bits for any number of threads.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_ATTENTION_ATTENTION_H
#define MESHC_RUNTIME_ATTENTION_ATTENTION_H

#include "runtime/Blas/Gemm.h"

namespace meshc::runtime {

/// The tensors of a call, as MeshcAttention says; of its type where void.
struct AttentionTensors {
  const void *query, *key, *value;
  const uint8_t *mask;                     ///< null: none
  const void *bias;                        ///< null: none
  const int32_t *rowLabels, *memoryLabels; ///< null: none
};

/// Computes output and logarithms of sums on the rank's threads. There may be
/// no rows. `coordinates`: of the rank, one for each mesh axis. `scratch` has
/// at least the bytes of one thread (AttentionScratch.h); with less than
/// planned, fewer threads work.
void runAttention(const MeshcAttention &attention, const int64_t *coordinates,
                  const AttentionTensors &tensors, void *output, float *logSums,
                  const GemmScratch &scratch);

/// What the gradient reads besides.
struct AttentionResults {
  const void *output;
  const float *logSums;
  const void *gradient; ///< of the output, which it lies like
};

/// What the gradient writes.
struct AttentionGradients {
  void *query, *key, *value;
  float *bias = nullptr; ///< with hasBiasGradient
};

/// Computes the gradients. The scratch memory is as above, with all slots.
void runAttentionGradient(const MeshcAttention &attention,
                          const int64_t *coordinates,
                          const AttentionTensors &tensors,
                          const AttentionResults &results,
                          const AttentionGradients &gradients,
                          const GemmScratch &scratch);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_ATTENTION_ATTENTION_H
