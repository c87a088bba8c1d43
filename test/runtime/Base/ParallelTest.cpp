//===- ParallelTest.cpp - tests of loops over threads ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

using namespace meshc::runtime;

TEST(Parallel, doesEachIterationOnce) {
  for (int count : {1, 2, 3, 5}) {
    setThreads(count);
    EXPECT_EQ(threads(), count);
    for (int64_t extent : {0, 1, 2, 3, 4, 7, 100, 1001})
      for (int64_t grain : {1, 2, 3, 50, 5000}) {
        std::vector<std::atomic<int>> done(static_cast<size_t>(extent));
        std::mutex lock;
        std::vector<int64_t> sizes;
        parallelFor(extent, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++done[static_cast<size_t>(i)];
          std::lock_guard<std::mutex> guard(lock);
          sizes.push_back(end - begin);
        });
        for (auto &times : done)
          ASSERT_EQ(times, 1);
        EXPECT_LE(sizes.size(), static_cast<size_t>(count));
        if (sizes.size() > 1)
          EXPECT_GE(*std::min_element(sizes.begin(), sizes.end()), grain);
      }
  }
  setThreads(1);
}

TEST(Parallel, eachRankHasItsOwnTeam) {
  std::vector<std::thread> ranks;
  std::atomic<int> faults{0};
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([rank, &faults] {
      setThreads(1 + rank % 3);
      for (int i = 0; i < 200; ++i) {
        std::atomic<int64_t> sum{0};
        parallelFor(1000, 1, [&](int64_t begin, int64_t end) {
          for (int64_t j = begin; j < end; ++j)
            sum += j;
        });
        faults += sum != 499500 || threads() != 1 + rank % 3;
      }
    });
  for (std::thread &rank : ranks)
    rank.join();
  EXPECT_EQ(faults, 0);
}
