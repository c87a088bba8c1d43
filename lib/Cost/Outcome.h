//===- Outcome.h - what is known of a program that was tried ----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_OUTCOME_H
#define MESHC_LIB_COST_OUTCOME_H

#include <cstdint>

namespace meshc::cost {

/// What is known of a program that was planned up to the schedule.
struct Outcome {
  double seconds = 0; ///< predicted, of its training step
  int64_t arenaBytes = 0;
  bool fits = true; ///< in the memory budget

  /// The gain is the share of the step that is saved, less the price of the
  /// arena times the share by which it grows: the memory could serve a larger
  /// batch or less recomputation instead. It must be at least this. A step may
  /// be longer by this share where the arena becomes smaller.
  static constexpr double leastGain = 0.0002, priceOfArena = 0.05;

  /// The share of the other's step that is saved.
  double getSaved(const Outcome &other) const {
    return 1 - seconds / other.seconds;
  }

  /// Whether this program is better than `other`, whose arena must not be empty
  /// and whose step must take time.
  bool isWorthItsArena(const Outcome &other) const {
    double saved = getSaved(other);
    double growth = double(arenaBytes) / double(other.arenaBytes) - 1;
    return saved >= -leastGain && saved - priceOfArena * growth >= leastGain;
  }

  /// A program that fits is better than one that does not; of two that fit, the
  /// one that is preferred; of two that do not, the smaller one.
  bool isBetterThan(const Outcome &other, bool isPreferred) const {
    if (fits != other.fits)
      return fits;
    return fits ? isPreferred : arenaBytes < other.arenaBytes;
  }
};

} // namespace meshc::cost

#endif // MESHC_LIB_COST_OUTCOME_H
