//===- Finiteness.cpp - NaN and infinities among values -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Finiteness.h"

#include "runtime/Base/Parallel.h"
#include "runtime/Base/TensorBlock.h"

#include <algorithm>
#include <atomic>
#include <vector>

using namespace meshc::runtime;

/// `infinity`: the bit pattern of infinity.
template <typename Bits>
static uint8_t classifyBits(const void *values, int64_t count, int64_t stride,
                            Bits infinity) {
  const Bits *bits = static_cast<const Bits *>(values);
  const Bits magnitude = static_cast<Bits>(~Bits(0)) >> 1;
  bool nan = false, infinite = false;
  for (int64_t i = 0; i < count; ++i) {
    Bits value = bits[i * stride] & magnitude;
    nan |= value > infinity;
    infinite |= value == infinity;
  }
  return static_cast<uint8_t>((nan ? HasNan : 0) |
                              (infinite ? HasInfinity : 0));
}

uint8_t meshc::runtime::classify(MeshcType type, const void *values,
                                 int64_t count, int64_t stride) {
  switch (type) {
  case MESHC_F32:
    return classifyBits<uint32_t>(values, count, stride, 0x7f800000u);
  case MESHC_BF16:
    return classifyBits<uint16_t>(values, count, stride, 0x7f80);
  case MESHC_F16:
    return classifyBits<uint16_t>(values, count, stride, 0x7c00);
  case MESHC_I32:
  case MESHC_I1:
    break;
  }
  return 0;
}

namespace {
/// The entries of a dim that exist in a block.
struct Extent {
  int64_t count, stride;
};
} // namespace

static uint8_t classifyDims(MeshcType type, const Extent *dim,
                            const Extent *end, const char *values) {
  if (dim + 1 == end)
    return classify(type, values, dim->count, dim->stride);
  uint8_t found = 0;
  for (int64_t i = 0; i < dim->count; ++i)
    found |= classifyDims(type, dim + 1, end,
                          values + i * dim->stride * sizeOf(type));
  return found;
}

uint8_t meshc::runtime::classify(const MeshcProgram &program,
                                 const MeshcTensor &tensor,
                                 const int64_t *coords, const void *values) {
  constexpr int64_t grainElements = int64_t(1) << 18; // justify a thread
  const auto *block = static_cast<const char *>(values);
  const MeshcType type = typeOf(tensor);
  if (tensor.rank == 0)
    return classify(type, values, 1);
  std::vector<Extent> dims;
  int64_t elements = 1;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    dims.push_back({blockRange(program, tensor.dims[i], coords).count,
                    tensor.dims[i].localStride});
    elements *= dims.back().count;
  }
  const Extent outer = dims[0];
  const int64_t rowElements = elements / std::max<int64_t>(1, outer.count);
  std::atomic<uint8_t> found{0};
  parallelFor(
      outer.count, grainElements / std::max<int64_t>(1, rowElements) + 1,
      [&](int64_t begin, int64_t end) {
        std::vector<Extent> part = dims;
        part[0].count = end - begin;
        found |= classifyDims(type, part.data(), part.data() + part.size(),
                              block + begin * outer.stride * sizeOf(type));
      });
  return found;
}
