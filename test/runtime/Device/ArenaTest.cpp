//===- ArenaTest.cpp - tests of the arena ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Arena.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessMemory.h"

#include <gtest/gtest.h>

using namespace meshc::runtime;

TEST(Arena, isZeroAndAligned) {
  Arena arena(10'000'001);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arena.data()) % 64, 0u);
  for (int64_t i = 0; i < arena.size(); ++i)
    ASSERT_EQ(arena.data()[i], 0);
}

TEST(Arena, isHeldAtOnce) {
  int64_t before = residentMemory();
  Arena arena(int64_t(64) << 20);
  EXPECT_GE(residentMemory() - before, int64_t(60) << 20);
  int64_t now = residentMemory();
  EXPECT_GE(peakMemory(), now);
}

TEST(Arena, refusesMoreThanThereIs) {
  try {
    Arena arena(int64_t(1) << 50);
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::Internal);
    EXPECT_NE(std::string(failure.what()).find("1125899906842624 bytes"),
              std::string::npos);
  }
}

TEST(Arena, mayBeEmpty) {
  Arena arena(0);
  EXPECT_EQ(arena.size(), 0);
}
