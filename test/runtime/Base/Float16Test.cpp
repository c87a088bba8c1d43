//===- Float16Test.cpp - tests of 16-bit floats ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Float16.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace meshc::runtime;

TEST(Float16, everyHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = floatFromF16(half);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(floatFromF16(f16FromFloat(value))));
    else
      ASSERT_EQ(f16FromFloat(value), half);
    value = floatFromBf16(half);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(floatFromBf16(bf16FromFloat(value))));
    else
      ASSERT_EQ(bf16FromFloat(value), half);
  }
}

/// Between neighbours the nearer one is taken, and the even one in the middle.
TEST(Float16, roundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    auto low = static_cast<uint16_t>(bits), high = uint16_t(bits + 1);
    float a = floatFromF16(low), b = floatFromF16(high), middle = (a + b) / 2;
    ASSERT_EQ(f16FromFloat(middle), bits % 2 ? high : low);
    ASSERT_EQ(f16FromFloat(std::nextafter(middle, a)), low);
    ASSERT_EQ(f16FromFloat(std::nextafter(middle, b)), high);
  }
  for (uint32_t bits = 0x80; bits < 0x7f7f; ++bits) {
    auto low = static_cast<uint16_t>(bits), high = uint16_t(bits + 1);
    float middle = floatFromBits(bits << 16 | 0x8000);
    ASSERT_EQ(bf16FromFloat(middle), bits % 2 ? high : low);
  }
}

TEST(Float16, overflowsToInfinity) {
  EXPECT_EQ(f16FromFloat(65504.0f), 0x7bff);
  EXPECT_EQ(f16FromFloat(65519.9f), 0x7bff);
  EXPECT_EQ(f16FromFloat(65520.0f), 0x7c00);
  EXPECT_EQ(f16FromFloat(-1e30f), 0xfc00);
  EXPECT_EQ(f16FromFloat(INFINITY), 0x7c00);
  EXPECT_EQ(bf16FromFloat(3.4e38f), 0x7f80);
}
