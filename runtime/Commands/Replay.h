//===- Replay.h - steps of a run again, with checks -------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds where a run's values first stopped being finite, by running its steps
/// again.
///
/// A step updates parameters in place, so the inputs of a step are gone when
/// its loss is known. Runs are repeatable to the bit: the steps since the last
/// checkpoint, or since the start, compute the same again, with checks
/// (FaultSearch). Nothing is kept for this while the run is healthy. A
/// parameter may stop being finite some steps before the loss does; the search
/// ends at the first such step.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_REPLAY_H
#define MESHC_RUNTIME_COMMANDS_REPLAY_H

#include "runtime/Monitor/FaultSearch.h"

namespace meshc::runtime {

/// What a run must provide in order to be repeated.
struct RepeatableRun {
  /// Sets the state of the device to that of the last checkpoint or the start.
  /// Returns how many steps had been done by then.
  std::function<int64_t()> restore;
  /// Runs the next step to completion.
  std::function<void()> runStep;
};

/// What a replay found.
struct Replay {
  enum class End {
    Fault,  ///< a step that is not finite
    Finite, ///< this time all steps are finite
    Unknown ///< a signal arrived, ten minutes have passed, or the program does
            ///< not describe its calls
  };
  End end = End::Unknown;
  Fault fault;
  int64_t first = 0; ///< number of the first step that was repeated, from 1
  int64_t step = 0;  ///< of the last one
};

/// Repeats the steps up to number `last`, which was not finite; all ranks call
/// it. Rank 0 says so on stdout, unless `quiet`. Throws what `run` throws.
Replay replaySteps(Session &session, const RepeatableRun &run, int64_t last,
                   bool quiet);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_REPLAY_H
