//===- Float16.h - bf16 and f16 as bits -------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The two 16-bit floats for compilers that lack them: conversions between
/// their bits and f32, rounded to nearest even; NaN stays NaN.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_FLOAT16_H
#define MESHC_RUNTIME_BASE_FLOAT16_H

#include <cstdint>
#include <cstring>

namespace meshc::runtime {

inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bitsFromFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float floatFromBf16(uint16_t bits) {
  return floatFromBits(uint32_t(bits) << 16);
}

inline uint16_t bf16FromFloat(float value) {
  uint32_t bits = bitsFromFloat(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>(bits >> 16 | 0x40); // quiet NaN
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float floatFromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) // infinity, NaN
    return floatFromBits(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) { // zero and subnormals are multiples of 2^-24
    float value = static_cast<float>(fraction) * 0x1p-24f;
    return floatFromBits(sign | bitsFromFloat(value));
  }
  return floatFromBits(sign | (exponent + 112) << 23 | fraction << 13);
}

inline uint16_t f16FromFloat(float value) {
  uint32_t bits = bitsFromFloat(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u)
    return sign | 0x7e00;  // quiet NaN
  if (bits >= 0x477ff000u) // rounds to more than 65504
    return sign | 0x7c00;
  if (bits < 0x38800000u) { // subnormal: adding 0.5 leaves the rounded bits
    float shifted = floatFromBits(bits) + 0.5f;
    return sign | static_cast<uint16_t>(bitsFromFloat(shifted) - 0x3f000000u);
  }
  bits += 0xfff + (bits >> 13 & 1);
  return sign | static_cast<uint16_t>((bits - 0x38000000u) >> 13);
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_FLOAT16_H
