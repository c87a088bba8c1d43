//===- Stop.h - ending a run early, on all ranks at once --------*- C++ -*-===//
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
#ifndef MESHC_RUNTIME_COMMANDS_STOP_H
#define MESHC_RUNTIME_COMMANDS_STOP_H

#include "runtime/Base/Failure.h"
#include "runtime/Device/Rank.h"

#include <chrono>
#include <cstdint>

namespace meshc::runtime {

/// Turns SIGINT and SIGTERM into requests, kept until a StopAgreement asks for
/// them; the second signal kills as usual. Every rank calls it when its steps
/// begin, and it takes effect once all have: before that there is nothing to
/// save, and a signal ends the program immediately, whatever a rank waits for.
/// Only the first call of a process counts.
void catchSignals(Communicator &communicator);

/// The exit code of a run that `signal` ended, and the signal's name.
ExitCode codeOfSignal(int signal);
const char *nameOfSignal(int signal);

/// Decides whether a run ends after the current step. A single rank asks
/// itself. Several agree by an all-reduce, not after every step but about ten
/// times a second, at steps that they also agree on, so that it costs next to
/// nothing.
class StopAgreement {
public:
  explicit StopAgreement(const Rank &rank);

  /// Call it on every rank after each step (or batch). Returns the signal to
  /// stop for, or 0.
  int afterStep();

private:
  using Clock = std::chrono::steady_clock;

  const Rank &rank;
  uint32_t allAxes;
  int64_t stepsToGo = 1, interval = 1;
  Clock::time_point lastTime;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_STOP_H
