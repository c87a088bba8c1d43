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

#include "meshc/RuntimeAbi.h"
#include "runtime/Attention/RowLoops.h"

#include <limits>
#include <utility>
#if MESHC_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

namespace {

constexpr int lanes = MESHC_VECTOR_BYTES / 4;
typedef float Floats __attribute__((vector_size(MESHC_VECTOR_BYTES)));
typedef int32_t Whole __attribute__((vector_size(MESHC_VECTOR_BYTES)));
typedef uint32_t Bits __attribute__((vector_size(MESHC_VECTOR_BYTES)));
typedef uint16_t Halves __attribute__((vector_size(MESHC_VECTOR_BYTES / 2)));
typedef uint8_t Bytes __attribute__((vector_size(MESHC_VECTOR_BYTES / 4)));
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

/// Which lanes are among the first `count`.
MESHC_INLINE Whole areFirst(int64_t count) {
  Whole numbers;
  for (int lane = 0; lane < lanes; ++lane)
    numbers[lane] = lane;
  return numbers < Whole{} + static_cast<int32_t>(count);
}

/// The first `count` < lanes entries; `other` behind them. Reads no others.
MESHC_INLINE Floats loadPart(const float *from, int64_t count, float other) {
#if MESHC_VECTOR_BYTES == 64
  return _mm512_mask_loadu_ps(splat(other),
                              static_cast<__mmask16>((1u << count) - 1), from);
#elif MESHC_VECTOR_BYTES == 32
  Whole isThere = areFirst(count);
  Floats v = _mm256_maskload_ps(from, (__m256i)isThere);
  return isThere ? v : splat(other);
#else
  Floats v = splat(other);
  for (int64_t i = 0; i < count; ++i)
    v[i] = from[i];
  return v;
#endif
}

/// Stores the first `count` < lanes entries.
MESHC_INLINE void storePart(float *to, int64_t count, Floats v) {
#if MESHC_VECTOR_BYTES == 64
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), v);
#elif MESHC_VECTOR_BYTES == 32
  _mm256_maskstore_ps(to, (__m256i)areFirst(count), v);
#else
  for (int64_t i = 0; i < count; ++i)
    to[i] = v[i];
#endif
}

/// p · 2^n for whole n ≤ 128 and p of about 1.
MESHC_INLINE Floats scaleByPower(Floats p, Floats n) {
#if MESHC_VECTOR_BYTES == 64
  return _mm512_scalef_ps(p, n);
#else
  // Of a NaN, and of what the caller leaves out, the factor may be anything.
  Whole isKnown = n >= -126.0f;
  Floats number = isKnown ? n : Floats{};
  Whole bits = (__builtin_convertvector(number, Whole) + 127) << 23;
  Floats power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return p * power;
#endif
}

/// e^x: 2^n · e^r with |r| ≤ ln(2)/2, and a polynomial of degree 6 for e^r
/// (Cephes, expf.c). 0 below 2^-126, +inf above e^89, and +inf already above
/// e^88.3 where there are no vectors of 64 bytes.
MESHC_INLINE Floats exponential(Floats x) {
  // The least f32 whose exponential is not below.
  const Floats least = splat(-87.33654022f), most = splat(89.0f);
  Floats y = x > most ? most : x;
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
  return x < least ? Floats{} : scaleByPower(p, n);
}

/// Combines all lanes: halves first, then quarters and so on, so that few steps
/// wait for each other.
template <typename Combine>
MESHC_INLINE float combineLanes(Floats v, Combine combine) {
  float parts[lanes];
  __builtin_memcpy(parts, &v, sizeof(v));
#pragma clang loop unroll(full)
  for (int width = lanes / 2; width > 0; width /= 2)
#pragma clang loop unroll(full)
    for (int i = 0; i < width; ++i)
      parts[i] = combine(parts[i], parts[i + width]);
  return parts[0];
}

/// The sums of neighbouring lanes, first those of a and then those of b.
template <int... i>
MESHC_INLINE Floats addPairs(Floats a, Floats b,
                             std::integer_sequence<int, i...>) {
  return __builtin_shufflevector(a, b, (2 * i)...) +
         __builtin_shufflevector(a, b, (2 * i + 1)...);
}

