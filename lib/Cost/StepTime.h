//===- StepTime.h - predicted time of a step function ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_STEPTIME_H
#define MESHC_LIB_COST_STEPTIME_H

#include "dialects/Exec/Exec.h"
#include "lib/Cost/StepSimulation.h"

namespace meshc::cost {

/// What all calls of a collective take in one step.
struct CollectiveTime : NetworkTime {
  exec::CollectiveOp op;
};

/// The predicted time of one run of a step function on one rank.
struct StepTime : SimulatedTime {
  llvm::SmallVector<CollectiveTime> collectives; ///< in order of first calls
};

/// Simulates the calls of a step function, after the schedule phase, in their
/// order (StepSimulation). A loop that may end early runs all its iterations.
StepTime predictStep(exec::FuncOp function, const Machine &machine);

} // namespace meshc::cost

#endif // MESHC_LIB_COST_STEPTIME_H
