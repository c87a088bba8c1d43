//===- Call.cpp - the attention of compiled programs ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Attention/Attention.h"

using namespace meshc::runtime;

namespace {
/// The buffers of a launch, one after another.
class Buffers {
public:
  explicit Buffers(void *const *next) : next(next) {}
  template <typename Element = void> Element *take() {
    return static_cast<Element *>(*next++);
  }

private:
  void *const *next;
};
} // namespace

static AttentionTensors takeTensors(Buffers &buffers,
                                    const MeshcAttention &attention) {
  AttentionTensors tensors{};
  tensors.query = buffers.take();
  tensors.key = buffers.take();
  tensors.value = buffers.take();
  if (attention.hasMask)
    tensors.mask = buffers.take<uint8_t>();
  if (attention.hasBias)
    tensors.bias = buffers.take();
  if (attention.labels) {
    tensors.rowLabels = buffers.take<const int32_t>();
    tensors.memoryLabels = buffers.take<const int32_t>();
  }
  return tensors;
}

/// The call on what exists. Its blocks need no more scratch memory. If no row
/// adds to the gradients of keys and values, these are 0 all the same, so that
/// such a call goes through all their entries.
static MeshcAttention withoutPadding(const MeshcAttention &attention,
                                     const int64_t *counts) {
  MeshcAttention known = attention;
  if (!counts)
    return known;
  known.rows = counts[0];
  for (int64_t dim = 0; dim < attention.outerCount; ++dim) {
    const int64_t count = counts[1 + dim];
    const bool isShared = dim < attention.sharedCount;
    if (count == 0 && !isShared)
      known.rows = 0;
    else
      known.outerSizes[dim] = count;
  }
  return known;
}

void meshc_attention(const MeshcContext *ctx, const MeshcAttention *attention,
                     const int64_t *counts, void *const *buffers) {
  const MeshcAttention known = withoutPadding(*attention, counts);
  Buffers all(buffers);
  AttentionTensors tensors = takeTensors(all, known);
  void *output = all.take();
  auto *logSums = all.take<float>();
  runAttention(known, ctx->coords, tensors, output, logSums,
               {all.take<char>(), attention->scratchBytes});
}

void meshc_attention_gradient(const MeshcContext *ctx,
                              const MeshcAttention *attention,
                              const int64_t *counts, void *const *buffers) {
  const MeshcAttention known = withoutPadding(*attention, counts);
  Buffers all(buffers);
  AttentionTensors tensors = takeTensors(all, known);
  AttentionResults results{};
  results.output = all.take();
  results.logSums = all.take<float>();
  results.gradient = all.take();
  AttentionGradients gradients{};
  gradients.query = all.take();
  gradients.key = all.take();
  gradients.value = all.take();
  if (known.hasBiasGradient)
    gradients.bias = all.take<float>();
  runAttentionGradient(known, ctx->coords, tensors, results, gradients,
                       {all.take<char>(), attention->scratchBytes});
}
