//===- Train.cpp - the command train --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Train.h"

#include "runtime/Checkpoint/Saver.h"
#include "runtime/Core/Beginning.h"
#include "runtime/Core/Evaluate.h"
#include "runtime/Core/EventFile.h"
#include "runtime/Core/Log.h"
#include "runtime/Core/Progress.h"
#include "runtime/Core/StandardStreams.h"
#include "runtime/Core/StepTrace.h"
#include "runtime/Core/Stop.h"
#include "runtime/Data/Feeder.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace meshc::runtime;

namespace {

/// A training run of one rank.
class Run {
public:
  Run(Session &session, const Options &options, const Dataset &data,
      const Dataset *evalData);

  ExitCode run();

private:
  int64_t plannedSteps() const;
  void prepareSaves(const Beginning &beginning, int64_t total);
  Shuffle makeOrder() const;
  void beginStep(const Shuffle &shuffle);
  void endStep();
  void endSteps(int stillOpen);
  void checkLoss(int64_t step);
  void logStep(int64_t step);
  void log(int64_t step,
           const std::vector<std::pair<std::string, double>> &values,
           std::optional<double> time = std::nullopt);
  bool isSaveStep() const;
  bool isEvalStep(int64_t total) const;
  void save();
  int evaluate();
  ExitCode end(int signal);

  Session &session;
  const Options &options;
  const Dataset &data, *evalData;
  Feeder feeder;
  std::optional<Evaluator> evaluator;
  RunState state;        ///< after the steps that were begun
  int openSteps = 0;     ///< begun, and their metrics not read
  int64_t batches = 0;   ///< that were read
  int64_t savedAt = -1;  ///< the step that was given to be saved
  int64_t replaced = -1; ///< steps of another run's checkpoint, which stays
  std::optional<Saver> saver;
  int64_t firstStep = 0; ///< steps that were done when the run began
  std::vector<std::string> names;
  std::vector<float> values;
  std::optional<Log> jsonLog;
  std::optional<EventFile> events;
  std::optional<Progress> progress;
  std::optional<StepTrace> trace;
  std::optional<Failure> badEvaluation; ///< its metrics are not finite
  int64_t loggedAt = 0;
  double loggedTime = 0, loggedCommunication = 0;
};

} // namespace

Run::Run(Session &session, const Options &options, const Dataset &data,
         const Dataset *evalData)
    : session(session), options(options), data(data), evalData(evalData),
      feeder(session.program(), data, session.coords()),
      names(session.metricNames()) {
  if (evalData)
    evaluator.emplace(session, *evalData);
}

int64_t Run::plannedSteps() const {
  if (options.steps)
    return *options.steps;
  double epochs = options.epochs > 0 ? options.epochs : 1;
  double examples = epochs * static_cast<double>(data.examples());
  auto left = std::ceil((examples - static_cast<double>(state.position)) /
                        static_cast<double>(data.batch()));
  return state.step + static_cast<int64_t>(std::clamp(left, 0.0, 1e15));
}

/// The order of the examples.
Shuffle Run::makeOrder() const {
  return options.noShuffle ? Shuffle::inFileOrder(data.examples())
                           : Shuffle(state.seed, data.examples());
}

/// Reads a batch, while the device may still be at the step before, and has the
/// device begin. One that is held is there for every run that may be under way.
void Run::beginStep(const Shuffle &shuffle) {
  Device &device = session.device();
  if (!options.holdBatch || batches <= device.runsAhead()) {
    feeder.fill([&](const MeshcTensor &input) { return device.stage(input); },
                {&shuffle, state.position, data.batch(), 0});
    ++batches;
  }
  session.context().step = state.step;
  device.run(StepFunction::Train);
  ++openSteps;
  ++state.step;
  state.position += data.batch();
}

/// Waits for the first step that is open.
void Run::endStep() {
  session.device().readMetrics(values);
  int64_t step = state.step - --openSteps;
  checkLoss(step);
  logStep(step);
}

