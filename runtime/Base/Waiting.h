//===- Waiting.h - how a thread waits for another one -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How threads and ranks wait for each other: a waiting thread polls, then
/// yields its core between two polls, then sleeps until it is woken. If other
/// programs want the core, it sleeps at once, since a yield then takes one of
/// their time slices, and a sleeper is woken sooner.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_WAITING_H
#define MESHC_RUNTIME_BASE_WAITING_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace meshc::runtime {

/// Limits of the part of a wait in which the thread stays awake.
struct SpinLimits {
  int spins;  ///< polls before the first yield
  int yields; ///< polls with a yield before each
};

/// For threads of one team, whose work is of equal length: waits are short.
/// Without neighbours the yields last a millisecond or two.
constexpr SpinLimits teamSpins = {400, 4000};

/// The part of one wait in which the thread stays awake.
class SpinWait {
public:
  explicit SpinWait(SpinLimits limits) : limits(limits) {}

  /// After a poll without success: pauses the core or yields it. False if the
  /// thread should sleep instead: a limit is reached, or other programs want
  /// the core. A late return of a yield shows that they do; the calling thread
  /// then sleeps without yields for some milliseconds.
  bool spinOnce();

private:
  SpinLimits limits;
  int turn = 0;
};

/// Tells the core that the thread waits.
void pauseCore();

/// Who can wake a sleeper.
enum class Wakers { ThisProcess, AllProcesses };

/// Sleeps until futexWake(word), at most `limit` (0: no limit), if `word` still
/// has `value`.
void futexWait(std::atomic<uint32_t> &word, uint32_t value, Wakers wakers,
               std::chrono::nanoseconds limit = std::chrono::nanoseconds(0));

/// Wakes all that sleep on `word`.
void futexWake(std::atomic<uint32_t> &word, Wakers wakers);

/// Where threads of a process wait for conditions that other threads make true.
/// (Known as an event count.)
class WaitingRoom {
public:
  /// Returns once `ready()` is true.
  template <typename Ready> void wait(const Ready &ready) {
    SpinWait spin(teamSpins);
    while (!ready())
      if (!spin.spinOnce())
        return sleepUntil(ready);
  }

  /// Called after a change that may make a condition true.
  void notify() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_relaxed) != 0)
      wakeAll();
  }

private:
  /// A sleeper announces itself, then checks once more; a notifier makes the
  /// condition true, then looks for sleepers. One of the two sees the other.
  template <typename Ready> void sleepUntil(const Ready &ready) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    while (true) {
      uint32_t seen = calls.load(std::memory_order_acquire);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      if (ready())
        break;
      futexWait(calls, seen, Wakers::ThisProcess);
    }
    sleepers.fetch_sub(1, std::memory_order_relaxed);
  }
  void wakeAll();

  std::atomic<uint32_t> calls{0}, sleepers{0};
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_WAITING_H
