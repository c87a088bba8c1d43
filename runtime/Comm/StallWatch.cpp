//===- StallWatch.cpp - finding the rank that holds others up -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/StallWatch.h"

#include "runtime/Comm/WatchTimes.h"

#include <algorithm>

using namespace meshc::runtime;

namespace {

/// A waiting rank takes a turn every 20 ms, on a busy machine perhaps ten times
/// less often. A rank that takes none for this many seconds, or for half of the
/// time in which it made no progress, is not followed further.
constexpr double longestTurn = 2;

} // namespace

int Stall::representative() const {
  return isCircle ? *std::min_element(chain.begin() + circleBegin, chain.end())
                  : culprit();
}

const StallWatch::Seen &StallWatch::see(int rank, Clock::time_point now) {
  Pulse pulse = observe(rank);
  auto [entry, isNew] = seen.try_emplace(rank, Seen{pulse, now, now});
  Seen &known = entry->second;
  // That of a rank on another host may be an old one.
  bool runs = pulse.runnable && pulse.taken != known.pulse.taken;
  bool advanced = pulse.progress != known.pulse.progress ||
                  pulse.waitsFor != known.pulse.waitsFor ||
                  (pulse.waitsFor == 0 &&
                   (runs || pulse.processorTime != known.pulse.processorTime));
  if (advanced)
    known.advanced = now;
  if (advanced || runs || pulse.turns != known.pulse.turns)
    known.changed = now;
  known.pulse = pulse;
  return known;
}

Stall StallWatch::look(int rank, Clock::time_point waitingSince,
                       Clock::time_point now) {
  if (now - lastLook > longestPause)
    seen.clear();
  lastLook = now;
  Stall stall;
  stall.chain.push_back(self);
  Clock::time_point advanced = waitingSince;
  int next = rank;
  while (true) {
    auto known = std::find(stall.chain.begin(), stall.chain.end(), next);
    if (known != stall.chain.end()) {
      stall.isCircle = true;
      stall.circleBegin = known - stall.chain.begin();
      stall.seconds = secondsSince(advanced, now);
      return stall;
    }
    stall.chain.push_back(next);
    const Seen &state = see(next, now);
    advanced = std::max(advanced, state.advanced);
    double stalled = secondsSince(std::max(waitingSince, state.advanced), now);
    if (state.pulse.waitsFor == 0 ||
        secondsSince(state.changed, now) > std::min(longestTurn, stalled / 2)) {
      stall.seconds = secondsSince(std::max(waitingSince, state.changed), now);
      stall.awaited = static_cast<int>(state.pulse.waitsFor) - 1;
      return stall;
    }
    next = static_cast<int>(state.pulse.waitsFor) - 1;
  }
}

double StallWatch::silence(int rank, Clock::time_point now) {
  return secondsSince(see(rank, now).changed, now);
}
