//===- TrainingFaults.cpp - values of a training that are not finite ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/StandardStreams.h"
#include "runtime/Checkpoint/LoadTensors.h"
#include "runtime/Commands/Replay.h"
#include "runtime/Commands/Training.h"

#include <cmath>

using namespace meshc::runtime;

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

/// The last of some steps with a target that is no class, described; empty if
/// there is none.
std::string Training::findBadTarget(int64_t first, int64_t last) const {
  const Shuffle shuffle = makeOrder();
  std::string bad;
  for (int64_t step = last; bad.empty() && step >= first; --step)
    bad = data.findBadTarget(selectionOf(shuffle, step));
  return bad;
}

/// Repeats the steps up to number `last` with valid targets in place of those
/// that are no classes: if they are finite then, such a target has reached the
/// loss. The state is that after the steps again, as far as selectionOf() is
/// concerned.
Replay Training::replayTo(int64_t last) {
  Replay replay;
  feeder.replaceBadTargets(true);
  try {
    replay =
        replaySteps(session, {[&] { return restore(); }, [&] { runToEnd(); }},
                    last, options.quiet);
  } catch (const Failure &failure) {
    if (failure.code() != ExitCode::Checkpoint) // it no longer exists
      throw;
  }
  feeder.replaceBadTargets(false);
  return replay;
}

/// What to do about a step that was not finite.
std::string Training::adviseAfter(const Replay &replay, int64_t checkpoint) {
  if (replay.end == Replay::End::Fault && replay.step == 1)
    return "; nothing was updated before this step: look there, at the initial "
           "values and at the data";
  return "; lower the learning rate" +
         (checkpoint >= 0
              ? ", and go on from checkpoint '" + options.checkpoint +
                    "' of step " + std::to_string(checkpoint)
              : "");
}

/// Ends the run because of `what` in step number `step`, and reports the first
/// value that was not finite. All ranks call it.
void Training::stopAt(int64_t step, const std::string &what) {
  const int64_t checkpoint = saver ? saver->savedStep() : -1;
  log->endLine();
  const Replay replay = replayTo(step);
  std::string bad, cause;
  switch (replay.end) {
  case Replay::End::Finite:
    bad = findBadTarget(replay.first, step);
    break;
  case Replay::End::Fault:
    cause = (replay.step == step
                 ? ": "
                 : ": in step " + std::to_string(replay.step) + ", ") +
            replay.fault.text;
    if (!replay.fault.input.empty())
      bad = data.findNotFinite(selectionOf(makeOrder(), replay.step),
                               replay.fault.input, HasNan | HasInfinity);
    break;
  case Replay::End::Unknown:
    if (std::string target = findBadTarget(step, step); !target.empty())
      cause = "; the op was not found, and " + target;
    break;
  }
  if (!bad.empty())
    throw Failure(ExitCode::Data, what + ": " + bad);
  throw Failure(ExitCode::Numeric,
                what + cause + adviseAfter(replay, checkpoint));
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
  std::string bad;
  const RunState after = state;
  const std::vector<float> seen = values;
  state.step = step - 1;
  state.position = selection.first;
  FaultSearch search(session, StepFunction::Train);
  Fault fault;
  feeder.replaceBadTargets(true);
  if (search.run([&] { runToEnd(); }))
    fault = search.explain();
  else
    bad = data.findBadTarget(selection);
  feeder.replaceBadTargets(false);
  guard->restore();
  state = after;
  values = seen;
  if (!fault.input.empty())
    bad = data.findNotFinite(selection, fault.input, HasNan | HasInfinity);
  return bad.empty() ? fault.text : bad;
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
