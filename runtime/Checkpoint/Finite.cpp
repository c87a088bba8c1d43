//===- Finite.cpp - finding values that are not finite --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Core/TensorBlock.h"
#include "runtime/Device/Device.h"

using namespace meshc::runtime;

/// Whether an element has all bits of `exponent` set: a NaN or an infinity.
template <typename Bits>
static bool anyNotFinite(const MeshcDim *dim, const MeshcDim *end,
                         const Bits *values, Bits exponent) {
  if (dim == end)
    return (*values & exponent) == exponent;
  bool found = false;
  if (dim + 1 == end) {
    for (int64_t i = 0; i < dim->localSize; ++i)
      found |= (values[i * dim->localStride] & exponent) == exponent;
    return found;
  }
  for (int64_t i = 0; i < dim->localSize && !found; ++i)
    found = anyNotFinite(dim + 1, end, values + i * dim->localStride, exponent);
  return found;
}

const MeshcTensor *meshc::runtime::findNotFinite(const Rank &rank) {
  for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
    const MeshcTensor &tensor = rank.program->tensors[i];
    if (tensor.role != MESHC_PARAMETER)
      continue;
    const char *at = rank.device->read(tensor);
    const MeshcDim *end = tensor.dims + tensor.rank;
    bool found = false;
    if (tensor.type == MESHC_F32)
      found = anyNotFinite(tensor.dims, end,
                           reinterpret_cast<const uint32_t *>(at), 0x7f800000u);
    else if (tensor.type == MESHC_BF16 || tensor.type == MESHC_F16)
      found =
          anyNotFinite(tensor.dims, end, reinterpret_cast<const uint16_t *>(at),
                       uint16_t(tensor.type == MESHC_BF16 ? 0x7f80 : 0x7c00));
    if (found)
      return &tensor;
  }
  return nullptr;
}
