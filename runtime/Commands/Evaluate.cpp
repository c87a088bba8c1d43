//===- Evaluate.cpp - metrics over all examples ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Evaluate.h"

#include "runtime/Base/Counted.h"
#include "runtime/Base/Figure.h"
#include "runtime/Base/StandardStreams.h"
#include "runtime/Commands/TrainedTokens.h"
#include "runtime/Commands/Weights.h"
#include "runtime/Monitor/Log.h"

#include <algorithm>
#include <cstring>
#include <limits>

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

/// What an evaluation over an incomplete batch needs to be told.
static void checkRest(const MeshcProgram &program, const Dataset &dataset) {
  const int64_t rest = dataset.examples() % dataset.batch();
  if (!program.wholeBatches || !*program.wholeBatches || rest == 0)
    return;
  throw Failure(
      ExitCode::Data,
      "the data has " + counted(dataset.examples(), "example") +
          ", and the last of its batches of " +
          std::to_string(dataset.batch()) + " has " + std::to_string(rest) +
          "; this model can be evaluated on complete batches alone, since " +
          program.wholeBatches + ": leave " + std::to_string(rest) +
          " out, or compile the model for a batch that divides their number");
}

/// Examples are counted in 32 bits where a batch may be incomplete.
static void checkCount(const MeshcProgram &program, const Dataset &dataset) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if ((program.wholeBatches && *program.wholeBatches) ||
      dataset.examples() <= most)
    return;
  throw Failure(ExitCode::Data,
                "the data has " + counted(dataset.examples(), "example") +
                    ", and an evaluation counts at most " +
                    std::to_string(most) + ": evaluate parts of the data");
}

Evaluator::Evaluator(Session &session, const Dataset &dataset,
                     StepFunction function)
    : session(session), dataset(dataset), function(function),
      feeder(session.program(), dataset, session.coords()) {
  checkRest(session.program(), dataset);
  checkCount(session.program(), dataset);
}

/// Begins with totals of no examples.
void Evaluator::reset() {
  const MeshcProgram &program = session.program();
  for (uint32_t i = 0; i < program.tensorCount; ++i) {
    const MeshcTensor &tensor = program.tensors[i];
    int64_t number = 0;
    if (tensor.role == MESHC_BATCHES)
      number = dataset.examples() / dataset.batch();
    else if (tensor.role == MESHC_REST)
      number = dataset.examples() % dataset.batch();
    else if (tensor.role != MESHC_STATISTIC)
      continue;
    session.device().write(tensor, [&](char *block) {
      const auto value = static_cast<int32_t>(number);
      if (tensor.role == MESHC_STATISTIC)
        std::memset(
            block, 0,
            static_cast<size_t>(blockSpan(tensor) * sizeOf(typeOf(tensor))));
      else
        std::memcpy(block, &value, sizeof(value));
    });
  }
}

/// Reads a batch, and tells the disk which one is next.
void Evaluator::read(const Selection &selection) {
  feeder.fill(
      [&](const MeshcTensor &input) { return session.device().stage(input); },
      selection);
  const int64_t next = selection.first + selection.rows;
  if (next < dataset.examples())
    feeder.prefetch(
        {nullptr, next, std::min(dataset.batch(), dataset.examples() - next)});
}

/// Evaluates a batch. Returns whether to continue.
bool Evaluator::begin(const Selection &selection) {
  Device &device = session.device();
  read(selection);
  device.run(function);
  ++openRuns;
  while (openRuns > device.runsAhead())
    end();
  stoppedBy = stop->afterStep();
  return !stoppedBy;
}

void Evaluator::end() {
  session.device().readMetrics(values);
  --openRuns;
}

std::optional<std::vector<double>> Evaluator::run() {
  const int64_t count = dataset.examples(), batch = dataset.batch();
  reset();
  // Restarted, since batches take a different time than the steps before them.
  stop.emplace(session.rank());
  bool goesOn = true;
  for (int64_t first = 0; goesOn && first < count; first += batch)
    goesOn = begin({nullptr, first, std::min(batch, count - first)});
  while (openRuns > 0)
    end();
  if (!goesOn)
    return std::nullopt;
  return std::vector<double>(
      values.begin(), values.begin() + static_cast<int64_t>(names().size()));
}

ExitCode meshc::runtime::evaluate(Session &session, const Options &options,
                                  const Dataset &dataset) {
  const LoadedWeights loaded =
      loadWeights(options.checkpoint, options, session.rank());
  const RunState &state = loaded.state;
  checkTokens(state, options, dataset);
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
  std::optional<Failure> bad = evaluator.check(*means);
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
