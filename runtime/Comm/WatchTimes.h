//===- WatchTimes.h - how often ranks watch one another ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_WATCHTIMES_H
#define MESHC_RUNTIME_COMM_WATCHTIMES_H

#include <chrono>

namespace meshc::runtime {

/// A rank that waits long, or watches others, looks this often whether they
/// live and make progress.
constexpr auto timeBetweenLooks = std::chrono::milliseconds(100);

/// After a longer pause between two looks this rank was not waiting, or was
/// stopped itself, perhaps with all others. What it saw before is too old.
constexpr auto longestPause = std::chrono::seconds(3);

inline double secondsSince(std::chrono::steady_clock::time_point then,
                           std::chrono::steady_clock::time_point now) {
  return std::chrono::duration<double>(now - then).count();
}

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_WATCHTIMES_H
