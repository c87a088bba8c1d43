//===- Train.cpp - the command train --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Train.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Checkpoint/Saver.h"
#include "runtime/Commands/Beginning.h"
#include "runtime/Commands/BestCheckpoint.h"
#include "runtime/Commands/Evaluate.h"
#include "runtime/Commands/Replay.h"
#include "runtime/Commands/Stop.h"
#include "runtime/Commands/TrainedTokens.h"
#include "runtime/Commands/TrainingLog.h"
#include "runtime/Commands/UpdateGuard.h"
#include "runtime/Data/Feeder.h"
#include "runtime/Monitor/StepTrace.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

using namespace meshc::runtime;

namespace {

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
  void beginStep(const Shuffle &shuffle);
  std::optional<bool> readMetrics();
  void endStep();
  void endSteps(int stillOpen);
  void runToEnd();
  int runSteps();
  int64_t restore();
  Selection selectionOf(const Shuffle &shuffle, int64_t step) const;
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

} // namespace

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

/// Reads a batch, while the device may still run the previous step, and starts
/// the step, during which the disk may read the next batch. A batch that is
/// held is available to every run that may be in progress.
void Training::beginStep(const Shuffle &shuffle) {
  Device &device = session.device();
  if (!options.holdBatch || batches <= device.runsAhead()) {
    feeder.fill([&](const MeshcTensor &input) { return device.stage(input); },
                {&shuffle, state.position, data.batch()});
    feeder.prefetch({&shuffle, state.position + data.batch(), data.batch()});
    ++batches;
  }
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

/// Runs the next step, with no other step open, to completion.
void Training::runToEnd() {
  beginStep(makeOrder());
  readMetrics();
}

/// Sets the state to that of the last checkpoint, or of the start. Returns how
/// many steps had been done by then.
int64_t Training::restore() {
  while (openSteps > 0)
    readMetrics();
  batches = 0;
  if (saver && saver->savedStep() >= 0) {
    SafetensorsFile file(options.checkpoint);
    loadState(file, session.rank());
    state = readRunState(file);
  } else {
    state = beginRun(session, options).state;
  }
  return state.step;
}

/// The examples of a step.
Selection Training::selectionOf(const Shuffle &shuffle, int64_t step) const {
  return {&shuffle, state.position - (state.step - step + 1) * data.batch(),
          data.batch()};
}

/// Ends the run because of `what` in step number `step`, and reports the first
/// value that was not finite. All ranks call it.
void Training::stopAt(int64_t step, const std::string &what) {
  Shuffle shuffle = makeOrder();
  std::string bad = data.findBadTarget(selectionOf(shuffle, step));
  if (!bad.empty())
    throw Failure(ExitCode::Data, what + ": " + bad);
  const int64_t checkpoint = saver ? saver->savedStep() : -1;
  std::optional<ReplayedFault> found;
  log->endLine();
  try {
    found =
        replaySteps(session, {[&] { return restore(); }, [&] { runToEnd(); }},
                    step, options.quiet);
  } catch (const Failure &failure) {
    if (failure.code() != ExitCode::Checkpoint) // it no longer exists
      throw;
  }
  std::string cause;
  if (found && !found->fault.input.empty()) {
    bad = data.findNotFinite(selectionOf(shuffle, found->step),
                             found->fault.input, HasNan | HasInfinity);
    if (!bad.empty())
      throw Failure(ExitCode::Data, what + ": " + bad);
  }
  if (found)
    cause = (found->step == step
                 ? ": "
                 : ": in step " + std::to_string(found->step) + ", ") +
            found->fault.text;
  throw Failure(ExitCode::Numeric,
                what + cause + "; lower the learning rate" +
                    (checkpoint >= 0 ? ", and go on from checkpoint '" +
                                           options.checkpoint + "' of step " +
                                           std::to_string(checkpoint)
                                     : ""));
}

void Training::checkLoss(int64_t step) {
  if (values.empty() || std::isfinite(values.front()))
    return;
  stopAt(step, "the " + names.front() + " of step " + std::to_string(step) +
                   " is " +
                   (std::isnan(values.front()) ? "not a number" : "infinite"));
}

/// Starts to keep the state before each step.
void Training::guardUpdates() {
  guard.emplace(session);
  if (session.speaks() && !options.quiet)
    printOut("a copy of " +
             std::to_string(UpdateGuard::bytes(session.program())) +
             " bytes per rank is kept for '--on-nonfinite skip'\n");
}

/// Counts a step whose update was dropped, and reports why for the first one.
void Training::skip(int64_t step) {
  ++state.skipped;
  if (explained)
    return;
  explained = true;
  std::string why = explainSkip(step);
  if (!session.speaks())
    return;
  log->endLine();
  printError(std::string(session.program().name) +
             ": warning: the update of step " + std::to_string(step) +
             " is skipped, as it is not finite" +
             (why.empty() ? "" : ": " + why) + '\n');
}

/// Finds the first value of a step that was not finite; the state before the
/// step is available. All ranks call it.
std::string Training::explainSkip(int64_t step) {
  Shuffle shuffle = makeOrder();
  Selection selection = selectionOf(shuffle, step);
  std::string bad = data.findBadTarget(selection);
  if (!bad.empty())
    return bad;
  const RunState after = state;
  const std::vector<float> seen = values;
  state.step = step - 1;
  state.position = selection.first;
  FaultSearch search(session, StepFunction::Train);
  Fault fault;
  if (search.run([&] { runToEnd(); }))
    fault = search.explain();
  guard->restore();
  state = after;
  values = seen;
  if (!fault.input.empty())
    bad = data.findNotFinite(selection, fault.input, HasNan | HasInfinity);
  return bad.empty() ? fault.text : bad;
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

/// Ends the run if a parameter is not finite.
void Training::checkFinite() {
  const MeshcTensor *bad = findNotFinite(session.rank()),
                    *tensors = session.program().tensors;
  if (int64_t number =
          largestOfRanks(session.communicator(), bad ? bad - tensors + 1 : 0))
    stopAt(state.step, std::string("parameter '") + tensors[number - 1].name +
                           "' is not finite after step " +
                           std::to_string(state.step) + " and is not saved");
}

void Training::save() {
  if (!saver || savedAt == state.step || state.step < replaced)
    return;
  checkFinite();
  saver->save(state);
  savedAt = state.step;
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
  std::optional<std::vector<double>> means = evaluator->run();
  if (!means)
    return evaluator->signal();
  if (!badEvaluation)
    badEvaluation = checkMeans(evaluator->names(), *means, *evalData);
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
  log->begin(total, data.batch());
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
    if (!signal)
      signal = stop.afterStep();
  }
  return signal;
}

ExitCode Training::run() {
  Beginning beginning = beginRun(session, options);
  if (!agreeOn(session.communicator(), session.program().name,
               beginning.agreed))
    return ExitCode::Disagreement;
  adoptPlaceOfRankZero(session, beginning);
  state = beginning.state;
  takeTokens(state, options, data, evalData);
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
  if (!signal && evaluator && !endsEarly())
    signal = evaluate();
  if (saver)
    saver->wait();
  return end(signal);
}

ExitCode meshc::runtime::train(Session &session, const Options &options,
                               const Dataset &data, const Dataset *evalData) {
  return Training(session, options, data, evalData).run();
}
