//===- StridedCopyTest.cpp - tests of copies between blocks ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/StridedCopy.h"

#include <gtest/gtest.h>
#include <numeric>

using namespace meshc::runtime;

TEST(StridedCopy, transposesAndTakesBoxes) {
  std::vector<int32_t> source(4 * 5 * 6);
  std::iota(source.begin(), source.end(), 0);
  // The box [2, 3, 4] from (1, 1, 2) on, to memory whose order is reversed.
  std::vector<int32_t> target(2 * 3 * 4, -1);
  copyStrided({{2, 30, 1}, {3, 6, 2}, {4, 1, 6}}, 4,
              reinterpret_cast<const char *>(&source[30 + 6 + 2]),
              reinterpret_cast<char *>(target.data()));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(target[static_cast<size_t>(i + 2 * j + 6 * k)],
                  (i + 1) * 30 + (j + 1) * 6 + k + 2);
}

TEST(StridedCopy, copiesContiguousMemoryScalarsAndNothing) {
  std::vector<int16_t> source{1, 2, 3, 4, 5, 6}, target(6);
  auto *from = reinterpret_cast<const char *>(source.data());
  auto *to = reinterpret_cast<char *>(target.data());
  copyStrided({{2, 3, 3}, {1, 77, 99}, {3, 1, 1}}, 2, from, to);
  EXPECT_EQ(target, source);
  copyStrided({}, 2, from + 8, to);
  EXPECT_EQ(target[0], 5);
  copyStrided({{0, 1, 1}, {3, 1, 1}}, 2, from, to);
  EXPECT_EQ(target[0], 5);
}
