//===- Stop.h - ending a run early, on all ranks at once -------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ctrl-C and SIGTERM: the ranks agree on the step after which they stop.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_STOP_H
#define MESHC_RUNTIME_CORE_STOP_H

#include "runtime/Core/Failure.h"
#include "runtime/Core/Rank.h"

#include <chrono>
#include <cstdint>

namespace meshc::runtime {

/// Makes SIGINT and SIGTERM a wish, kept until a StopAgreement asks for it; the
/// second one kills as usual. Called by every rank when its steps begin, and
/// done when all are there: before that there is nothing to keep, and a signal
/// ends the program at once, whatever a rank waits for. Only the first call of
/// a process counts.
void catchSignals(Communicator &communicator);

/// The exit code of a run that was ended by `signal`, and its name.
ExitCode codeOfSignal(int signal);
const char *nameOfSignal(int signal);

/// Whether a run ends after the step just done. One rank asks itself. Several
/// agree by an all-reduce, not after every step but some ten times a second, on
/// steps that they also agree on, so that it costs next to nothing.
class StopAgreement {
public:
  explicit StopAgreement(const Rank &rank);

  /// To be called by every rank after each step (or batch). Returns the signal
  /// to stop for, or 0.
  int afterStep();

private:
  using Clock = std::chrono::steady_clock;

  const Rank &rank;
  uint32_t allAxes;
  int64_t stepsToGo = 1, interval = 1;
  Clock::time_point lastTime;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_STOP_H
