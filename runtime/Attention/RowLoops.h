//===- RowLoops.h - loops over a row of scores ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder. The loops exist once for each size of the
/// processor's vectors, in files that are compiled for processors that this one
/// may not be.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_ATTENTION_ROWLOOPS_H
#define MESHC_RUNTIME_ATTENTION_ROWLOOPS_H

#include <cstdint>

namespace meshc::runtime {

/// What is added to a row of scores. A stride of 0 repeats one entry.
struct RowExtras {
  float scale;
  const float *bias; ///< null: none
  int64_t biasStride;
  const uint8_t *mask; ///< null: none
  int64_t maskStride;
};

struct RowLoops {
  /// s ← s · scale + bias; -inf where the mask is 0.
  void (*finishScores)(float *s, int64_t n, const RowExtras &extras);
  /// The largest entry; -inf for n = 0. NaN is ignored.
  float (*findLargest)(const float *s, int64_t n);
  /// s ← exp(s - shift), within 2 units of the last place, 0 below e^-87, NaN
  /// for NaN; returns the sum.
  float (*exponentiate)(float *s, int64_t n, float shift);
  /// d ← p · (d - inner) · scale
  void (*findSlopes)(float *d, const float *p, int64_t n, float inner,
                     float scale);
  /// x ← x · factor
  void (*multiply)(float *x, int64_t n, float factor);
  /// The sum of a · b.
  float (*sumProducts)(const float *a, const float *b, int64_t n);
};

/// Vectors of 16, 32 and 64 bytes.
const RowLoops &plainRowLoops();
const RowLoops &avx2RowLoops();
const RowLoops &avx512RowLoops();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_ATTENTION_ROWLOOPS_H
