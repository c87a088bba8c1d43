//===- Evaluate.cpp - metrics over all examples ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Core/Evaluate.h"

#include "runtime/Checkpoint/Checkpoint.h"
#include "runtime/Core/Log.h"

#include <cstdio>
#include <memory>

using namespace meshc::runtime;

Evaluator::Evaluator(Session &session, const Dataset &dataset)
    : session(session), dataset(dataset),
      feeder(session.program(), dataset, session.coords()) {}

/// Evaluates a batch whose means count `weight` examples.
void Evaluator::begin(const Selection &selection, double weight) {
  Device &device = session.device();
  feeder.fill([&](const MeshcTensor &input) { return device.stage(input); },
              selection);
  device.run(StepFunction::Eval);
  openWeights.push_back(weight);
  while (static_cast<int>(openWeights.size()) > device.runsAhead())
    end();
}

void Evaluator::end() {
  session.device().readMetrics(values);
  for (size_t i = 0; i < sums.size(); ++i)
    sums[i] += openWeights.front() * static_cast<double>(values[i]);
  openWeights.pop_front();
}

std::vector<double> Evaluator::run() {
  const int64_t count = dataset.examples(), batch = dataset.batch();
  const int64_t rest = count % batch;
  sums.assign(session.metricNames().size(), 0.0);
  int64_t first = 0;
  for (; first + batch <= count; first += batch)
    begin({nullptr, first, batch, 0}, static_cast<double>(batch));
  if (rest) {
    begin({nullptr, first, rest, first}, static_cast<double>(batch));
    begin({nullptr, first, 0, first}, -static_cast<double>(batch - rest));
  }
  while (!openWeights.empty())
    end();
  for (double &sum : sums)
    sum /= static_cast<double>(count);
  return sums;
}

void meshc::runtime::evaluate(Session &session, const Options &options,
                              const Dataset &dataset) {
  SafetensorsFile file(options.checkpoint);
  loadTensors(file, session.rank(), /*optimizer=*/false);
  RunState state = readRunState(file);
  session.context().seed = state.seed;
  session.context().step = state.step;
  Log log(session.speaks() ? options.log : "", /*append=*/false);
  std::vector<double> means = Evaluator(session, dataset).run();
  if (!session.speaks())
    return;
  std::vector<std::string> names = session.metricNames();
  log.begin(state.step);
  for (size_t i = 0; i < names.size(); ++i) {
    std::printf("%s %.4f (%lld examples)\n", names[i].c_str(), means[i],
                static_cast<long long>(dataset.examples()));
    log.add(names[i], means[i]);
  }
  log.add("examples", static_cast<double>(dataset.examples()));
  log.end();
  std::fflush(stdout);
}