/// Waits until no more than `stillOpen` steps are open.
void Run::endSteps(int stillOpen) {
  while (openSteps > stillOpen)
    endStep();
}

bool Run::isSaveStep() const {
  return options.saveEvery && state.step % options.saveEvery == 0;
}

bool Run::isEvalStep(int64_t total) const {
  return evaluator && options.evalEvery && state.step < total &&
         state.step % options.evalEvery == 0;
}

void Run::checkLoss(int64_t step) {
  if (values.empty() || std::isfinite(values.front()))
    return;
  std::string what = "the " + names.front() + " of step " +
                     std::to_string(step) + " is " +
                     (std::isnan(values.front()) ? "not a number" : "infinite");
  Shuffle shuffle = makeOrder();
  int64_t first = state.position - (state.step - step + 1) * data.batch();
  std::string bad =
      data.findBadTarget({&shuffle, first, data.batch(), 0}, data.batch());
  if (!bad.empty())
    throw Failure(ExitCode::Data, what + ": " + bad);
  int64_t saved = saver ? saver->savedStep() : -1;
  throw Failure(ExitCode::Numeric,
                what + "; lower the learning rate" +
                    (saved >= 0 ? ", and go on from checkpoint '" +
                                      options.checkpoint + "' of step " +
                                      std::to_string(saved)
                                : ""));
}

/// Enters values into the log and the event file; `time`, in seconds since the
/// first step began, into the log alone.
void Run::log(int64_t step,
              const std::vector<std::pair<std::string, double>> &values,
              std::optional<double> time) {
  jsonLog->begin(step);
  for (const auto &[name, value] : values)
    jsonLog->add(name, value);
  if (time)
    jsonLog->add("time", *time);
  jsonLog->end();
  events->write(step, values);
}

void Run::logStep(int64_t step) {
  std::optional<double> communication = session.device().communicationTime();
  progress->afterStep(step, names, values, communication, /*skipped=*/0);
  if (!session.speaks() || (options.logEvery && step % options.logEvery != 0))
    return;
  double time = progress->elapsed(), passed = std::max(time - loggedTime, 1e-9);
  std::vector<std::pair<std::string, double>> logged;
  for (size_t i = 0; i < names.size(); ++i)
    logged.emplace_back(names[i], values[i]);
  logged.emplace_back("examples_per_second",
                      static_cast<double>((step - loggedAt) * data.batch()) /
                          passed);
  if (communication)
    logged.emplace_back(
        "communication",
        std::clamp((*communication - loggedCommunication) / passed, 0.0, 1.0));
  log(step, logged, time);
  loggedAt = step;
  loggedTime = time;
  loggedCommunication = communication.value_or(0);
}

/// Looks at what the checkpoints of this run will replace, and takes the memory
/// for them.
void Run::prepareSaves(const Beginning &beginning, int64_t total) {
  if (options.checkpoint.empty())
    return;
  int64_t firstSave = total;
  if (options.saveEvery)
    firstSave = std::min(total, (state.step / options.saveEvery + 1) *
                                    options.saveEvery);
  replaced = findReplaced(session, options, beginning, firstSave);
  saver.emplace(session.rank(), SaveOptions{options.checkpoint, options.keep,
                                            savesInBackground(options)});
  if (!beginning.continuesCheckpoint)
    return;
  if (beginning.fellBack)
    saver->replaceDamaged();
  else
    saver->setSavedStep(savedAt = state.step);
}

void Run::save() {
  if (!saver || savedAt == state.step || state.step < replaced)
    return;
  if (const MeshcTensor *bad = findNotFinite(session.rank()))
    throw Failure(ExitCode::Numeric,
                  std::string("parameter '") + bad->name +
                      "' is not finite after step " +
                      std::to_string(state.step) +
                      "; it is not saved; lower the learning rate");
  saver->save(state);
  savedAt = state.step;
}

