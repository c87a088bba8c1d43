//===- StallWatch.h - finding the rank that holds others up -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A waiting rank looks at the pulses of others. It follows the chain of waits
/// up to a rank that works or shows no sign of life. Time counts only while
/// that rank makes no progress, so slow steps are not failures, and the watch
/// finds a rank that was stopped during a wait even if that wait is already
/// over.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMM_STALLWATCH_H
#define MESHC_RUNTIME_COMM_STALLWATCH_H

#include "runtime/Comm/Pulse.h"

#include <chrono>
#include <functional>
#include <map>
#include <vector>

namespace meshc::runtime {

/// Why a wait does not end.
struct Stall {
  double seconds = 0; ///< for which the culprit has made no progress
  /// Who waits for whom: this rank, the one that it waits for, and so on.
  std::vector<int> chain;
  /// The chain returns to one of its own ranks: all of its ranks are alive and
  /// wait for one another. Otherwise the last one makes no progress.
  bool isCircle = false;
  size_t circleBegin = 0; ///< in the chain, if it is a circle
  /// The rank that the last one of the chain waited for when it fell silent;
  /// -1: it did not wait.
  int awaited = -1;

  /// The rank to blame: the last one, or, in a cycle, the awaited one.
  int culprit() const { return isCircle ? chain[1] : chain.back(); }
  /// A rank by which all that see this stall know it: the lowest of the circle,
  /// or the culprit. Its host reports first.
  int representative() const;
};

/// One rank's view of the others. Used by one thread.
class StallWatch {
public:
  using Clock = std::chrono::steady_clock;

  /// `observe` returns the current pulse of a rank.
  StallWatch(int self, std::function<Pulse(int rank)> observe)
      : self(self), observe(std::move(observe)) {}

  /// What holds up this rank, which has waited for `rank` since `waitingSince`.
  /// Call it several times a second during a wait. Periods without calls count
  /// for nobody, since this rank was stopped itself.
  Stall look(int rank, Clock::time_point waitingSince, Clock::time_point now);

  /// Seconds since `rank` showed a sign of life or progress, as far as this
  /// rank knows. Call it as often as look() for the ranks of interest.
  double silence(int rank, Clock::time_point now);

private:
  struct Seen {
    Pulse pulse;
    Clock::time_point changed;  ///< any number
    Clock::time_point advanced; ///< any field but `turns`
  };

  const Seen &see(int rank, Clock::time_point now);

  int self;
  std::function<Pulse(int rank)> observe;
  std::map<int, Seen> seen;
  Clock::time_point lastLook;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STALLWATCH_H
