//===- ShuffleTest.cpp - tests of the order of examples -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Data/Shuffle.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace meshc::runtime;

TEST(Shuffle, isAPermutationInEveryEpoch) {
  for (int64_t count : {1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 4097}) {
    Shuffle shuffle(42, count);
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      std::set<int64_t> seen;
      for (int64_t i = 0; i < count; ++i)
        seen.insert(shuffle.at(epoch * count + i));
      EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
      EXPECT_EQ(*seen.begin(), 0);
      EXPECT_EQ(*seen.rbegin(), count - 1);
    }
  }
}

TEST(Shuffle, dependsOnSeedAndEpoch) {
  Shuffle a(1, 1000), same(1, 1000), b(2, 1000);
  int equalSeeds = 0, equalEpochs = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a.at(i), same.at(i));
    equalSeeds += a.at(i) == b.at(i);
    equalEpochs += a.at(i) == a.at(1000 + i);
  }
  EXPECT_LT(equalSeeds, 10);
  EXPECT_LT(equalEpochs, 10);
}

/// Where each value lands over many epochs is even (chi-squared with 63·63
/// degrees of freedom, five standard deviations).
TEST(Shuffle, spreadsValuesEvenly) {
  constexpr int64_t count = 64, epochs = 6400;
  Shuffle shuffle(7, count);
  std::vector<int> cells(count * count);
  for (int64_t i = 0; i < count * epochs; ++i)
    ++cells[static_cast<size_t>(i % count * count + shuffle.at(i))];
  double expected = double(epochs) / count, sum = 0;
  for (int cell : cells)
    sum += (cell - expected) * (cell - expected) / expected;
  double freedom = (count - 1) * (count - 1);
  EXPECT_LT(std::abs(sum - freedom), 5 * std::sqrt(2 * freedom));
}

TEST(Shuffle, neighboursAreIndependent) {
  constexpr int64_t count = 60000;
  Shuffle shuffle(3, count);
  double product = 0;
  for (int64_t i = 0; i < count; ++i)
    product += (double(shuffle.at(i)) / count - 0.5) *
               (double(shuffle.at((i + 1) % count)) / count - 0.5);
  // Each product has variance 1/144.
  EXPECT_LT(std::abs(product), 5 * std::sqrt(double(count)) / 12);
}

TEST(Shuffle, fileOrderIsTheSameInEveryEpoch) {
  Shuffle order = Shuffle::inFileOrder(5);
  for (int64_t position = 0; position < 15; ++position)
    EXPECT_EQ(order.at(position), position % 5);
}

TEST(Shuffle, selectionsAreInFileOrderOrShuffled) {
  Selection inOrder{nullptr, 10, 2};
  EXPECT_EQ(inOrder.example(0), 10);
  EXPECT_EQ(inOrder.example(1), 11);
  Shuffle shuffle(3, 7);
  Selection shuffled{&shuffle, 5, 4};
  for (int64_t row = 0; row < 4; ++row)
    EXPECT_EQ(shuffled.example(row), shuffle.at(5 + row));
}
