//===- Floats.h - rounding, NaN and 16-bit floats ---------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Arithmetic in a direction of rounding, by the host's own units, and the
/// formats of 16 bits, which it may not have. NaN that an operation makes is
/// canonical: 0x7fffffff in f32 ("PTX ISA", "Floating-Point Instructions").
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_FLOATS_H
#define MESHC_TEST_GPU_PTX_FLOATS_H

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace meshc::ptx {

/// .rn, .rz, .rm and .rp.
enum class Round { Nearest, Zero, Down, Up };

/// Rounds in a direction while it lives.
class Rounding {
public:
  explicit Rounding(Round mode) : before(std::fegetround()) {
    std::fesetround(mode == Round::Zero   ? FE_TOWARDZERO
                    : mode == Round::Down ? FE_DOWNWARD
                    : mode == Round::Up   ? FE_UPWARD
                                          : FE_TONEAREST);
  }
  ~Rounding() { std::fesetround(before); }
  Rounding(const Rounding &) = delete;
  Rounding &operator=(const Rounding &) = delete;

private:
  int before;
};

inline float canonicalNan(float) {
  uint32_t bits = 0x7fffffff;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline double canonicalNan(double) {
  return std::numeric_limits<double>::quiet_NaN();
}
/// The value, or the canonical NaN.
template <class T> T canonical(T value) {
  return value == value ? value : canonicalNan(value);
}

/// .ftz: a subnormal becomes a zero of its sign. Other types stay.
template <class T> T flush(T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::fpclassify(value) == FP_SUBNORMAL)
      return std::copysign(T(0), value);
  return value;
}

/// A format of 16 bits: its digits after the point, and bits of the exponent.
struct HalfFormat {
  int fraction, exponentBits;
};
constexpr HalfFormat f16Format = {10, 5}, bf16Format = {7, 8};

/// The nearest number of the format, or the next one in a direction.
uint16_t roundToHalf(double value, HalfFormat format,
                     Round mode = Round::Nearest);
/// Exact.
double fromHalf(uint16_t bits, HalfFormat format);

/// a · b + c, rounded so that rounding again to 16 bits is as rounding once (to
/// odd: Boldo, Melquiond, "Emulation of a FMA", 2008). The arguments have 16
/// bits.
double multiplyAddToOdd(double a, double b, double c);

/// a, b and c in the direction.
template <class T> T addIn(Round mode, T a, T b) {
  Rounding rounding(mode);
  volatile T x = a, y = b;
  volatile T result = x + y;
  return result;
}
template <class T> T multiplyIn(Round mode, T a, T b) {
  Rounding rounding(mode);
  volatile T x = a, y = b;
  volatile T result = x * y;
  return result;
}
template <class T> T divideIn(Round mode, T a, T b) {
  Rounding rounding(mode);
  volatile T x = a, y = b;
  volatile T result = x / y;
  return result;
}
template <class T> T multiplyAddIn(Round mode, T a, T b, T c) {
  Rounding rounding(mode);
  volatile T x = a, y = b, z = c;
  volatile T result = std::fma(x, y, z);
  return result;
}
template <class T> T rootIn(Round mode, T a) {
  Rounding rounding(mode);
  volatile T x = a;
  volatile T result = std::sqrt(x);
  return result;
}
/// A number of another type as T.
template <class T, class From> T convertIn(Round mode, From from) {
  Rounding rounding(mode);
  volatile From x = from;
  volatile T result = static_cast<T>(x);
  return result;
}

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_FLOATS_H
