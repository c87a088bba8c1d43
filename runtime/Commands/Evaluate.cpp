//===- Evaluate.cpp - metrics over all examples ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Evaluate.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Figure.h"
#include "runtime/Base/Finiteness.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/Weights.h"
#include "runtime/Monitor/Log.h"

#include <cmath>

using namespace meshc::runtime;

StepFunction meshc::runtime::evaluatedFunction(const Session &session,
                                               const Options &options) {
  if (session.program().evalAverageStep)
    return options.parameters == ParameterValues::Last
               ? StepFunction::Eval
               : StepFunction::EvalAverages;
  if (options.parameters == ParameterValues::Averages)
    throw Failure(ExitCode::Usage,
                  "'--parameters' is 'average', and the training keeps no "
                  "averages; write 'average 0.999' or so behind the optimizer, "
                  "and compile again");
  return StepFunction::Eval;
}

Evaluator::Evaluator(Session &session, const Dataset &dataset,
                     StepFunction function)
    : session(session), dataset(dataset), function(function),
      feeder(session.program(), dataset, session.coords()) {}

/// Evaluates a batch whose means count for `weight` examples. Returns whether
/// to continue.
bool Evaluator::begin(const Selection &selection, double weight) {
  Device &device = session.device();
  feeder.fill([&](const MeshcTensor &input) { return device.stage(input); },
              selection);
  if (selection.first + selection.rows + dataset.batch() <= dataset.examples())
    feeder.prefetch({nullptr, selection.first + selection.rows, dataset.batch(),
                     selection.first});
  device.run(function);
  openWeights.push_back(weight);
  while (static_cast<int>(openWeights.size()) > device.runsAhead())
    end();
  stoppedBy = stop->afterStep();
  return !stoppedBy;
}

void Evaluator::end() {
  session.device().readMetrics(values);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += openWeights.front() * static_cast<double>(values[i]);
  openWeights.pop_front();
}

std::optional<std::vector<double>> Evaluator::run() {
  const int64_t count = dataset.examples(), batch = dataset.batch();
  const int64_t rest = count % batch;
  sums.assign(names().size(), 0.0);
  // Restarted, since batches take a different time than the steps before them.
  stop.emplace(session.rank());
  bool goesOn = true;
  int64_t first = 0;
  for (; goesOn && first + batch <= count; first += batch)
    goesOn = begin({nullptr, first, batch, 0}, static_cast<double>(batch));
  if (goesOn && rest)
    goesOn =
        begin({nullptr, first, rest, first}, static_cast<double>(batch)) &&
        begin({nullptr, first, 0, first}, -static_cast<double>(batch - rest));
  while (!openWeights.empty())
    end();
  if (!goesOn)
    return std::nullopt;
  for (double &sum : sums)
    sum /= static_cast<double>(count);
  return sums;
}

std::optional<Failure>
meshc::runtime::checkMeans(const std::vector<std::string> &names,
                           const std::vector<double> &means,
                           const Dataset &dataset) {
  for (size_t i = 0; i < means.size(); ++i) {
    if (std::isfinite(means[i]))
      continue;
    std::string what = "the " + names[i] + " of the evaluation is " +
                       (std::isnan(means[i]) ? "not a number" : "infinite");
    std::string bad = dataset.findBadTarget({nullptr, 0, dataset.examples(), 0},
                                            dataset.examples());
    if (bad.empty())
      bad = dataset.findNotFinite({nullptr, 0, dataset.examples(), 0},
                                  dataset.examples(), "", HasNan);
    if (!bad.empty())
      return Failure(ExitCode::Data, what + ": " + bad);
    return Failure(ExitCode::Numeric,
                   what + "; look for values in the data that are out of "
                          "range, and at the training's last losses");
  }
  return std::nullopt;
}

ExitCode meshc::runtime::evaluate(Session &session, const Options &options,
                                  const Dataset &dataset) {
  const LoadedWeights loaded =
      loadWeights(options.checkpoint, options, session.rank());
  const RunState &state = loaded.state;
  session.context().seed = state.seed;
  session.context().step = state.step;
  if (!agreeOn(session.communicator(), session.program().name, loaded.agreed))
    return ExitCode::Disagreement;
  Log log(session.speaks() ? options.log : "");
  Evaluator evaluator(session, dataset);
  catchSignals(session.communicator());
  std::optional<std::vector<double>> means = evaluator.run();
  const std::string program = session.program().name;
  if (!means) {
    if (session.speaks())
      printError(program + ": stopped by " + nameOfSignal(evaluator.signal()) +
                 " before all examples were seen\n");
    return codeOfSignal(evaluator.signal());
  }
  std::vector<std::string> names = evaluator.names();
  std::optional<Failure> bad = checkMeans(names, *means, dataset);
  ExitCode code = bad ? bad->code() : ExitCode::Success;
  if (!session.speaks())
    return code;
  std::string text;
  log.begin(state.step);
  for (size_t i = 0; i < names.size(); ++i) {
    text += names[i] + ' ' + formatFigure((*means)[i]) + " (" +
            counted(dataset.examples(), "example") + ")\n";
    log.add(names[i], (*means)[i]);
  }
  log.add("examples", static_cast<double>(dataset.examples()));
  log.end();
  printOut(text);
  if (bad)
    printError(program + ": error: " + bad->what() + '\n');
  return code;
}
