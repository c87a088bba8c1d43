//===- StallWatch.h - finding the rank that holds others up ------*- C++-*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A rank that waits looks at the pulses of others: who waits is followed to
/// the rank that it waits for, up to one that works or that shows no sign of
/// life. Time counts only while that rank makes no progress, so slow steps are
/// no failures, and a rank that was stopped while it waited is found although
/// its own wait is over.
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
  /// The chain ends at a rank that it already had: all of its ranks live and
  /// wait for one another. Otherwise the last one makes no progress.
  bool isCircle = false;

  /// The rank to blame: the last one, or of a circle the one waited for.
  int culprit() const { return isCircle ? chain[1] : chain.back(); }
};

/// The view of one rank on the others. Used by one thread.
class StallWatch {
public:
  using Clock = std::chrono::steady_clock;

  /// `observe` returns the present pulse of a rank.
  StallWatch(int self, std::function<Pulse(int rank)> observe)
      : self(self), observe(std::move(observe)) {}

  /// What holds this rank up, which has waited for `rank` since
  /// `waitingSince`; to be called several times a second during a wait. Time
  /// during which it was not called, as this rank was stopped itself, counts
  /// for nobody.
  Stall look(int rank, Clock::time_point waitingSince, Clock::time_point now);

  /// Seconds since `rank` showed a sign of life or progress, as far as this
  /// rank knows. To be called as often as look() for ranks that are of
  /// interest.
  double silence(int rank, Clock::time_point now);

private:
  struct Seen {
    Pulse pulse;
    Clock::time_point changed;  ///< any number
    Clock::time_point advanced; ///< any but `turns`
  };

  const Seen &see(int rank, Clock::time_point now);

  int self;
  std::function<Pulse(int rank)> observe;
  std::map<int, Seen> seen;
  Clock::time_point lastLook;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMM_STALLWATCH_H
