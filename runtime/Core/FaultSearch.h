//===- FaultSearch.h - where values stop being finite ----------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where the values of a step stop being finite, over all ranks.
///
/// Each rank looks at all that the calls of a step compute (StepCheck). What
/// is found on any rank is followed back from the loss, or from a parameter
/// that the step updates, to the first call that makes a NaN of operands
/// without one, and from there to the first that makes an infinite value of
/// finite ones. Only what the loss depends on counts: a mask of -inf whose
/// softmax is finite is never reached.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_CORE_FAULTSEARCH_H
#define MESHC_RUNTIME_CORE_FAULTSEARCH_H

#include "runtime/Core/StepCheck.h"

#include <optional>

namespace meshc::runtime {

/// What first was not finite.
struct Fault {
  std::string text;  ///< a clause; empty: it was not found
  std::string input; ///< of the program, where it holds the value; else empty
};

/// The largest `value` of all ranks, on each; all ranks call it.
int64_t largestOfRanks(Communicator &communicator, int64_t value);

class FaultSearch {
public:
  /// All ranks make theirs. `session` outlives it.
  FaultSearch(Session &session, StepFunction function);

  /// Has `runStep` run the function once, as StepCheck::run. Returns whether
  /// the loss, or state that the step updated, is not finite on any rank. All
  /// ranks call it.
  bool run(const std::function<void()> &runStep);

  /// Of the last run: what first was not finite, the same on all ranks, which
  /// all call it.
  Fault explain();

private:
  /// What rank 0 knows of a value.
  struct Merged {
    uint8_t found = 0;                   ///< Finiteness, on any rank
    bool wasInfinite = false;            ///< in the run before, too
    int nanRank = -1, infiniteRank = -1; ///< the first with it, or -1
  };

  std::vector<Merged> merge();
  std::optional<size_t> findOperand(const std::vector<Merged> &merged,
                                    size_t value, Finiteness kind) const;
  size_t followBack(const std::vector<Merged> &merged, size_t value,
                    Finiteness kind) const;
  std::string describe(const std::vector<Merged> &merged, size_t value,
                       Finiteness kind) const;
  Fault find(const std::vector<Merged> &merged) const;

  Session &session;
  StepCheck check;
  /// By value, what was found in the last run that was finite in the end:
  /// infinite values in it are meant to be there.
  std::vector<uint8_t> before;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_CORE_FAULTSEARCH_H
