//===- Finite.cpp - finding values that are not finite --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Core/TensorBlock.h"
#include "runtime/Device/Device.h"
#include "runtime/Device/Parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace meshc::runtime;

/// Elements that are worth a thread.
static constexpr int64_t grainElements = int64_t(1) << 18;

/// Whether an element has all bits of `exponent` set: a NaN or an infinity.
template <typename Bits>
static bool anyNotFinite(const MeshcDim *dim, const MeshcDim *end,
                         const Bits *values, Bits exponent) {
  if (dim == end)
    return (*values & exponent) == exponent;
  bool found = false;
  if (dim + 1 == end && dim->localStride == 1) {
    for (int64_t i = 0; i < dim->localSize; ++i)
      found |= (values[i] & exponent) == exponent;
    return found;
  }
  for (int64_t i = 0; i < dim->localSize && !found; ++i)
    found = anyNotFinite(dim + 1, end, values + i * dim->localStride, exponent);
  return found;
}

/// The same for a tensor, by all threads of the rank.
template <typename Bits>
static bool anyNotFinite(const MeshcTensor &tensor, const char *block,
                         Bits exponent) {
  const auto *values = reinterpret_cast<const Bits *>(block);
  if (tensor.rank == 0)
    return anyNotFinite(tensor.dims, tensor.dims, values, exponent);
  const MeshcDim &outer = tensor.dims[0];
  const int64_t rowElements =
      localElements(tensor) / std::max<int64_t>(1, outer.localSize);
  std::atomic<bool> found{false};
  parallelFor(
      outer.localSize, grainElements / std::max<int64_t>(1, rowElements) + 1,
      [&](int64_t begin, int64_t end) {
        std::vector<MeshcDim> dims(tensor.dims, tensor.dims + tensor.rank);
        dims[0].localSize = end - begin;
        if (anyNotFinite(dims.data(), dims.data() + dims.size(),
                         values + begin * outer.localStride, exponent))
          found = true;
      });
  return found;
}

const MeshcTensor *meshc::runtime::findNotFinite(const Rank &rank) {
  for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
    const MeshcTensor &tensor = rank.program->tensors[i];
    if (tensor.role != MESHC_PARAMETER)
      continue;
    const char *at = rank.device->read(tensor);
    bool found = false;
    if (tensor.type == MESHC_F32)
      found = anyNotFinite(tensor, at, uint32_t(0x7f800000));
    else if (tensor.type == MESHC_BF16)
      found = anyNotFinite(tensor, at, uint16_t(0x7f80));
    else if (tensor.type == MESHC_F16)
      found = anyNotFinite(tensor, at, uint16_t(0x7c00));
    if (found)
      return &tensor;
  }
  return nullptr;
}
