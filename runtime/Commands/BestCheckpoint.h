//===- BestCheckpoint.h - --keep-best and --stop-after ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What evaluations during training decide: whether the state is the best so
/// far, and whether the training ends early. All ranks decide the same, since
/// they have the same metrics.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_BESTCHECKPOINT_H
#define MESHC_RUNTIME_COMMANDS_BESTCHECKPOINT_H

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Commands/Options.h"
#include "runtime/Device/Session.h"

#include <string>
#include <vector>

namespace meshc::runtime {

class BestCheckpoint {
public:
  /// `names` are the metrics of evaluations. Throws Failure(Usage) if the one
  /// of `--keep-best` is not among them. `options` outlive this.
  BestCheckpoint(const Options &options, const std::vector<std::string> &names);

  /// Begins with the state of a run, and with the file of the best checkpoint,
  /// if there is one: only a better one replaces it. All ranks call it. Throws
  /// Failure(Usage) if the file exists and the run has neither `--resume` nor
  /// `--overwrite`.
  void begin(Session &session, RunState &state);

  /// Counts the evaluation after `state.step` steps. NaN and infinity are no
  /// improvement. Returns whether the state is to be saved as the best.
  bool count(const std::vector<double> &means, RunState &state);
  /// Whether the run is to end, as the last evaluations were no improvement.
  bool ends(const RunState &state) const {
    return options.stopAfter > 0 && state.best.since >= options.stopAfter;
  }

  /// The line of a run that ends for this reason.
  std::string describeEnd(const RunState &state) const;

  /// "best loss 1.2345 after step 40"
  static std::string describe(const BestEvaluation &best);

private:
  bool isBetter(double value, double than, double by) const {
    return options.bestIsLargest ? value > than && value - than >= by
                                 : value < than && than - value >= by;
  }

  const Options &options;
  size_t metric = 0; ///< its number
  bool hasStored = false;
  double stored = 0; ///< the value of the existing file
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_BESTCHECKPOINT_H
