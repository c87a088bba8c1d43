//===- ByteCountTest.cpp - tests of ByteCount.h ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/ByteCount.h"

#include <gtest/gtest.h>

using namespace meshc::runtime;

TEST(ByteCount, unitsArePowersOf1000) {
  EXPECT_EQ(parseByteCount("0"), 0);
  EXPECT_EQ(parseByteCount("800"), 800);
  EXPECT_EQ(parseByteCount("007k"), 7000);
  EXPECT_EQ(parseByteCount("800M"), 800'000'000);
  EXPECT_EQ(parseByteCount("8GB"), 8'000'000'000);
  EXPECT_EQ(parseByteCount("2T"), 2'000'000'000'000);
}

TEST(ByteCount, fractionsAreExactToAByte) {
  EXPECT_EQ(parseByteCount("1.5G"), 1'500'000'000);
  EXPECT_EQ(parseByteCount("0.1k"), 100);
  EXPECT_EQ(parseByteCount("0.123456789kB"), 123);
  EXPECT_EQ(parseByteCount("2.000000000001T"), 2'000'000'000'001);
}

TEST(ByteCount, tooMuchIsTheLargestNumber) {
  EXPECT_EQ(parseByteCount("99999999999999999999"), INT64_MAX);
  EXPECT_EQ(parseByteCount("9999999999T"), INT64_MAX);
  EXPECT_EQ(parseByteCount("9223372.036854775807T"), INT64_MAX);
  EXPECT_EQ(parseByteCount("9223372.9T"), INT64_MAX);
}

TEST(ByteCount, otherTextsAreNone) {
  for (const char *text :
       {"", "G", "B", "-1", "+1", "1.5", "1.G", ".5G", "8X", "8g", "8GiB",
        "8Gb", "8 G", "8G ", "8B", "1e9", "1.5.0G", "0x10", "8GBB"})
    EXPECT_EQ(parseByteCount(text), std::nullopt) << text;
}