/// Lane i of the result is the sum of all lanes of vectors[i].
MESHC_INLINE Floats sumLanesOfEach(Floats vectors[lanes]) {
#pragma clang loop unroll(full)
  for (int count = lanes / 2; count > 0; count /= 2)
#pragma clang loop unroll(full)
    for (int i = 0; i < count; ++i)
      vectors[i] = addPairs(vectors[2 * i], vectors[2 * i + 1],
                            std::make_integer_sequence<int, lanes>());
  return vectors[0];
}

MESHC_INLINE float sumLanes(Floats v) {
  return combineLanes(v, [](float a, float b) { return a + b; });
}

/// The largest lane. No lane may be NaN.
MESHC_INLINE float findLargestLane(Floats v) {
  return combineLanes(v, [](float a, float b) { return b > a ? b : a; });
}

//===----------------------------------------------------------------------===//
// Numbers of 16 bits, as Float16.h converts them
//===----------------------------------------------------------------------===//

template <typename To, typename From> MESHC_INLINE To reinterpret(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from), "the same bits");
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

MESHC_INLINE Bits splatBits(uint32_t x) { return Bits{} + x; }

MESHC_INLINE Floats fromBf16(Bits bits) {
  return reinterpret<Floats>(bits << 16);
}

MESHC_INLINE Floats fromF16(Bits bits) {
  Bits sign = (bits & 0x8000u) << 16, exponent = bits & 0x7c00u,
       fraction = bits & 0x3ffu;
  Bits normal = ((bits & 0x7fffu) << 13) + (112u << 23);
  Bits special = (fraction << 13) | 0x7f800000u;
  // Zero and subnormals are multiples of 2^-24.
  Bits small = reinterpret<Bits>(
      __builtin_convertvector(reinterpret<Whole>(fraction), Floats) * 0x1p-24f);
  Bits magnitude = exponent == splatBits(0)         ? small
                   : exponent == splatBits(0x7c00u) ? special
                                                    : normal;
  return reinterpret<Floats>(magnitude | sign);
}

MESHC_INLINE Bits toBf16(Floats x) {
  Bits bits = reinterpret<Bits>(x), size = bits & 0x7fffffffu;
  Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  Bits quiet = (bits >> 16) | 0x40u;
  return size > splatBits(0x7f800000u) ? quiet : rounded;
}

MESHC_INLINE Bits toF16(Floats x) {
  Bits bits = reinterpret<Bits>(x), sign = (bits >> 16) & 0x8000u,
       size = bits & 0x7fffffffu;
  Bits normal = (size + 0xfffu + ((size >> 13) & 1u) - 0x38000000u) >> 13;
  // Adding 0.5 leaves the rounded bits of a subnormal number.
  Bits small =
      reinterpret<Bits>(reinterpret<Floats>(size) + 0.5f) - 0x3f000000u;
  Bits result = size < splatBits(0x38800000u) ? small : normal;
  result = size >= splatBits(0x477ff000u) ? splatBits(0x7c00u) : result;
  result = size > splatBits(0x7f800000u) ? splatBits(0x7e00u) : result;
  return result | sign;
}

template <bool isBf16>
void widenHalves(const uint16_t *from, int64_t n, float *to) {
  auto convert = [](Halves halves) __attribute__((always_inline)) {
    Bits bits = __builtin_convertvector(halves, Bits);
    return isBf16 ? fromBf16(bits) : fromF16(bits);
  };
  Halves halves{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    __builtin_memcpy(&halves, from + i, sizeof(halves));
    store(to + i, convert(halves));
  }
  for (int64_t rest = 0; i + rest < n; ++rest)
    halves[rest] = from[i + rest];
  Floats last = convert(halves);
  for (int64_t rest = 0; i + rest < n; ++rest)
    to[i + rest] = last[rest];
}

template <bool isBf16>
void narrowToHalves(const float *from, int64_t n, float factor, uint16_t *to) {
  auto convert = [factor](Floats x) __attribute__((always_inline)) {
    Floats scaled = x * factor;
    return __builtin_convertvector(isBf16 ? toBf16(scaled) : toF16(scaled),
                                   Halves);
  };
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Halves halves = convert(load(from + i));
    __builtin_memcpy(to + i, &halves, sizeof(halves));
  }
  Halves last = convert(loadPart(from + i, n - i, 0));
  for (int64_t rest = 0; i + rest < n; ++rest)
    to[i + rest] = last[rest];
}

