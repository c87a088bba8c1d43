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
#include "runtime/Commands/Stop.h"
#include "runtime/Data/Dataset.h"
#include "runtime/Data/Feeder.h"
#include "runtime/Device/Session.h"

#include <deque>
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
  /// and `dataset` outlive the evaluator.
  Evaluator(Session &session, const Dataset &dataset,
            StepFunction function = StepFunction::Eval);

  /// Names of the metrics.
  std::vector<std::string> names() const {
    return session.metricNames(function);
  }

  /// The mean of each metric over the N examples, in the order of names(). The
  /// program is compiled for batches of B, and its metrics are means over a
  /// batch. The mean of the remaining r = N mod B examples follows from two
  /// batches: m_A of the r examples and B - r copies of one of them, and m_E of
  /// B copies of that one,
  ///     m_r = (B·m_A - (B-r)·m_E) / r,
  /// so that every example counts once, whatever the batch size. Null if a
  /// signal ended the run early, on all ranks alike.
  std::optional<std::vector<double>> run();

  /// The signal that ended the last run early, or 0.
  int signal() const { return stoppedBy; }

private:
  bool begin(const Selection &selection, double weight);
  void end();

  Session &session;
  const Dataset &dataset;
  StepFunction function;
  Feeder feeder;
  std::vector<float> values;
  std::vector<double> sums;
  std::deque<double> openWeights; ///< of batches whose metrics are not read
  std::optional<StopAgreement> stop;
  int stoppedBy = 0;
};

/// What is wrong if a mean over `dataset` is not finite: Data if an example has
/// an invalid target or holds a NaN, otherwise Numeric. Null if all are finite.
std::optional<Failure> checkMeans(const std::vector<std::string> &names,
                                  const std::vector<double> &means,
                                  const Dataset &dataset);

/// The command `eval`: loads the parameters and prints each metric. All ranks
/// call it. Returns Success, the code of checkMeans, or Interrupted or
/// Terminated if a signal ended it. Throws Failure.
ExitCode evaluate(Session &session, const Options &options,
                  const Dataset &dataset);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_EVALUATE_H
