//===- Train.cpp - the command train --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Train.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/Stop.h"
#include "runtime/Commands/TrainedTokens.h"
#include "runtime/Commands/Training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

using namespace meshc::runtime;

Training::Training(Session &session, const Options &options,
                   const Dataset &data, const Dataset *evalData)
    : session(session), options(options), data(data), evalData(evalData),
      feeder(session.program(), data, session.coords()),
      names(session.metricNames(StepFunction::Train)) {
  if (evalData)
    evaluator.emplace(session, *evalData, evaluatedFunction(session, options));
  if (!options.bestMetric.empty())
    best.emplace(options, evaluator->names());
}

int64_t Training::plannedSteps() const {
  if (options.steps)
    return *options.steps;
  double epochs = options.epochs > 0 ? options.epochs : 1;
  double examples = epochs * static_cast<double>(data.examples());
  auto left = std::ceil((examples - static_cast<double>(state.position)) /
                        static_cast<double>(data.batch()));
  return state.step + static_cast<int64_t>(std::clamp(left, 0.0, 1e15));
}

/// The order of the examples.
Shuffle Training::makeOrder() const {
  return options.noShuffle ? Shuffle::inFileOrder(data.examples())
                           : Shuffle(state.seed, data.examples());
}

void Training::readBatch(const Shuffle &shuffle) {
  feeder.fill(
      [&](const MeshcTensor &input) { return session.device().stage(input); },
      {&shuffle, state.position, data.batch()});
  feeder.prefetch({&shuffle, state.position + data.batch(), data.batch()});
  ++batches;
}

/// Reads a batch, while the device may still run the previous step, and starts
/// the step, during which the disk may read the next batch. A batch that is
/// held is available to every run that may be in progress.
void Training::beginStep(const Shuffle &shuffle) {
  Device &device = session.device();
  if (!options.holdBatch || batches <= device.runsAhead())
    readBatch(shuffle);
  session.context().step = state.step;
  device.run(StepFunction::Train);
  ++openSteps;
  ++state.step;
  state.position += data.batch();
}

/// Waits for the first open step. Returns whether the step itself dropped its
/// update; null if it never does.
std::optional<bool> Training::readMetrics() {
  session.device().readMetrics(values);
  --openSteps;
  if (values.size() == names.size())
    return std::nullopt;
  const bool isSkipped = values.back() != 0;
  values.pop_back();
  return isSkipped;
}

void Training::endStep() {
  std::optional<bool> isSkipped = readMetrics();
  const int64_t step = state.step - openSteps;
  // What a step that dropped its own update left is valid: only the scale of
  // the loss has changed.
  const bool droppedItself = isSkipped.value_or(false);
  std::optional<int64_t> count;
  if (guard && !guard->accept(droppedItself || values.empty() ||
                              std::isfinite(values.front())))
    skip(step);
  else if (droppedItself)
    ++state.skipped;
  if (!guard)
    checkLoss(step);
  if (guard || isSkipped)
    count = state.skipped;
  log->afterStep(step, values, count);
}

/// Waits until no more than `stillOpen` steps are open.
void Training::endSteps(int stillOpen) {
  while (openSteps > stillOpen)
    endStep();
}

bool Training::isSaveStep() const {
  return options.saveEvery && state.step % options.saveEvery == 0;
}

bool Training::isEvalStep() const {
  return evaluator && options.evalEvery && state.step < total &&
         state.step % options.evalEvery == 0;
}

/// Whether the run resumes after a step whose evaluation an earlier run may not
/// have made: checkpoints are saved before. Those with a best evaluation know
/// the last one, and otherwise the log may. All ranks call it.
bool Training::missesEvaluation() {
  if (!isEvalStep() || state.step == 0)
    return false;
  return best ? state.best.seen < state.step
              : log->missesEvaluation(evaluator->names());
}

/// Whether `--stop-after` ends the run.
bool Training::endsEarly() const {
  return best && state.step < total && best->ends(state);
}

/// Checks what the checkpoints of this run will replace, and allocates memory
/// for them.
void Training::prepareSaves(const Beginning &beginning) {
  if (options.checkpoint.empty())
    return;
  int64_t firstSave = total;
  if (options.saveEvery)
    firstSave = std::min(total, (state.step / options.saveEvery + 1) *
                                    options.saveEvery);
  replaced = findReplaced(session, options, beginning, firstSave);
  saver.emplace(session.rank(),
                SaveOptions{options.checkpoint, options.keep,
                            best ? bestPath(options) : std::string(),
                            savesInBackground(options)});
  if (!beginning.continuesCheckpoint)
    return;
  if (beginning.fellBack)
    saver->replaceDamaged();
  else
    saver->setSavedStep(savedAt = state.step);
}

void Training::save() {
  if (!saver || savedAt == state.step || state.step < replaced)
    return;
  log->pause();
  checkFinite();
  saver->save(state);
  savedAt = state.step;
  log->resume();
}

/// Says which checkpoint has been written: the last one, and before it at most
/// one every two seconds.
void Training::reportSaved(bool isLast) {
  using namespace std::chrono_literals;
  std::optional<WrittenCheckpoint> written;
  if (!saver || !(written = saver->takeWritten()))
    return;
  auto now = std::chrono::steady_clock::now();
  if (!isLast && now - saidSaved < 2s)
    return;
  saidSaved = now;
  log->afterSave(written->step, written->path);
}

