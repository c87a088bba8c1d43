//===- RowLoopsBody.h - the loops of RowLoops.h -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For the files that define MESHC_VECTOR_BYTES. All is in an unnamed
/// namespace: the linker must not choose one file's function for all
/// processors.
///
//===----------------------------------------------------------------------===//

#include "runtime/Attention/RowLoops.h"

#include <limits>

namespace {

constexpr int lanes = MESHC_VECTOR_BYTES / 4;
typedef float Floats __attribute__((vector_size(MESHC_VECTOR_BYTES)));
typedef int32_t Whole __attribute__((vector_size(MESHC_VECTOR_BYTES)));
constexpr float infinity = std::numeric_limits<float>::infinity();

#define MESHC_INLINE inline __attribute__((always_inline))

MESHC_INLINE Floats load(const float *from) {
  Floats v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}

MESHC_INLINE void store(float *to, Floats v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

MESHC_INLINE Floats splat(float x) { return Floats{} + x; }

/// The first `count` < lanes entries; `other` behind them.
MESHC_INLINE Floats loadPart(const float *from, int64_t count, float other) {
  Floats v = splat(other);
  for (int64_t i = 0; i < count; ++i)
    v[i] = from[i];
  return v;
}

/// e^x: 2^n · e^r with |r| ≤ ln(2)/2, and a polynomial of degree 6 for e^r
/// (Cephes, expf.c). 0 below e^-87, +inf above e^89.
MESHC_INLINE Floats exponential(Floats x) {
  const Floats least = splat(-87.0f), most = splat(89.0f);
  Whole isTiny = x<least, isHuge = x> most;
  Floats y = isTiny ? least : isHuge ? most : x;
  // Adding 1.5 · 2^23 rounds to a whole number.
  Floats n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;
  Floats r = y - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  Floats p = splat(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  // Of a NaN, the factor may be anything; the product is NaN.
  Whole isNumber = n == n;
  Floats number = isNumber ? n : Floats{};
  Whole bits = (__builtin_convertvector(number, Whole) + 127) << 23;
  Floats power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return isTiny ? Floats{} : p * power;
}

float sumLanes(Floats v) {
  float sum = 0;
  for (int i = 0; i < lanes; ++i)
    sum += v[i];
  return sum;
}

void multiply(float *x, int64_t n, float factor) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(x + i, load(x + i) * factor);
  for (; i < n; ++i)
    x[i] *= factor;
}

void finishScores(float *s, int64_t n,
                  const meshc::runtime::RowExtras &extras) {
  multiply(s, n, extras.scale);
  if (extras.bias)
    for (int64_t i = 0; i < n; ++i)
      s[i] += extras.bias[i * extras.biasStride];
  if (extras.mask)
    for (int64_t i = 0; i < n; ++i)
      s[i] = extras.mask[i * extras.maskStride] ? s[i] : -infinity;
}

float findLargest(const float *s, int64_t n) {
  Floats largest = splat(-infinity);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats v = load(s + i);
    largest = v > largest ? v : largest;
  }
  float best = -infinity;
  for (int lane = 0; lane < lanes; ++lane)
    best = largest[lane] > best ? largest[lane] : best;
  for (; i < n; ++i)
    best = s[i] > best ? s[i] : best;
  return best;
}

float exponentiate(float *s, int64_t n, float shift) {
  Floats sum{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats e = exponential(load(s + i) - shift);
    store(s + i, e);
    sum += e;
  }
  float total = sumLanes(sum);
  Floats e = exponential(loadPart(s + i, n - i, -infinity) - shift);
  for (int64_t rest = 0; i + rest < n; ++rest) {
    s[i + rest] = e[rest];
    total += e[rest];
  }
  return total;
}

void findSlopes(float *d, const float *p, int64_t n, float inner, float scale) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(d + i, load(p + i) * (load(d + i) - inner) * scale);
  for (; i < n; ++i)
    d[i] = p[i] * (d[i] - inner) * scale;
}

float sumProducts(const float *a, const float *b, int64_t n) {
  Floats sum{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    sum += load(a + i) * load(b + i);
  float total = sumLanes(sum);
  for (; i < n; ++i)
    total += a[i] * b[i];
  return total;
}

#undef MESHC_INLINE

constexpr meshc::runtime::RowLoops loops = {
    finishScores, findLargest, exponentiate, findSlopes, multiply, sumProducts};

} // namespace
