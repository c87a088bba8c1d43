//===- Moves.cpp - the plugin's own kernels -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

using namespace meshc::cuda;

static int64_t bytesOf(uint8_t type) {
  switch (type) {
  case MESHC_F32:
  case MESHC_I32:
    return 4;
  case MESHC_BF16:
  case MESHC_F16:
    return 2;
  default:
    return 1;
  }
}

/// Whether every vector of so many elements lies entirely within one run, and
/// its 16-byte parts are aligned.
static bool isVector(const MeshcCudaRuns &runs, int64_t vector) {
  if (reinterpret_cast<uintptr_t>(runs.base) % 16 != 0)
    return false;
  return runs.stride == 0 ||
         (runs.runLength % vector == 0 && runs.stride % vector == 0);
}

const char *meshc::cuda::combine(MeshcCudaRank *rank, MeshcCudaStream stream,
                                 const MeshcCudaCombine *order) {
  static const char *const types[] = {"f32", "bf16", "f16", "i32", "i1"};
  static const char *const reductions[] = {
#define MESHC_REDUCTION(CONSTANT, Kind, name, number, identity, combined) #name,
#include "meshc/Reductions.def"
  };
  if (order->type > MESHC_I1 || order->reduction >= std::size(reductions))
    return say("a reduction or type that the plugin does not know");
  bool isHalf = order->type == MESHC_BF16 || order->type == MESHC_F16;
  if (order->partials > MESHC_CUDA_READS_PARTIALS ||
      (order->partials != MESHC_CUDA_NO_PARTIALS && !isHalf))
    return say("partial results that the plugin does not know");
  int64_t vector = 16 / bytesOf(order->type);
  bool vectors =
      std::all_of(order->sources, order->sources + order->sourceCount,
                  [&](const auto &runs) { return isVector(runs, vector); }) &&
      std::all_of(order->destinations,
                  order->destinations + order->destinationCount,
                  [&](const auto &runs) { return isVector(runs, vector); });
  // One kernel per name: combine_f32_sum, combine_f32_sum_vector,
  // combine_bf16_sum_to_f32, combine_bf16_sum_of_f32_vector.
  static const char *const partials[] = {"", "_to_f32", "_of_f32"};
  std::string name = std::string("combine_") + types[order->type] + "_" +
                     reductions[order->reduction] + partials[order->partials] +
                     (vectors ? "_vector" : "");
  int64_t work = vectors ? order->count / vector + 1 : order->count;
  void *parameters[] = {const_cast<MeshcCudaCombine *>(order)};
  return launchOwn(rank, stream, name, work, parameters);
}

const char *meshc::cuda::transpose(MeshcCudaRank *rank, MeshcCudaStream stream,
                                   void *to, const void *from, int64_t rows,
                                   int64_t columns, int64_t blockBytes) {
  int64_t unit = 16;
  while (unit > 1 &&
         (blockBytes % unit || reinterpret_cast<uintptr_t>(to) % unit ||
          reinterpret_cast<uintptr_t>(from) % unit))
    unit /= 2;
  int64_t units = blockBytes / unit, work = rows * columns * units;
  if (work == 0)
    return nullptr;
  void *parameters[] = {&to, &from, &rows, &columns, &units};
  return launchOwn(rank, stream, "transpose_" + std::to_string(unit), work,
                   parameters);
}

const char *meshc::cuda::mark(MeshcCudaRank *rank, MeshcCudaStream stream,
                              uint32_t *place, uint32_t value) {
  void *parameters[] = {&place, &value};
  return launchOwn(rank, stream, "mark", 1, parameters);
}
