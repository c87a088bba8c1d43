//===- TensorSizes.h - how large tensors may be -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_TENSORSIZES_H
#define MESHC_DIALECTS_ND_TENSORSIZES_H

#include <cstdint>

namespace meshc::nd {

/// Elements of a tensor over all ranks, whether it is ever in memory or not.
/// Its bytes, and the sum of two such numbers, fit into 63 bits. [L2.6]
inline constexpr int64_t maxElements = int64_t(1) << 60;

/// Elements of a tensor that a rank stores. [L2.6]
inline constexpr int64_t maxStoredElements = int64_t(1) << 48;

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_TENSORSIZES_H
