//===- Waiting.cpp - how a thread waits for another one -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Waiting.h"

#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace meshc::runtime;

using WaitClock = std::chrono::steady_clock;

/// A yield takes less than a microsecond if nobody else wants the core, and a
/// time slice, some milliseconds, if another program computes.
static constexpr auto lateYield = std::chrono::microseconds(100);
/// How long a thread does not yield after a late one: a slice in so much time
/// is a small part of it.
static constexpr auto crowdedTime = std::chrono::milliseconds(50);

/// Until when the calling thread takes its core for crowded.
static thread_local WaitClock::time_point crowdedUntil;

void meshc::runtime::pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool SpinWait::spinOnce() {
  if (turn < limits.spins) {
    ++turn;
    pauseCore();
    return true;
  }
  WaitClock::time_point before = WaitClock::now();
  if (turn - limits.spins >= limits.yields || before < crowdedUntil)
    return false;
  ++turn;
  sched_yield();
  WaitClock::time_point after = WaitClock::now();
  if (after - before > lateYield)
    crowdedUntil = after + crowdedTime;
  return true;
}

static int futexFlag(Wakers wakers) {
  return wakers == Wakers::ThisProcess ? FUTEX_PRIVATE_FLAG : 0;
}

void meshc::runtime::futexWait(std::atomic<uint32_t> &word, uint32_t value,
                               Wakers wakers, std::chrono::nanoseconds limit) {
  timespec time{static_cast<time_t>(limit.count() / 1000000000),
                static_cast<long>(limit.count() % 1000000000)};
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
          FUTEX_WAIT | futexFlag(wakers), value,
          limit.count() > 0 ? &time : nullptr, nullptr, 0);
}

void meshc::runtime::futexWake(std::atomic<uint32_t> &word, Wakers wakers) {
  syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
          FUTEX_WAKE | futexFlag(wakers), INT_MAX, nullptr, nullptr, 0);
}

void WaitingRoom::wakeAll() {
  calls.fetch_add(1, std::memory_order_release);
  futexWake(calls, Wakers::ThisProcess);
}
