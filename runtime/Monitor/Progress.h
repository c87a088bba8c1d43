//===- Progress.h - how far a training run is -------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The progress display of `train`: one line with a bar on a terminal, plain
/// lines otherwise.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_MONITOR_PROGRESS_H
#define MESHC_RUNTIME_MONITOR_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// The length of a training run.
struct TrainingPlan {
  int64_t first = 0, total = 0; ///< steps: done before the run, and at its end
  int64_t batch = 1;            ///< examples of a step
  int64_t examples = 0; ///< of the data set; 0: its epochs are not counted
  int64_t position = 0; ///< examples taken before the run

  /// The epoch, from 1, of which step number `step` (from 1) takes its last
  /// example; 0 if epochs are not counted.
  int64_t epochOf(int64_t step) const;
};

/// The content of one line of progress.
struct ProgressStatus {
  int64_t done = 0, total = 0;   ///< steps
  int64_t epoch = 0, epochs = 0; ///< from 1; 0 is not shown
  std::vector<std::string> names;
  std::vector<float> values; ///< of the metrics, the loss first
  double stepSeconds = 0;    ///< per step, since the previous line
  double examplesPerSecond = 0;
  std::optional<double> communication; ///< share of the time, 0 to 1
  int64_t skipped = 0; ///< steps whose updates were dropped; 0 is not shown
  /// After the last step the total time, before it the estimated time left.
  double seconds = 0;
};

/// "step 420/1200  epoch 4/10  loss 0.38460  4.78 ms/step  104648 examples/s
/// comm 12%  ETA 0:04", with everything in `status`. After the last step the
/// line ends with "took" instead of "ETA".
std::string formatProgress(const ProgressStatus &status);

/// The same for a terminal of `width` columns, at most width - 1 characters, so
/// that it never wraps, with a bar. If there is too little room, rates are left
/// out first, then words are shortened, then the time of a step, the epoch, the
/// bar, and last the metrics are left out, the loss after all others.
std::string formatProgress(const ProgressStatus &status, size_t width);

class Progress {
public:
  /// Plain lines appear every `lineEvery` steps, or, if that is 0, after the
  /// first step, the last, and every two seconds. A silent one prints nothing.
  /// `communication`: seconds spent in collectives so far
  /// (Device::communicationTime).
  Progress(const TrainingPlan &plan, int64_t lineEvery,
           std::optional<double> communication, bool silent);

  /// Reports that step number `done` (from 1) is done. `skipped`: steps whose
  /// updates were dropped so far.
  void afterStep(int64_t done, const std::vector<std::string> &names,
                 const std::vector<float> &values,
                 std::optional<double> communication, int64_t skipped);

  /// `time` seconds since the previous line, of which `communication` were
  /// spent in collectives, do not belong to steps.
  void leaveOut(double time, double communication);

  /// Ends the line with the bar, so that other output can follow.
  void endLine();

  /// Since the first step began, in seconds.
  double elapsed() const;

private:
  using Clock = std::chrono::steady_clock;

  bool isDue(int64_t done, Clock::time_point now) const;

  TrainingPlan plan;
  int64_t lineEvery;
  bool silent, terminal;
  bool lineOpen = false;
  Clock::time_point begin, shown;
  int64_t shownSteps;
  double shownCommunication;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_MONITOR_PROGRESS_H
