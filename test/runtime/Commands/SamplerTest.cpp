//===- SamplerTest.cpp - how tokens are chosen ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Sampler.h"

#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace meshc::runtime;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// How often each token is chosen at `draws` positions.
std::vector<int> count(const Sampling &sampling,
                       const std::vector<float> &logits, int draws = 40000) {
  Sampler sampler(sampling);
  std::vector<int> counts(logits.size());
  for (int i = 0; i < draws; ++i)
    ++counts[static_cast<size_t>(sampler.choose(
        logits.data(), static_cast<int64_t>(logits.size()), 0, i))];
  return counts;
}

/// The numbers are fixed by the seed; six deviations leave room for any.
void expectShare(int count, double share, int draws = 40000) {
  double deviation = std::sqrt(draws * share * (1 - share));
  EXPECT_NEAR(count, draws * share, 6 * deviation);
}

TEST(Sampler, GreedyTakesTheFirstOfEquals) {
  Sampling sampling;
  sampling.greedy = true;
  EXPECT_EQ(count(sampling, {1, 3, 2, 3}, 10), (std::vector<int>{0, 10, 0, 0}));
}

TEST(Sampler, ChoosesByTheSoftmaxOfTheLogits) {
  std::vector<int> counts =
      count({}, {std::log(1.F), std::log(2.F), -infinity, std::log(5.F)});
  expectShare(counts[0], 1.0 / 8);
  expectShare(counts[1], 2.0 / 8);
  EXPECT_EQ(counts[2], 0);
  expectShare(counts[3], 5.0 / 8);
}

TEST(Sampler, TemperatureIsAPowerOfTheProbabilities) {
  Sampling sampling;
  sampling.temperature = 0.5;
  std::vector<int> counts = count(sampling, {std::log(1.F), std::log(3.F)});
  expectShare(counts[1], 9.0 / 10);
}

TEST(Sampler, LargeLogitsDoNotOverflow) {
  std::vector<int> counts = count({}, {3e38F, 3e38F, 0});
  expectShare(counts[0], 1.0 / 2);
  EXPECT_EQ(counts[2], 0);
}

TEST(Sampler, TopKKeepsTheFirstOfEquals) {
  Sampling sampling;
  sampling.topK = 2;
  std::vector<int> counts = count(sampling, {0, 1, 0, 0});
  expectShare(counts[1], std::exp(1.0) / (1 + std::exp(1.0)));
  EXPECT_EQ(counts[0] + counts[1], 40000);
  // Weights that underflow to 0 are still in the order of their logits.
  sampling.topK = 1;
  EXPECT_EQ(count(sampling, {-3e38F, 0, -2e38F}, 10)[1], 10);
  sampling.topK = 9;
  EXPECT_GT(count(sampling, {0, 0, 0})[2], 0);
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  std::vector<float> logits = {std::log(1.F), std::log(5.F), std::log(2.F),
                               std::log(2.F)};
  Sampling sampling;
  sampling.topP = 0.5;
  EXPECT_EQ(count(sampling, logits)[1], 40000);
  sampling.topP = 0.6;
  std::vector<int> counts = count(sampling, logits);
  expectShare(counts[1], 5.0 / 7);
  EXPECT_EQ(counts[1] + counts[2], 40000);
  sampling.topP = 0.71;
  EXPECT_GT(count(sampling, logits)[3], 0);
  EXPECT_EQ(count(sampling, logits)[0], 0);
  // Of what the top k leave.
  sampling.topK = 1;
  EXPECT_EQ(count(sampling, logits)[1], 40000);
}

TEST(Sampler, NumbersDependOnSeedTextAndPosition) {
  EXPECT_EQ(randomAt(1, 2, 3), randomAt(1, 2, 3));
  EXPECT_NE(randomAt(1, 2, 3), randomAt(0, 2, 3));
  EXPECT_NE(randomAt(1, 2, 3), randomAt(1, 3, 3));
  EXPECT_NE(randomAt(1, 2, 3), randomAt(1, 2, 4));
  // Not of their sum.
  EXPECT_NE(randomAt(0, 1, 0), randomAt(0, 0, 1));
  double sum = 0;
  for (int i = 0; i < 10000; ++i) {
    double number = randomAt(7, 0, i);
    ASSERT_TRUE(number >= 0 && number < 1);
    sum += number;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.02);
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
  for (bool greedy : {true, false}) {
    Sampling sampling;
    sampling.greedy = greedy;
    Sampler sampler(sampling);
    for (float bad : {infinity, std::nanf("")}) {
      std::vector<float> logits = {0, bad, 1};
      EXPECT_EQ(sampler.choose(logits.data(), 3, 0, 0), -1);
    }
    std::vector<float> none = {-infinity, -infinity};
    EXPECT_EQ(sampler.choose(none.data(), 2, 0, 0), -1);
  }
}

} // namespace
