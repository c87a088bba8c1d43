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

const std::vector<float> &Evaluator::runBatch(const Selection &selection) {
  feeder.fill(session.arena(), selection);
  session.program().evalStep(&session.context());
  session.readMetrics(values);
  return values;
}

std::vector<double> Evaluator::run() {
  const int64_t count = dataset.examples(), batch = dataset.batch();
  const int64_t rest = count % batch;
  std::vector<double> sums(session.metricNames().size(), 0.0);
  auto add = [&](const std::vector<float> &means, double weight) {
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i] += weight * static_cast<double>(means[i]);
  };
  int64_t first = 0;
  for (; first + batch <= count; first += batch)
    add(runBatch({nullptr, first, batch, 0}), static_cast<double>(batch));
  if (rest) {
    add(runBatch({nullptr, first, rest, first}), static_cast<double>(batch));
    add(runBatch({nullptr, first, 0, first}),
        -static_cast<double>(batch - rest));
  }
  for (double &sum : sums)
    sum /= static_cast<double>(count);
  return sums;
}

void meshc::runtime::evaluate(Session &session, const Options &options,
                              const Dataset &dataset) {
  SafetensorsFile file(options.checkpoint);
  loadTensors(file, session.rank(), session.arena(), /*optimizer=*/false);
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
