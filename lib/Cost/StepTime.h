//===- StepTime.h - predicted time of a step function ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_COST_STEPTIME_H
#define MESHC_LIB_COST_STEPTIME_H

#include "dialects/Exec/Exec.h"
#include "lib/Cost/CostModel.h"

namespace meshc::cost {

/// Seconds of all calls of a collective in one step.
struct CollectiveTime {
  exec::CollectiveOp op;
  double seconds = 0; ///< on the network
  /// In which the rank computes nothing because of it.
  double exposed = 0;
};

/// The predicted seconds of one run of a step function on one rank. `products`,
/// `kernels` and `exposed` add up to `seconds`.
struct StepTime {
  double seconds = 0;
  double products = 0; ///< matrix products and what else a library computes
  double kernels = 0;  ///< generated ones
  double exposed = 0;  ///< of all collectives
  llvm::SmallVector<CollectiveTime> collectives; ///< in order of first calls
};

/// Simulates the calls of a step function, after the schedule phase, in their
/// order (StepSimulation). A loop that may end early runs all its iterations.
StepTime predictStep(exec::FuncOp function, const Machine &machine);

} // namespace meshc::cost

#endif // MESHC_LIB_COST_STEPTIME_H
