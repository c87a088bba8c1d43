//===- WaitingTest.cpp - tests of how threads wait ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Waiting.h"
#include "runtime/Base/Parallel.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

/// Whether the thread of this process sleeps within half a minute.
static bool comesToSleep(const std::atomic<pid_t> &thread) {
  for (int turn = 0; turn < 30000; ++turn) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    size_t end = text.rfind(") ");
    if (end != std::string::npos && text[end + 2] == 'S')
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

TEST(Waiting, sleepsAndIsWoken) {
  WaitingRoom room;
  std::atomic<bool> isReady{false};
  std::atomic<pid_t> number{0};
  std::thread waiter([&] {
    number = gettid();
    room.wait([&] { return isReady.load(); });
  });
  EXPECT_TRUE(comesToSleep(number));
  isReady = true;
  room.notify();
  waiter.join();
}

/// Each waits for its own condition in one room, and none is forgotten.
TEST(Waiting, wakesThoseWhoseConditionHolds) {
  constexpr int count = 4, turns = 2000;
  WaitingRoom room;
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      for (int t = i; t < turns; t += count) {
        room.wait([&] { return turn.load() == t; });
        ++turn;
        room.notify();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(turn, turns);
}

TEST(Waiting, endsItsTurnsAtTheLimits) {
  SpinWait spin({3, 0});
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(spin.spinOnce());
  EXPECT_FALSE(spin.spinOnce());
}

/// Beside a busy thread on the same core, a yield takes a time slice: soon the
/// thread sleeps instead.
TEST(Waiting, doesNotYieldToNeighbours) {
  cpu_set_t allowed, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  int core = 0;
  while (!CPU_ISSET(core, &allowed))
    ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  std::atomic<bool> ends{false};
  std::thread both([&] {
    sched_setaffinity(0, sizeof(one), &one);
    std::thread neighbour([&] {
      while (!ends) {
      }
    });
    constexpr int most = 1000000;
    SpinWait spin({0, most});
    int turns = 0;
    while (spin.spinOnce())
      ++turns;
    ends = true;
    neighbour.join();
    EXPECT_LT(turns, most);
  });
  both.join();
}

/// A member of a team that waits long for the others sleeps.
TEST(Waiting, barriersSleep) {
  setThreads(2);
  TeamBarrier barrier;
  std::atomic<pid_t> waiter{0};
  parallelTeam([&](int64_t thread, int64_t count) {
    if (thread == 0)
      waiter = gettid();
    else
      EXPECT_TRUE(comesToSleep(waiter));
    barrier.wait(count);
  });
  setThreads(1);
}

/// Threads without work sleep, and so does a leader whose team is at work.
TEST(Waiting, teamsSleep) {
  setThreads(2);
  std::atomic<pid_t> leader{0}, worker{0};
  parallelTeam([&](int64_t thread, int64_t) {
    (thread == 0 ? leader : worker) = gettid();
    if (thread == 1)
      EXPECT_TRUE(comesToSleep(leader));
  });
  EXPECT_TRUE(comesToSleep(worker));
  setThreads(1);
}