void Training::saveBest() {
  checkFinite();
  saver->saveBest(state);
  if (session.speaks() && !options.quiet)
    printOut(BestCheckpoint::describe(state.best) + ", kept in '" +
             meshc::escapeControls(bestPath(options)) + "'\n");
}

/// Returns the signal that ended it early, or 0. Metrics that are not finite do
/// not end the training; the exit code reports them.
int Training::evaluate() {
  log->pause();
  int signal = evaluateNow();
  log->resume();
  return signal;
}

int Training::evaluateNow() {
  std::optional<std::vector<double>> means = evaluator->run();
  if (!means)
    return evaluator->signal();
  if (!badEvaluation)
    badEvaluation = evaluator->check(*means);
  log->afterEvaluation(state.step, evaluator->names(), *means);
  // A resumed run may repeat its last evaluation.
  if (best && state.best.seen < state.step && best->count(*means, state))
    saveBest();
  return 0;
}

/// The run's exit code after its last step, and its last message.
ExitCode Training::end(int signal) {
  if (trace && session.speaks())
    printOut(trace->table());
  if (state.skipped > firstSkipped && session.speaks())
    printOut("skipped the updates of " +
             std::to_string(state.skipped - firstSkipped) + " of " +
             std::to_string(state.step - firstStep) +
             " steps, which were not finite\n");
  if (endsEarly() && session.speaks())
    printOut(best->describeEnd(state));
  const std::string program = session.program().name;
  std::string message;
  ExitCode code = ExitCode::Success;
  if (signal) {
    code = codeOfSignal(signal);
    message = program + ": stopped by " + nameOfSignal(signal) +
              " after step " + std::to_string(state.step) + "; " +
              (options.checkpoint.empty() ? "no '--checkpoint' was given"
               : state.step < replaced
                   ? "not saved, as checkpoint '" + options.checkpoint +
                         "' holds step " + std::to_string(replaced) +
                         " of an earlier run"
                   : "continue with '--resume " + options.checkpoint + "'") +
              '\n';
  } else if (badEvaluation) {
    code = badEvaluation->code();
    message = program + ": error: " + badEvaluation->what() + '\n';
  } else if (trace && trace->failed()) {
    code = ExitCode::Output;
    message = program + ": error: " + trace->describeFailure() +
              "; all else is done\n";
  }
  if (session.speaks())
    printError(message);
  return code;
}

/// Returns the signal that ended the steps early, or 0.
int Training::runSteps() {
  StopAgreement stop(session.rank());
  Shuffle shuffle = makeOrder();
  log->begin({state.step, total, data.batch(),
              options.holdBatch ? 0 : data.examples(), state.position});
  int signal = 0;
  if (missesEvaluation())
    signal = evaluate();
  while (state.step < total && !signal && !endsEarly()) {
    if (trace && trace->startsAfter(state.step)) {
      endSteps(0);
      trace->start();
    }
    beginStep(shuffle);
    // Anything saved or evaluated was checked first.
    bool settles = guard || isSaveStep() || isEvalStep() ||
                   (trace && trace->endsAfter(state.step));
    endSteps(settles ? 0 : session.device().runsAhead());
    if (trace && settles)
      trace->pause(state.step);
    if (isSaveStep())
      save();
    if (isEvalStep())
      signal = evaluate();
    if (saver)
      saver->check();
    reportSaved(/*isLast=*/false);
    if (!signal)
      signal = stop.afterStep();
  }
  return signal;
}

/// Takes the settings of the command line, and those of earlier runs that the
/// checkpoint records.
void Training::takeSettings() {
  const MeshcProgram &program = session.program();
  std::vector<std::string> warnings;
  state.settings =
      combineSettings(program, state.settings, options.settings, warnings);
  session.device().useSettings(listSettings(program, state.settings));
  if (!session.speaks())
    return;
  for (const std::string &warning : warnings)
    printError(std::string(program.name) +
               ": warning: " + meshc::escapeControls(warning) + '\n');
  if (!options.quiet)
    printOut(
        meshc::escapeControls(describeSettings(program, state.settings), "\n"));
}

ExitCode Training::run() {
  Beginning beginning = beginRun(session, options);
  if (!agreeOn(session.communicator(), session.program().name,
               beginning.agreed))
    return ExitCode::Disagreement;
  adoptPlaceOfRankZero(session, beginning);
  state = beginning.state;
  takeTokens(state, options, data, evalData);
  takeSettings();
  const bool speaks = session.speaks();
  total = plannedSteps();
  if (best)
    best->begin(session, state);
  prepareSaves(beginning);
  firstStep = state.step;
  firstSkipped = state.skipped;
  log.emplace(session, options, firstStep, beginning.resumed);
  if (!options.trace.empty())
    trace.emplace(session, options.trace, options.traceSteps, state.step,
                  total);
  if (speaks && !options.quiet && state.step >= total)
    printOut("nothing to do: " + std::to_string(state.step) +
             " steps are done and " + std::to_string(total) +
             " were asked for\n");
  catchSignals(session.communicator());
  if (options.skipNonFinite && state.step < total)
    guardUpdates();
  int signal = runSteps();
  endSteps(0);
  if (trace)
    trace->finish(state.step);
  log->endLine();
  save();
  reportSaved(/*isLast=*/true);
  if (!signal && evaluator && !endsEarly())
    signal = evaluate();
  if (saver)
    saver->wait();
  reportSaved(/*isLast=*/true);
  return end(signal);
}

ExitCode meshc::runtime::train(Session &session, const Options &options,
                               const Dataset &data, const Dataset *evalData) {
  return Training(session, options, data, evalData).run();
}
