//===- FaultSearch.h - where values stop being finite -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds where the values of a step stop being finite, over all ranks.
///
/// Each rank checks everything that the calls of a step compute (StepCheck). A
/// finding on any rank is traced back. The search begins at the loss, or at a
/// parameter that the step updates; of an evaluation, at a statistic or a
/// metric. It goes to the first call that produces a NaN from operands without
/// one. If these are infinite, it goes on to the first call that produces an
/// infinite value from finite ones. Only dependencies of where it began count:
/// a mask of -inf whose softmax is finite is never reached.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_FAULTSEARCH_H
#define MESHC_RUNTIME_MONITOR_FAULTSEARCH_H

#include "runtime/Monitor/StepCheck.h"

#include <optional>

namespace meshc::runtime {

/// The first value that was not finite.
struct Fault {
  std::string text;  ///< a clause; empty: not found
  std::string input; ///< of the program, if it holds the value; else empty
};

/// The largest `value` of all ranks, returned on each; all ranks call it.
int64_t largestOfRanks(Communicator &communicator, int64_t value);

class FaultSearch {
public:
  /// All ranks construct one. `session` outlives it.
  FaultSearch(Session &session, StepFunction function);

  /// Makes `runStep` run the function once, like StepCheck::run. Returns
  /// whether the loss, or state that the step updated, is not finite on any
  /// rank; of an evaluation, whether a statistic is not, or after its last
  /// batch a metric. All ranks call it.
  bool run(const std::function<void()> &runStep, bool isLast = true);

  /// The first value of the last run that was not finite, the same on all
  /// ranks. All ranks call it.
  Fault explain();

private:
  /// What rank 0 knows about a value.
  struct Merged {
    uint8_t found = 0;                   ///< Finiteness, on any rank
    bool wasInfinite = false;            ///< in the run before, too
    int nanRank = -1, infiniteRank = -1; ///< the first call with it, or -1
  };

  std::vector<size_t> getTargets() const;
  std::vector<Merged> merge();
  std::vector<size_t> findOperands(const std::vector<Merged> &merged,
                                   size_t value, Finiteness kind) const;
  size_t followBack(const std::vector<Merged> &merged, size_t value,
                    Finiteness kind) const;
  std::string describe(const std::vector<Merged> &merged, size_t value,
                       Finiteness kind) const;
  Fault find(const std::vector<Merged> &merged) const;

  Session &session;
  StepCheck check;
  bool checksMetrics = true; ///< in the last run
  /// By value, what the last run found if that run was finite in the end:
  /// infinite values there are intentional.
  std::vector<uint8_t> before;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_FAULTSEARCH_H
