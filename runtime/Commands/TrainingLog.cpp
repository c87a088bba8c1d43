//===- TrainingLog.cpp - what a training run tells ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/TrainingLog.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/Figure.h"
#include "runtime/Base/StandardStreams.h"

#include <algorithm>

using namespace meshc::runtime;

static std::optional<int64_t> resumePoint(int64_t first, bool resumed) {
  if (resumed)
    return first;
  return std::nullopt;
}

TrainingLog::TrainingLog(Session &session, const Options &options,
                         int64_t first, bool resumed)
    : session(session), options(options),
      names(session.metricNames(StepFunction::Train)), first(first),
      log(session.speaks() ? options.log : "", resumePoint(first, resumed)),
      events(session.speaks() ? options.tensorboard : "",
             resumePoint(first, resumed)),
      loggedAt(first) {}

void TrainingLog::begin(const TrainingPlan &plan) {
  batch = plan.batch;
  std::optional<double> communication = session.device().communicationTime();
  loggedCommunication = communication.value_or(0);
  progress.emplace(plan, options.logEvery, communication,
                   options.quiet || !session.speaks());
}

void TrainingLog::pause() {
  pausedTime = progress->elapsed();
  pausedCommunication = session.device().communicationTime().value_or(0);
}

void TrainingLog::resume() {
  const double time = progress->elapsed() - pausedTime;
  const double communication =
      session.device().communicationTime().value_or(0) - pausedCommunication;
  progress->leaveOut(time, communication);
  loggedTime += time;
  loggedCommunication += communication;
}

void TrainingLog::afterSave(int64_t step, const std::string &path) {
  if (!session.speaks() || options.quiet)
    return;
  endLine();
  printOut("saved '" + meshc::escapeControls(path) + "' (step " +
           std::to_string(step) + ")\n");
}

/// Enters values into the log and the event file; `time`, in seconds since the
/// first step began, into the log alone.
void TrainingLog::write(int64_t step, const Values &values,
                        std::optional<double> time) {
  log.begin(step);
  for (const auto &[name, value] : values)
    log.add(name, value);
  if (time)
    log.add("time", *time);
  log.end();
  events.write(step, values);
}

void TrainingLog::afterStep(int64_t step, const std::vector<float> &values,
                            std::optional<int64_t> skipped) {
  std::optional<double> communication = session.device().communicationTime();
  progress->afterStep(step, names, values, communication, skipped.value_or(0));
  if (!session.speaks() || (options.logEvery && step % options.logEvery != 0))
    return;
  double time = progress->elapsed(), passed = std::max(time - loggedTime, 1e-9);
  Values logged;
  for (size_t i = 0; i < names.size(); ++i)
    logged.emplace_back(names[i], values[i]);
  if (skipped)
    logged.emplace_back("skipped", static_cast<double>(*skipped));
  logged.emplace_back("examples_per_second",
                      static_cast<double>((step - loggedAt) * batch) / passed);
  if (communication)
    logged.emplace_back(
        "communication",
        std::clamp((*communication - loggedCommunication) / passed, 0.0, 1.0));
  write(step, logged, time);
  loggedAt = step;
  loggedTime = time;
  loggedCommunication = communication.value_or(0);
}

/// What the log calls a metric of an evaluation.
static std::string loggedName(const std::string &metric) {
  return "eval_" + metric;
}

bool TrainingLog::hasEvaluation(const std::string &metric) const {
  return log.hasAtResume(loggedName(metric));
}

bool TrainingLog::missesEvaluation(const std::vector<std::string> &metrics) {
  uint8_t misses = session.speaks() && !hasEvaluation(metrics.front());
  session.communicator().broadcast(&misses, sizeof(misses), 0);
  return misses;
}

void TrainingLog::afterEvaluation(int64_t step,
                                  const std::vector<std::string> &metrics,
                                  const std::vector<double> &means) {
  if (!session.speaks())
    return;
  endLine();
  std::string text;
  Values logged;
  for (size_t i = 0; i < metrics.size(); ++i) {
    text += "eval " + metrics[i] + ' ' + formatFigure(means[i]) +
            " after step " + std::to_string(step) + '\n';
    logged.emplace_back(loggedName(metrics[i]), means[i]);
  }
  // A resumed run with nothing left to do repeats an evaluation.
  if (step != first || !hasEvaluation(metrics.front()))
    write(step, logged);
  printOut(text);
}

void TrainingLog::endLine() { progress->endLine(); }
