//===- PairMergesTest.cpp - byte-pair encoding ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Tokens/PairMerges.h"

#include <gtest/gtest.h>
#include <random>

using namespace meshc::runtime;

namespace {

/// What the definition says, one merge after the other.
std::vector<int32_t> mergeSlowly(const PairMerges &merges,
                                 std::vector<int32_t> tokens) {
  for (;;) {
    const PairMerges::Merge *best = nullptr;
    size_t at = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto *merge = merges.find(tokens[i], tokens[i + 1]);
      if (merge && (!best || merge->rank < best->rank)) {
        best = merge;
        at = i;
      }
    }
    if (!best)
      return tokens;
    tokens[at] = best->token;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(PairMerges, ApplyTheLowestRankFirst) {
  PairMerges merges(3);
  EXPECT_TRUE(merges.add(0, 1, {1, 10}));
  EXPECT_TRUE(merges.add(1, 0, {0, 11}));
  EXPECT_TRUE(merges.add(10, 11, {2, 12}));
  EXPECT_FALSE(merges.add(0, 1, {5, 13}));
  std::vector<int32_t> tokens{0, 1, 0, 1, 1, 0};
  merges.apply(tokens);
  EXPECT_EQ(tokens, (std::vector<int32_t>{0, 11, 1, 11}));
  EXPECT_EQ(merges.find(7, 7), nullptr);
}

TEST(PairMerges, LeavesWhatHasNoPair) {
  PairMerges merges(1);
  std::vector<int32_t> tokens;
  merges.apply(tokens);
  EXPECT_TRUE(tokens.empty());
  tokens = {3};
  merges.apply(tokens);
  EXPECT_EQ(tokens, std::vector<int32_t>{3});
}

// Both ways to apply merges, for few tokens and for many, and ranks that occur
// several times, as the scores of SentencePiece do.
TEST(PairMerges, MatchTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    int32_t letters = 2 + static_cast<int32_t>(random() % 3), next = letters;
    PairMerges merges(40);
    for (int i = 0; i < 40; ++i) {
      auto left = static_cast<int32_t>(random() % next);
      auto right = static_cast<int32_t>(random() % next);
      if (merges.add(left, right, {static_cast<int32_t>(random() % 20), next}))
        ++next;
    }
    std::vector<int32_t> tokens(random() % 160);
    for (int32_t &token : tokens)
      token = static_cast<int32_t>(random() % letters);
    std::vector<int32_t> expected = mergeSlowly(merges, tokens);
    merges.apply(tokens);
    ASSERT_EQ(tokens, expected) << "round " << round;
  }
}

} // namespace