void copyFloats(const float *from, int64_t n, float *to) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(to + i, load(from + i));
  if (i < n)
    storePart(to + i, n - i, loadPart(from + i, n - i, 0));
}

void widen(uint8_t type, const char *from, int64_t rowBytes, int64_t count,
           int64_t n, float *to, int64_t stride) {
  for (int64_t row = 0; row < count; ++row, from += rowBytes, to += stride)
    if (type == MESHC_BF16)
      widenHalves<true>(reinterpret_cast<const uint16_t *>(from), n, to);
    else if (type == MESHC_F16)
      widenHalves<false>(reinterpret_cast<const uint16_t *>(from), n, to);
    else
      copyFloats(reinterpret_cast<const float *>(from), n, to);
}

void multiplyFloats(const float *from, int64_t n, float factor, float *to) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(to + i, load(from + i) * factor);
  if (i < n)
    storePart(to + i, n - i, loadPart(from + i, n - i, 0) * factor);
}

void narrow(uint8_t type, const meshc::runtime::FloatRows &from,
            const float *factors, char *to, int64_t rowBytes) {
  const float *row = from.data;
  for (int64_t i = 0; i < from.count; ++i, row += from.stride, to += rowBytes) {
    float factor = factors ? factors[i] : 1;
    if (type == MESHC_BF16)
      narrowToHalves<true>(row, from.width, factor,
                           reinterpret_cast<uint16_t *>(to));
    else if (type == MESHC_F16)
      narrowToHalves<false>(row, from.width, factor,
                            reinterpret_cast<uint16_t *>(to));
    else
      multiplyFloats(row, from.width, factor, reinterpret_cast<float *>(to));
  }
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void multiply(float *x, int64_t n, float factor) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(x + i, load(x + i) * factor);
  for (; i < n; ++i)
    x[i] *= factor;
}

void addBias(float *s, int64_t n, float scale, const float *bias) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    store(s + i, load(s + i) * scale + load(bias + i));
  for (; i < n; ++i)
    s[i] = s[i] * scale + bias[i];
}

void applyMask(float *s, int64_t n, const uint8_t *mask) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Bytes bytes;
    __builtin_memcpy(&bytes, mask + i, sizeof(bytes));
    Whole isAllowed = __builtin_convertvector(bytes, Whole) != 0;
    store(s + i, isAllowed ? load(s + i) : splat(-infinity));
  }
  for (; i < n; ++i)
    s[i] = mask[i] ? s[i] : -infinity;
}

/// `isAllowed` takes the labels of the memory and of the row, as vectors or
/// scalars.
template <typename IsAllowed>
MESHC_INLINE void applyLabelsIf(float *s, int64_t n, const int32_t *ofMemory,
                                int32_t ofRow, IsAllowed isAllowed) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Whole labels;
    __builtin_memcpy(&labels, ofMemory + i, sizeof(labels));
    store(s + i,
          isAllowed(labels, Whole{} + ofRow) ? load(s + i) : splat(-infinity));
  }
  for (; i < n; ++i)
    s[i] = isAllowed(ofMemory[i], ofRow) ? s[i] : -infinity;
}

void applyLabels(float *s, int64_t n, uint8_t labels, const int32_t *ofMemory,
                 int32_t ofRow) {
  auto apply = [&](auto isAllowed) {
    applyLabelsIf(s, n, ofMemory, ofRow, isAllowed);
  };
  switch (labels) {
  case MESHC_LABELS_EQUAL:
    return apply([](auto memory, auto row) { return memory == row; });
  case MESHC_LABELS_DIFFER:
    return apply([](auto memory, auto row) { return memory != row; });
  case MESHC_LABELS_LESS:
    return apply([](auto memory, auto row) { return memory < row; });
  case MESHC_LABELS_AT_MOST:
    return apply([](auto memory, auto row) { return memory <= row; });
  case MESHC_LABELS_GREATER:
    return apply([](auto memory, auto row) { return memory > row; });
  default: // MESHC_LABELS_AT_LEAST
    return apply([](auto memory, auto row) { return memory >= row; });
  }
}

float findLargest(const float *s, int64_t n) {
  Floats largest = splat(-infinity);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats v = load(s + i);
    largest = v > largest ? v : largest;
  }
  Floats v = loadPart(s + i, n - i, -infinity);
  largest = v > largest ? v : largest;
  return findLargestLane(largest);
}

