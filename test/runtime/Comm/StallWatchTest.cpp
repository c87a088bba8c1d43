//===- StallWatchTest.cpp - who holds others up ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/StallWatch.h"

#include <gtest/gtest.h>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// Ranks whose time is the test's. Rank 0 watches.
class Watched : public testing::Test {
protected:
  /// Looks every 100 ms for `seconds`, while rank 0 waits for `rank`; before
  /// each look, `between` changes the ranks.
  Stall
  wait(int rank, double seconds, const std::function<void()> &between = [] {}) {
    StallWatch::Clock::time_point since = now;
    Stall stall;
    for (int i = 0; i < seconds * 10; ++i) {
      now += std::chrono::milliseconds(100);
      between();
      stall = watch.look(rank, since, now);
    }
    return stall;
  }

  Pulse ranks[4];
  StallWatch::Clock::time_point now{std::chrono::hours(1)};
  StallWatch watch{0, [this](int rank) { return ranks[rank]; }};
};

TEST_F(Watched, aRankThatDoesNothingIsToBlame) {
  Stall stall = wait(1, 30);
  EXPECT_EQ(stall.culprit(), 1);
  EXPECT_EQ(stall.awaited, -1);
  EXPECT_NEAR(stall.seconds, 30, 0.3);
  EXPECT_FALSE(stall.isCircle);
}

TEST_F(Watched, slowWorkIsProgress) {
  int turn = 0;
  Stall stall = wait(1, 1000, [&] {
    if (++turn % 90 == 0)
      ++ranks[1].progress;
  });
  EXPECT_LT(stall.seconds, 10);
  // One long kernel: only the processor time shows progress.
  stall = wait(1, 1000, [&] {
    if (++turn % 90 == 0)
      ++ranks[1].processorTime;
  });
  EXPECT_LT(stall.seconds, 10);
}

/// On a busy machine a rank may get no processor time for long.
TEST_F(Watched, whoWaitsForACoreIsNotToBlame) {
  auto observeAgain = [&] { ++ranks[1].taken; };
  ranks[1].runnable = 1;
  EXPECT_LT(wait(1, 1000, observeAgain).seconds, 1);
  // What it waits for is.
  ranks[1].waitsFor = 1 + 2;
  Stall stall = wait(1, 20, observeAgain);
  EXPECT_EQ(stall.culprit(), 2);
  EXPECT_NEAR(stall.seconds, 20, 0.3);
  // A rank of another host does not answer any more.
  ranks[1].waitsFor = 0;
  stall = wait(1, 20);
  EXPECT_EQ(stall.culprit(), 1);
  EXPECT_NEAR(stall.seconds, 20, 0.3);
}

TEST_F(Watched, whoWaitsIsFollowed) {
  ranks[1].waitsFor = 1 + 2;
  ranks[2].waitsFor = 1 + 3;
  Stall stall = wait(1, 20, [&] {
    ++ranks[1].turns;
    ++ranks[2].turns;
  });
  EXPECT_EQ(stall.chain, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(stall.culprit(), 3);
  EXPECT_NEAR(stall.seconds, 20, 0.3);
}

/// It says that it waits for rank 2, which is long past that.
TEST_F(Watched, aRankThatIsStoppedAsleepIsToBlame) {
  ranks[1].waitsFor = 1 + 2;
  Stall stall = wait(1, 20, [&] { ++ranks[2].progress; });
  EXPECT_EQ(stall.culprit(), 1);
  EXPECT_EQ(stall.awaited, 2);
  EXPECT_NEAR(stall.seconds, 20, 0.3);
  // It wakes up.
  stall = wait(1, 3, [&] {
    ++ranks[1].turns;
    ++ranks[2].progress;
  });
  EXPECT_EQ(stall.culprit(), 2);
  EXPECT_LT(stall.seconds, 1);
}

TEST_F(Watched, ranksThatWaitForOneAnotherAreACircle) {
  ranks[1].waitsFor = 1 + 2;
  ranks[2].waitsFor = 1 + 1;
  Stall stall = wait(1, 20, [&] {
    ++ranks[1].turns;
    ++ranks[2].turns;
  });
  EXPECT_TRUE(stall.isCircle);
  EXPECT_EQ(stall.culprit(), 1);
  EXPECT_EQ(stall.representative(), 1); // as for rank 2
  EXPECT_NEAR(stall.seconds, 20, 0.3);
  // A rank that takes turns while collectives end is not stalled.
  stall = wait(1, 20, [&] {
    for (int rank : {1, 2}) {
      ++ranks[rank].turns;
      ++ranks[rank].progress;
    }
  });
  EXPECT_LT(stall.seconds, 1);
}

/// A stopped rank that says that it waits for this one makes no circle.
TEST_F(Watched, aCircleHasNoStoppedRank) {
  ranks[1].waitsFor = 1 + 0;
  for (double seconds : {0.5, 1.0, 1.5}) {
    Stall stall = wait(1, seconds);
    EXPECT_FALSE(stall.isCircle);
    EXPECT_EQ(stall.culprit(), 1);
  }
}

/// All of its ranks agree which of them that is; rank 0 here.
TEST_F(Watched, aCircleHasOneRepresentative) {
  ranks[2].waitsFor = 1 + 1;
  ranks[1].waitsFor = 1 + 0;
  Stall stall = wait(2, 20, [&] {
    ++ranks[1].turns;
    ++ranks[2].turns;
  });
  EXPECT_TRUE(stall.isCircle);
  EXPECT_EQ(stall.chain, (std::vector<int>{0, 2, 1}));
  EXPECT_EQ(stall.culprit(), 2);
  EXPECT_EQ(stall.representative(), 0);
}

/// The whole job was stopped for an hour, and continues.
TEST_F(Watched, timeInWhichTheWatcherSleptCountsForNobody) {
  wait(1, 5);
  now += std::chrono::hours(1);
  Stall stall = wait(1, 2);
  EXPECT_LT(stall.seconds, 2.5);
}

TEST(Pulse, countsWhereTheThreadSays) {
  std::atomic<uint32_t> counter{0};
  noteProgress();
  setProgressCounter(&counter);
  noteProgress();
  setProgressCounter(nullptr);
  noteProgress();
  EXPECT_EQ(counter, 1u);
}

TEST(Pulse, knowsWhetherAThreadCouldGoOn) {
  auto process = static_cast<uint32_t>(getpid());
  std::atomic<uint32_t> sleeper{0};
  std::mutex mutex;
  std::unique_lock<std::mutex> lock(mutex);
  std::thread thread([&] {
    sleeper = static_cast<uint32_t>(syscall(SYS_gettid));
    std::lock_guard<std::mutex> wait(mutex);
  });
  while (sleeper == 0 || threadState(process, sleeper).runnable)
    std::this_thread::yield();
  EXPECT_TRUE(threadState(process, process).runnable); // it asks
  lock.unlock();
  thread.join();
  EXPECT_FALSE(threadState(process, sleeper).runnable);
}

} // namespace
