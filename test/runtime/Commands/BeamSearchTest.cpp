//===- BeamSearchTest.cpp - the search for the most probable text ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/BeamSearch.h"

#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace meshc::runtime;

namespace {

using Text = std::vector<int32_t>;

constexpr int64_t vocabulary = 6;
constexpr int32_t last = 5; ///< ends a text

/// As in beams.py.
double logit(const Text &text, int64_t token) {
  int32_t before = text.size() > 1 ? text[text.size() - 2] : 0;
  auto t = static_cast<double>(token);
  return 2.5 * std::sin(1.7 * t + 2.3 * text.back() + 0.9 * before * t +
                        0.4 * static_cast<double>(text.size()));
}

bool extend(BeamSearch &search) {
  return search.extend(
      [&](int64_t beam, int64_t token) {
        return logit(search.texts()[static_cast<size_t>(beam)], token);
      },
      vocabulary, [](int32_t token) { return token == last; });
}

/// The best text by looking at all of them.
struct Exhaustive {
  double penalty;
  size_t most;
  Text best = {};
  double bestScore = -std::numeric_limits<double>::infinity();

  void consider(const Text &text, double logProbability, size_t length) {
    double score = logProbability /
                   std::pow((5 + static_cast<double>(length)) / 6, penalty);
    if (score > bestScore)
      best = text, bestScore = score;
  }
  void visit(const Text &text, double logProbability) {
    size_t length = text.size() - 1;
    if (length == most)
      return consider(text, logProbability, length);
    double sum = 0;
    for (int64_t token = 0; token < vocabulary; ++token)
      sum += std::exp(logit(text, token));
    for (int32_t token = 0; token < vocabulary; ++token) {
      double next = logProbability + logit(text, token) - std::log(sum);
      if (token == last) {
        consider(text, next, length + 1);
        continue;
      }
      Text longer = text;
      longer.push_back(token);
      visit(longer, next);
    }
  }
};

} // namespace

/// With as many beams as there are texts, nothing is missed.
TEST(BeamSearch, FindsTheBestOfAllTexts) {
  for (double penalty : {0.0, 0.6, 1.0, 3.0})
    for (size_t most : {1U, 2U, 4U}) {
      Exhaustive all{penalty, most};
      all.visit({1}, 0);
      BeamSearch search({1000, penalty}, {1}, static_cast<int64_t>(most));
      while (!search.isDone())
        ASSERT_TRUE(extend(search));
      EXPECT_EQ(search.best(), all.best);
      EXPECT_NEAR(search.bestScore(), all.bestScore, 1e-12);
    }
}

/// What beams.py prints, by PyTorch.
TEST(BeamSearch, HasTheValuesOfPyTorch) {
  struct Case {
    int64_t beams;
    double penalty;
    Text text;
    double score;
  };
  const Case cases[] = {
      {1, 0.0, {1, 3, 0, 3, 3, 4, 2, 0}, -5.173834575807},
      {1, 0.6, {1, 3, 0, 3, 3, 4, 2, 0}, -3.253398616513},
      {1, 2.0, {1, 3, 0, 3, 3, 4, 2, 0, 3, 2, 4, 2, 2}, -0.986285876337},
      {2, 0.0, {1, 3}, -1.217171616754},
      {2, 0.6, {1, 3}, -1.109644187793},
      {2, 2.0, {1, 3}, -0.894248534758},
      {4, 0.0, {1, 3}, -1.217171616754},
      {4, 0.6, {1, 3}, -1.109644187793},
      {4, 2.0, {1, 3}, -0.894248534758},
  };
  for (const Case &one : cases) {
    SCOPED_TRACE(std::to_string(one.beams) + " " + std::to_string(one.penalty));
    BeamSearch search({one.beams, one.penalty}, {1}, 12);
    while (!search.isDone())
      ASSERT_TRUE(extend(search));
    EXPECT_EQ(search.best(), one.text);
    EXPECT_NEAR(search.bestScore(), one.score, 1e-9);
  }
}

/// Each beam says from which one it came; what it has is that one's text.
TEST(BeamSearch, BeamsKnowTheirParents) {
  BeamSearch search({3, 0.6}, {1}, 12);
  EXPECT_EQ(search.parents(), std::vector<int64_t>{0});
  for (int step = 0; step < 5; ++step) {
    auto before = search.texts();
    ASSERT_TRUE(extend(search));
    ASSERT_EQ(search.parents().size(), search.texts().size());
    for (size_t beam = 0; beam < search.texts().size(); ++beam) {
      Text text = search.texts()[beam];
      text.pop_back();
      EXPECT_EQ(text, before[static_cast<size_t>(search.parents()[beam])]);
    }
  }
}

TEST(BeamSearch, WantsFiniteLogits) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double bad : {infinity, std::nan("")}) {
    BeamSearch search({2, 0.6}, {1}, 3);
    EXPECT_FALSE(search.extend(
        [&](int64_t, int64_t token) { return token == 1 ? bad : 0; }, 3,
        [](int32_t) { return false; }));
  }
  // A token that is impossible is never taken.
  BeamSearch search({3, 0.6}, {1}, 1);
  EXPECT_TRUE(search.extend(
      [&](int64_t, int64_t token) { return token == 1 ? -infinity : 0; }, 3,
      [](int32_t) { return false; }));
  EXPECT_EQ(search.best(), (Text{1, 0}));
}