float exponentiate(float *s, int64_t n, float scale, float shift) {
  Floats sum{};
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats e = exponential(load(s + i) * scale - shift);
    store(s + i, e);
    sum += e;
  }
  if (int64_t rest = n - i; rest > 0) {
    Floats e = exponential(loadPart(s + i, rest, 0) * scale - shift);
    storePart(s + i, rest, e);
    sum += areFirst(rest) ? e : Floats{};
  }
  return sumLanes(sum);
}

void findSlopes(float *d, float *s, int64_t n, float scale, float shift,
                float inner, float factor) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    Floats e = exponential(load(s + i) * scale - shift);
    store(s + i, e);
    store(d + i, e * (load(d + i) - inner) * factor);
  }
  if (int64_t rest = n - i; rest > 0) {
    Floats e = exponential(loadPart(s + i, rest, 0) * scale - shift);
    storePart(s + i, rest, e);
    storePart(d + i, rest, e * (loadPart(d + i, rest, 0) - inner) * factor);
  }
}

/// sums[i] = the sum of n products of a's and b's rows i.
MESHC_INLINE void sumProductsOfRows(const float *a, int64_t strideA,
                                    const float *b, int64_t strideB, int64_t n,
                                    int64_t count, float *sums) {
  for (; count > 0; count -= lanes, sums += lanes) {
    Floats parts[lanes] = {};
#pragma clang loop unroll(full)
    for (int q = 0; q < lanes; ++q) {
      if (q >= count)
        break;
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes)
        parts[q] += load(a + i) * load(b + i);
      if (i < n)
        parts[q] += loadPart(a + i, n - i, 0) * loadPart(b + i, n - i, 0);
      a += strideA, b += strideB;
    }
    Floats totals = sumLanesOfEach(parts);
    if (count >= lanes)
      store(sums, totals);
    else
      storePart(sums, count, totals);
  }
}

void sumProducts(const meshc::runtime::FloatRows &a,
                 const meshc::runtime::FloatRows &b, float *sums) {
  sumProductsOfRows(a.data, a.stride, b.data, b.stride, a.width, a.count, sums);
}

void sumRowProducts(const float *x, const meshc::runtime::FloatRows &rows,
                    float *sums) {
  sumProductsOfRows(x, 0, rows.data, rows.stride, rows.width, rows.count, sums);
}

void addRows(const float *weights, const meshc::runtime::FloatRows &rows,
             bool adds, float *sum) {
  constexpr int64_t atOnce = 4;
  const int64_t n = rows.width;
  int64_t i = 0;
  for (; i + atOnce * lanes <= n; i += atOnce * lanes) {
    Floats parts[atOnce] = {};
    for (int64_t q = 0; adds && q < atOnce; ++q)
      parts[q] = load(sum + i + q * lanes);
    const float *from = rows.data + i;
    for (int64_t row = 0; row < rows.count; ++row, from += rows.stride)
      for (int64_t q = 0; q < atOnce; ++q)
        parts[q] += weights[row] * load(from + q * lanes);
    for (int64_t q = 0; q < atOnce; ++q)
      store(sum + i + q * lanes, parts[q]);
  }
  // For few columns, sums of several rows do not wait for each other.
  for (; i < n; i += lanes) {
    const int64_t columns = n - i < lanes ? n - i : lanes;
    auto loadColumns =
        [columns](const float *from) __attribute__((always_inline)) {
          return columns == lanes ? load(from) : loadPart(from, columns, 0);
        };
    Floats parts[atOnce] = {};
    const float *from = rows.data + i;
    int64_t row = 0;
    for (; row + atOnce <= rows.count; row += atOnce)
      for (int64_t q = 0; q < atOnce; ++q, from += rows.stride)
        parts[q] += weights[row + q] * loadColumns(from);
    for (; row < rows.count; ++row, from += rows.stride)
      parts[0] += weights[row] * loadColumns(from);
    Floats total = (parts[0] + parts[1]) + (parts[2] + parts[3]);
    if (adds)
      total += loadColumns(sum + i);
    if (columns == lanes)
      store(sum + i, total);
    else
      storePart(sum + i, columns, total);
  }
}

#undef MESHC_INLINE

constexpr meshc::runtime::RowLoops loops = {
    widen,       narrow,      addBias,        applyMask,
    applyLabels, findLargest, exponentiate,   findSlopes,
    multiply,    sumProducts, sumRowProducts, addRows};

} // namespace
