//===- Finiteness.h - NaN and infinities among values -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Detects non-finite values in a tensor.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_FINITENESS_H
#define MESHC_RUNTIME_BASE_FINITENESS_H

#include "meshc/RuntimeAbi.h"

#include <cstdint>

namespace meshc::runtime {

/// A set of these; 0: all values are finite.
enum Finiteness : uint8_t { HasNan = 1, HasInfinity = 2 };

/// The kinds among `count` values of `type`, `stride` elements apart. Integers
/// are finite.
uint8_t classify(MeshcType type, const void *values, int64_t count,
                 int64_t stride = 1);

/// The kinds among the entries of `tensor` that the rank at `coords` has, in
/// its block at `values`, in the order of the local strides. Padding does not
/// count. Uses all threads of the rank.
uint8_t classify(const MeshcProgram &program, const MeshcTensor &tensor,
                 const int64_t *coords, const void *values);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_FINITENESS_H
