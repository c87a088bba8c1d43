//===- Pulse.h - what a rank shows of its work ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Time alone cannot tell whether a rank that others wait for is slow or stuck.
/// Each rank therefore counts the work that it finishes, where the others can
/// see it.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_PULSE_H
#define MESHC_RUNTIME_COMM_PULSE_H

#include <atomic>
#include <cstdint>

namespace meshc::runtime {

/// A rank as others see it. The counters only grow, and wrap around.
struct Pulse {
  uint32_t progress = 0; ///< kernels, products, collectives, reads and writes
                         ///< that it finished
  uint32_t turns = 0;    ///< how often it polled while it waited
  uint32_t waitsFor = 0; ///< 1 + the rank that it waits for; 0: none
  uint32_t runnable = 0; ///< 1: its thread computes, or waits for a core
  /// Processor time of the rank's thread, in the kernel's ticks: one long
  /// kernel is progress, too.
  uint64_t processorTime = 0;
  /// When it was read, in microseconds of a clock of the rank's host; 0: not
  /// known yet.
  uint64_t taken = 0;
};

/// Records that the calling thread finished a kernel, a product, a collective,
/// or a read or write of a file on behalf of its rank. Does nothing on other
/// threads. Takes a few nanoseconds.
void noteProgress();

/// Sets where noteProgress() of the calling thread counts; null: nowhere.
/// Another thread that works on behalf of a rank may count there, too.
void setProgressCounter(std::atomic<uint32_t> *counter);
std::atomic<uint32_t> *progressCounter();

/// A thread as the kernel sees it.
struct ThreadState {
  bool runnable = false;      ///< it computes, or waits for a core
  uint64_t processorTime = 0; ///< in the kernel's ticks
};

/// The state of a thread of this host; that above if it has ended.
ThreadState threadState(uint32_t processId, uint32_t threadId);

/// When the process started, in the kernel's ticks; 0 if it has ended, even if
/// its exit status was not collected yet.
uint64_t processStart(uint32_t processId);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_PULSE_H
