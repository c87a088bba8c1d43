//===- Floats.cpp - 16-bit floats -----------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Floats.h"

#include <algorithm>

namespace meshc::ptx {

/// Whether a magnitude between two numbers rounds to the larger one. `rest`:
/// its part of the distance between them.
static bool roundsUp(Round mode, bool isNegative, bool isOdd, double rest) {
  switch (mode) {
  case Round::Nearest:
    return rest > 0.5 || (rest == 0.5 && isOdd);
  case Round::Zero:
    return false;
  case Round::Down:
    return rest > 0 && isNegative;
  case Round::Up:
    return rest > 0 && !isNegative;
  }
  return false;
}

uint16_t roundToHalf(double value, HalfFormat format, Round mode) {
  const int least = 2 - (1 << (format.exponentBits - 1)); // normal exponent
  const uint32_t infinity = ((1u << format.exponentBits) - 1)
                            << format.fraction;
  bool isNegative = std::signbit(value);
  auto sign = static_cast<uint16_t>(isNegative ? 0x8000 : 0);
  if (std::isnan(value))
    return 0x7fff;
  if (value == 0)
    return sign;
  if (std::isinf(value))
    return static_cast<uint16_t>(sign | infinity);
  int exponent = std::max(std::ilogb(value), least);
  double scaled = std::ldexp(std::abs(value), format.fraction - exponent);
  double whole = std::floor(scaled);
  auto digits = static_cast<uint32_t>(whole);
  digits += roundsUp(mode, isNegative, digits & 1, scaled - whole);
  // The leading digit of a normal number adds 1 to the exponent's field, and so
  // does a carry.
  uint64_t bits =
      (static_cast<uint64_t>(exponent - least) << format.fraction) + digits;
  if (bits >= infinity) {
    bool staysFinite = mode == Round::Zero ||
                       (mode == Round::Down && !isNegative) ||
                       (mode == Round::Up && isNegative);
    bits = staysFinite ? infinity - 1 : infinity;
  }
  return static_cast<uint16_t>(sign | bits);
}

double fromHalf(uint16_t bits, HalfFormat format) {
  int exponent = bits >> format.fraction & ((1 << format.exponentBits) - 1);
  int digits = bits & ((1 << format.fraction) - 1);
  int bias = (1 << (format.exponentBits - 1)) - 1;
  double magnitude = 0;
  if (exponent == (1 << format.exponentBits) - 1)
    magnitude = digits ? std::numeric_limits<double>::quiet_NaN()
                       : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(digits, 1 - bias - format.fraction);
  else
    magnitude = std::ldexp(digits + (1 << format.fraction),
                           exponent - bias - format.fraction);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double multiplyAddToOdd(double a, double b, double c) {
  double product = a * b; // exact, as both have few digits
  double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  // The error of the sum is exact (Knuth's TwoSum).
  double part = sum - product;
  double error = (product - (sum - part)) + (c - part);
  uint64_t bits;
  std::memcpy(&bits, &sum, sizeof(bits));
  if (error != 0 && !(bits & 1))
    sum = std::nextafter(sum, error > 0
                                  ? std::numeric_limits<double>::infinity()
                                  : -std::numeric_limits<double>::infinity());
  return sum;
}

} // namespace meshc::ptx
