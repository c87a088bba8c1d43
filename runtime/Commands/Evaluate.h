//===- Evaluate.h - metrics over all examples -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The metrics of a model over all examples of a dataset.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_EVALUATE_H
#define MESHC_RUNTIME_COMMANDS_EVALUATE_H

#include "runtime/Base/Failure.h"
#include "runtime/Commands/Options.h"
#include "runtime/Commands/Replay.h"
#include "runtime/Commands/Stop.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Feeder.h"
#include "runtime/Device/Session.h"

#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// What `train --eval-data` evaluates: parameters, or their averages. Throws
/// Failure(Usage) if averages are demanded and the program keeps none.
StepFunction evaluatedFunction(const Session &session, const Options &options);

/// Evaluates one dataset as often as needed. All ranks take part.
class Evaluator {
public:
  /// Evaluates the parameters or, with EvalAverages, their averages. `session`
  /// and `dataset` outlive the evaluator. Throws Failure(Data) if the program
  /// needs complete batches and the last one is not.
  Evaluator(Session &session, const Dataset &dataset,
            StepFunction function = StepFunction::Eval);

  /// Names of the metrics.
  std::vector<std::string> names() const {
    return session.metricNames(function);
  }

  /// The metrics of all examples, in the order of names(): functions of sums
  /// and extrema over the examples, which the program adds up from batch to
  /// batch. Null if a signal ended the run early, on all ranks alike.
  std::optional<std::vector<double>> run();

  /// The signal that ended the last run early, or 0.
  int signal() const { return stoppedBy; }

  /// What is wrong if one of run()'s metrics is not finite; null if all are.
  /// Evaluates the data again to find the first value that is not: Data if it
  /// is in an input, or comes from a target that is no class; otherwise
  /// Numeric, with the op. All ranks call it.
  std::optional<Failure> check(const std::vector<double> &metrics);

private:
  void reset();
  void read(const Selection &selection);
  bool begin(const Selection &selection);
  void end();
  Replay::End repeat(Fault &fault, Selection &at);
  std::string findBadData() const;
  Failure explain(const std::string &what);

  Session &session;
  const Dataset &dataset;
  StepFunction function;
  Feeder feeder;
  std::vector<float> values; ///< of the last batch that was read
  int openRuns = 0;          ///< batches whose metrics are not read
  std::optional<StopAgreement> stop;
  int stoppedBy = 0;
};

/// The command `eval`: loads the parameters and prints each metric. All ranks
/// call it. Returns Success, the code of Evaluator::check, or Interrupted or
/// Terminated if a signal ended it. Throws Failure.
ExitCode evaluate(Session &session, const Options &options,
                  const Dataset &dataset);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_EVALUATE_H
