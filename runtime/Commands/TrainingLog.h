//===- TrainingLog.h - what a training run tells ----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a training run reports about its steps and evaluations: on the screen,
/// in the file of `--log` and in that of `--tensorboard`.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_TRAININGLOG_H
#define MESHC_RUNTIME_COMMANDS_TRAININGLOG_H

#include "runtime/Commands/Options.h"
#include "runtime/Device/Session.h"
#include "runtime/Monitor/EventFile.h"
#include "runtime/Monitor/Log.h"
#include "runtime/Monitor/Progress.h"

namespace meshc::runtime {

class TrainingLog {
public:
  /// Opens the files of a run that begins after `first` steps; `resumed`: an
  /// earlier run did these. All ranks construct one; rank 0 writes. Throws
  /// Failure(Usage) if a file cannot be opened.
  TrainingLog(Session &session, const Options &options, int64_t first,
              bool resumed);

  /// The first step begins.
  void begin(const TrainingPlan &plan);
  /// What happens from pause() to resume(), an evaluation for example, is not a
  /// part of steps: their times and rates do not contain it.
  void pause();
  void resume();
  /// A checkpoint of `step` steps has been written.
  void afterSave(int64_t step, const std::string &path);
  /// Step number `step` (from 1) is done. `skipped`: steps whose updates were
  /// dropped so far; null if none are ever dropped.
  void afterStep(int64_t step, const std::vector<float> &values,
                 std::optional<int64_t> skipped);
  /// The means of metrics over the evaluation data, after `step` steps.
  void afterEvaluation(int64_t step, const std::vector<std::string> &metrics,
                       const std::vector<double> &means);
  /// Whether the log of the earlier run, if there is one, has no evaluation of
  /// the step at which this run resumes. All ranks call it.
  bool missesEvaluation(const std::vector<std::string> &metrics);
  /// Ends the progress line, so that other output can follow.
  void endLine();

private:
  using Values = std::vector<std::pair<std::string, double>>;

  bool hasEvaluation(const std::string &metric) const;
  void write(int64_t step, const Values &values,
             std::optional<double> time = std::nullopt);

  Session &session;
  const Options &options;
  std::vector<std::string> names; ///< of the metrics
  int64_t first, batch = 0;
  Log log;
  EventFile events;
  std::optional<Progress> progress;
  // At the previous line.
  int64_t loggedAt;
  double loggedTime = 0, loggedCommunication = 0;
  double pausedTime = 0, pausedCommunication = 0; ///< at pause()
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_TRAININGLOG_H
