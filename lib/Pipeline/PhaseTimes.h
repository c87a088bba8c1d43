//===- PhaseTimes.h - how long each phase takes ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_PHASETIMES_H
#define MESHC_LIB_PIPELINE_PHASETIMES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace meshc {

/// Wall-clock time of the phases, for --time-phases.
class PhaseTimes {
public:
  /// Ends the running phase, if any, and begins another or resumes one that
  /// began before.
  void begin(llvm::StringRef phase);
  void end();
  /// One line for each phase that began: its name, seconds, and share.
  void print(llvm::raw_ostream &out) const;

private:
  using Clock = std::chrono::steady_clock;

  llvm::SmallVector<std::pair<std::string, double>> seconds;
  size_t current = 0; ///< the running phase, in `seconds`
  Clock::time_point started;
  bool isRunning = false;
};

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_PHASETIMES_H
