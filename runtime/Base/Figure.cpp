//===- Figure.cpp - figures on the screen ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Figure.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace meshc::runtime;

std::string meshc::runtime::formatFigure(double value) {
  constexpr int digits = 5, leastExponent = -4;
  if (std::isnan(value))
    return "nan"; // whatever its sign bit
  if (value == 0)
    return "0";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*e", digits - 1, value);
  const char *mark = std::strchr(text, 'e');
  if (!mark || !std::isfinite(value))
    return text;
  // As rounded: 0.999999 is 1.0000.
  int exponent = std::atoi(mark + 1);
  if (exponent >= leastExponent && exponent < digits)
    std::snprintf(text, sizeof(text), "%.*f", digits - 1 - exponent, value);
  return text;
}
