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

/// Rows of `width` numbers, `stride` apart.
struct FloatRows {
  const float *data;
  int64_t stride, count, width;
};

struct RowLoops {
  /// Copies `count` rows of n numbers of `type` (F32, BF16, F16), `rowBytes`
  /// apart, to f32 rows that are `stride` numbers apart.
  void (*widen)(uint8_t type, const char *from, int64_t rowBytes, int64_t count,
                int64_t n, float *to, int64_t stride);
  /// Copies rows, times their factors (null: 1), to rows of `type` that are
  /// `rowBytes` apart, rounded to nearest even.
  void (*narrow)(uint8_t type, const FloatRows &from, const float *factors,
                 char *to, int64_t rowBytes);
  /// s ← s · scale + bias
  void (*addBias)(float *s, int64_t n, float scale, const float *bias);
  /// s ← -inf where the mask, one byte for each entry, is 0.
  void (*applyMask)(float *s, int64_t n, const uint8_t *mask);
  /// s ← -inf where the label is not as `labels` (MeshcLabels) asks beside that
  /// of the row.
  void (*applyLabels)(float *s, int64_t n, uint8_t labels,
                      const int32_t *ofMemory, int32_t ofRow);
  /// The largest entry; -inf for n = 0. NaN is ignored.
  float (*findLargest)(const float *s, int64_t n);
  /// s ← exp(s · scale - shift), within 2 units of the last place, 0 below
  /// 2^-126, NaN for NaN; returns the sum.
  float (*exponentiate)(float *s, int64_t n, float scale, float shift);
  /// s ← exp(s · scale - shift) as above; then d ← s · (d - inner) · factor.
  void (*findSlopes)(float *d, float *s, int64_t n, float scale, float shift,
                     float inner, float factor);
  /// x ← x · factor
  void (*multiply)(float *x, int64_t n, float factor);
  /// sums[i] = the sum of row i of a · row i of b.
  void (*sumProducts)(const FloatRows &a, const FloatRows &b, float *sums);
  /// sums[i] = the sum of x · row i.
  void (*sumRowProducts)(const float *x, const FloatRows &rows, float *sums);
  /// sum ← sum + the rows times their weights, or without the former `sum`.
  void (*addRows)(const float *weights, const FloatRows &rows, bool adds,
                  float *sum);
};

/// Vectors of 16, 32 and 64 bytes.
const RowLoops &plainRowLoops();
const RowLoops &avx2RowLoops();
const RowLoops &avx512RowLoops();

/// Those for this processor.
const RowLoops &rowLoops();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_ATTENTION_ROWLOOPS_H
