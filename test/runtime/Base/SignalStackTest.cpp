//===- SignalStackTest.cpp - tests of signals that come amid products -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>

using namespace meshc::runtime;

static thread_local uintptr_t handledAt;

extern "C" void noteFrame(int) {
  handledAt = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
}

/// Whether the calling thread handles a signal elsewhere than on its stack.
static bool handlesElsewhere() {
  pthread_attr_t attributes;
  void *begin = nullptr;
  size_t bytes = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  handledAt = 0;
  raise(SIGUSR1);
  return handledAt != 0 &&
         handledAt - reinterpret_cast<uintptr_t>(begin) >= bytes;
}

TEST(SignalStack, isThatOfEachThreadThatComputes) {
  struct sigaction action = {}, before = {};
  action.sa_handler = noteFrame;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, &before);
  std::atomic<int> elsewhere{0};
  for (int round = 0; round < 2; ++round)
    std::thread([&] {
      for (int count : {1, 3}) {
        setThreads(count);
        parallelTeam(
            [&](int64_t, int64_t) { elsewhere += handlesElsewhere(); });
      }
    }).join();
  EXPECT_EQ(elsewhere, 2 * (1 + 3));
  sigaction(SIGUSR1, &before, nullptr);
}
