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
  return tensors;
}

void meshc_attention(const MeshcContext *ctx, const MeshcAttention *attention,
                     void *const *buffers) {
  Buffers all(buffers);
  AttentionTensors tensors = takeTensors(all, *attention);
  void *output = all.take();
  auto *logSums = all.take<float>();
  runAttention(*attention, ctx->coords, tensors, output, logSums,
               {all.take<char>(), attention->scratchBytes});
}

void meshc_attention_gradient(const MeshcContext *ctx,
                              const MeshcAttention *attention,
                              void *const *buffers) {
  Buffers all(buffers);
  AttentionTensors tensors = takeTensors(all, *attention);
  AttentionResults results{};
  results.output = all.take();
  results.logSums = all.take<float>();
  results.gradient = all.take();
  void *ofQuery = all.take(), *ofKey = all.take(), *ofValue = all.take();
  runAttentionGradient(*attention, ctx->coords, tensors, results, ofQuery,
                       ofKey, ofValue,
                       {all.take<char>(), attention->scratchBytes});
}