/// Returns the signal that ended it early, or 0. Metrics that are not finite do
/// not end the training; its exit code tells.
int Run::evaluate() {
  std::optional<std::vector<double>> means = evaluator->run();
  if (!means)
    return evaluator->signal();
  if (!badEvaluation)
    badEvaluation = checkMeans(names, *means, *evalData);
  if (!session.speaks())
    return 0;
  progress->endLine();
  std::string text;
  std::vector<std::pair<std::string, double>> logged;
  for (size_t i = 0; i < names.size(); ++i) {
    char number[400];
    std::snprintf(number, sizeof(number), " %.4f after step %lld\n",
                  (*means)[i], static_cast<long long>(state.step));
    text += "eval " + names[i] + number;
    logged.emplace_back("eval_" + names[i], (*means)[i]);
  }
  if (!(state.step == firstStep && jsonLog->hasAtResume(logged.front().first)))
    log(state.step, logged);
  printOut(text);
  return 0;
}

/// What the run returns after its last step, and what it says of that.
ExitCode Run::end(int signal) {
  if (trace && session.speaks())
    printOut(trace->table());
  const std::string program = session.program().name;
  std::string message;
  ExitCode code = ExitCode::Success;
  if (signal) {
    code = codeOfSignal(signal);
    message = program + ": stopped by " + nameOfSignal(signal) +
              " after step " + std::to_string(state.step) + "; " +
              (options.checkpoint.empty() ? "no --checkpoint was asked for"
               : state.step < replaced
                   ? "not saved, as checkpoint '" + options.checkpoint +
                         "' holds step " + std::to_string(replaced) +
                         " of an earlier run"
                   : "go on with --resume '" + options.checkpoint + "'") +
              '\n';
  } else if (badEvaluation) {
    code = badEvaluation->code();
    message = program + ": error: " + badEvaluation->what() + '\n';
  }
  if (session.speaks())
    printError(message);
  return code;
}

ExitCode Run::run() {
  const Beginning beginning = beginRun(session, options);
  if (!agreeOn(session.communicator(), session.program().name,
               beginning.agreed))
    return ExitCode::Disagreement;
  state = beginning.state;
  const bool speaks = session.speaks();
  const int64_t total = plannedSteps();
  prepareSaves(beginning, total);
  std::optional<int64_t> resumeAt;
  if (beginning.resumed)
    resumeAt = state.step;
  firstStep = state.step;
  jsonLog.emplace(speaks ? options.log : "", resumeAt);
  events.emplace(speaks ? options.tensorboard : "", resumeAt);
  if (!options.trace.empty())
    trace.emplace(session, options, state.step, total);
  if (speaks && state.step >= total)
    printOut("nothing to do: " + std::to_string(state.step) +
             " steps are done and " + std::to_string(total) +
             " were asked for\n");
  catchSignals(session.communicator());
  StopAgreement stop(session.rank());
  Shuffle shuffle = makeOrder();
  loggedAt = state.step;
  std::optional<double> communication = session.device().communicationTime();
  loggedCommunication = communication.value_or(0);
  progress.emplace(state.step, total, data.batch(), options.logEvery,
                   communication, options.quiet || !speaks);
  int signal = 0;
  while (state.step < total && !signal) {
    if (trace && trace->startsAfter(state.step)) {
      endSteps(0);
      trace->start();
    }
    beginStep(shuffle);
    // What is saved or evaluated was checked first.
    bool settles = isSaveStep() || isEvalStep(total) ||
                   (trace && trace->endsAfter(state.step));
    endSteps(settles ? 0 : session.device().runsAhead());
    if (trace && settles)
      trace->pause(state.step);
    if (isSaveStep())
      save();
    if (isEvalStep(total))
      signal = evaluate();
    if (saver)
      saver->check();
    if (!signal)
      signal = stop.afterStep();
  }
  endSteps(0);
  if (trace)
    trace->finish(state.step);
  progress->endLine();
  save();
  if (!signal && evaluator)
    signal = evaluate();
  if (saver)
    saver->wait();
  return end(signal);
}

ExitCode meshc::runtime::train(Session &session, const Options &options,
                               const Dataset &data, const Dataset *evalData) {
  return Run(session, options, data, evalData).run();
}
