//===- ByteCount.cpp - numbers of bytes with a unit -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/ByteCount.h"

using namespace meshc::runtime;

/// Removes the digits at the beginning of `text` and returns them.
static std::string_view takeDigits(std::string_view &text) {
  size_t end = text.find_first_not_of("0123456789");
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(digits.size());
  return digits;
}

/// The power of 1000 of a unit; nothing if it is unknown.
static std::optional<int> powerOfUnit(std::string_view unit) {
  if (unit.empty())
    return 0;
  const size_t number = std::string_view("kMGT").find(unit.front());
  if (number == std::string_view::npos ||
      (unit.size() != 1 && unit.substr(1) != "B"))
    return std::nullopt;
  return static_cast<int>(number) + 1;
}

std::optional<int64_t> meshc::runtime::parseByteCount(std::string_view text) {
  std::string_view whole = takeDigits(text), part;
  const bool hasPoint = !text.empty() && text.front() == '.';
  if (hasPoint) {
    text.remove_prefix(1);
    part = takeDigits(text);
  }
  const std::optional<int> power = powerOfUnit(text);
  const bool isPartOfByte = hasPoint && power == 0;
  if (whole.empty() || !power || isPartOfByte || (hasPoint && part.empty()))
    return std::nullopt;
  int64_t unit = 1, bytes = 0;
  for (int i = 0; i < *power; ++i)
    unit *= 1000;
  for (char digit : whole)
    if (__builtin_mul_overflow(bytes, int64_t(10), &bytes) ||
        __builtin_add_overflow(bytes, int64_t(digit - '0'), &bytes))
      return INT64_MAX;
  if (__builtin_mul_overflow(bytes, unit, &bytes))
    return INT64_MAX;
  // Later digits stand for less than a byte.
  for (char digit : part) {
    unit /= 10;
    if (__builtin_add_overflow(bytes, unit * (digit - '0'), &bytes))
      return INT64_MAX;
  }
  return bytes;
}
