//===- Training.h - one rank's training run ---------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The command `train`. Train.cpp has its course; TrainingFaults.cpp what it
/// does about values that are not finite.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_COMMANDS_TRAINING_H
#define MESHC_RUNTIME_COMMANDS_TRAINING_H

#include "runtime/Checkpoint/Saver.h"
#include "runtime/Commands/Beginning.h"
#include "runtime/Commands/BestCheckpoint.h"
#include "runtime/Commands/Evaluate.h"
#include "runtime/Commands/Replay.h"
#include "runtime/Commands/TrainingLog.h"
#include "runtime/Commands/UpdateGuard.h"
#include "runtime/Data/Feeder.h"
#include "runtime/Monitor/StepTrace.h"

#include <chrono>
#include <optional>

namespace meshc::runtime {

/// One rank's training run.
class Training {
public:
  Training(Session &session, const Options &options, const Dataset &data,
           const Dataset *evalData);

  ExitCode run();

private:
  int64_t plannedSteps() const;
  void prepareSaves(const Beginning &beginning);
  Shuffle makeOrder() const;
  void readBatch(const Shuffle &shuffle);
  void takeSettings();
  void beginStep(const Shuffle &shuffle);
  std::optional<bool> readMetrics();
  void endStep();
  void endSteps(int stillOpen);
  void runToEnd();
  int runSteps();
  int64_t restore();
  Selection selectionOf(const Shuffle &shuffle, int64_t step) const;
  std::string findBadTarget(int64_t first, int64_t last) const;
  Replay replayTo(int64_t last);
  std::string adviseAfter(const Replay &replay, int64_t checkpoint);
  [[noreturn]] void stopAt(int64_t step, const std::string &what);
  void checkLoss(int64_t step);
  void guardUpdates();
  void skip(int64_t step);
  std::string explainSkip(int64_t step);
  bool isSaveStep() const;
  bool isEvalStep() const;
  bool missesEvaluation();
  bool endsEarly() const;
  void checkFinite();
  void save();
  void saveBest();
  int evaluate();
  int evaluateNow();
  void reportSaved(bool isLast);
  ExitCode end(int signal);

  Session &session;
  const Options &options;
  const Dataset &data, *evalData;
  Feeder feeder;
  std::optional<Evaluator> evaluator;
  std::optional<BestCheckpoint> best; ///< of `--keep-best`
  RunState state;                     ///< after the steps that were started
  int64_t total = 0;                  ///< steps that were asked for
  int openSteps = 0;                  ///< started, and their metrics not read
  int64_t batches = 0;                ///< that were read
  int64_t savedAt = -1;  ///< the step that was last given to the saver
  int64_t replaced = -1; ///< steps of another run's checkpoint, which is kept
  std::optional<Saver> saver;
  std::chrono::steady_clock::time_point saidSaved; ///< by reportSaved()
  /// Steps that were done when the run began, and those that were skipped.
  int64_t firstStep = 0, firstSkipped = 0;
  std::vector<std::string> names;
  std::vector<float> values;
  std::optional<TrainingLog> log;
  std::optional<StepTrace> trace;
  std::optional<UpdateGuard> guard;     ///< of `--on-nonfinite skip`
  bool explained = false;               ///< a step that it dropped
  std::optional<Failure> badEvaluation; ///< its metrics are not finite
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_COMMANDS_TRAINING_H
