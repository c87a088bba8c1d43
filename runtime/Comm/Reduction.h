//===- Reduction.h - several ranks' values become one -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_REDUCTION_H
#define MESHC_RUNTIME_COMM_REDUCTION_H

#include "meshc/RuntimeAbi.h"
#include "runtime/Base/TensorBlock.h"

#include <cstddef>
#include <cstdint>

namespace meshc::runtime {

/// Bytes that an element of `type` takes in memory.
inline size_t elementBytes(MeshcType type) {
  return static_cast<size_t>(sizeOf(type));
}

/// The type in which partial results of `type` are kept between two steps of a
/// reduction: F32 for BF16 and F16, and `type` for all others.
MeshcType partialType(MeshcType type);

/// A reduction and the types at its two ends. They differ only if partial
/// results are read or written: one of them is then F32, the other BF16 or F16.
struct ReductionKind {
  MeshcReduction reduction;
  MeshcType from, to;
};

/// Reduces `count` elements of `sourceCount` ≥ 1 arrays of type `kind.from`
/// element by element, in their order, and writes the result to each of
/// `destinationCount` arrays of type `kind.to`. A destination may be one of the
/// sources, but must not overlap them otherwise.
///
/// BF16 and F16 are accumulated in f32 and rounded once, to nearest even. MAX
/// and MIN return NaN if any operand is NaN. I32 wraps around. For I1, SUM and
/// MAX are the logical or, PROD and MIN the logical and.
void reduce(const ReductionKind &kind, const void *const *sources,
            int sourceCount, void *const *destinations, int destinationCount,
            int64_t count);

/// memcpy for data that passes through slots. The C library's uses `rep movsb`
/// for these sizes. On some processors (Zen 3) that falls to a tenth of its
/// speed, 3 GB/s, depending on the relative alignment of the two addresses.
void copyBytes(void *to, const void *from, size_t bytes);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_REDUCTION_H
