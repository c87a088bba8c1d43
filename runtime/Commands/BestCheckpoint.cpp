//===- BestCheckpoint.cpp - --keep-best and --stop-after ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Commands/BestCheckpoint.h"

#include "meshc/EscapeControls.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/Figure.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sys/stat.h>

using namespace meshc::runtime;

BestCheckpoint::BestCheckpoint(const Options &options,
                               const std::vector<std::string> &names)
    : options(options) {
  auto found = std::find(names.begin(), names.end(), options.bestMetric);
  metric = static_cast<size_t>(found - names.begin());
  if (found != names.end())
    return;
  std::string list;
  for (const std::string &name : names)
    list += (list.empty() ? "'" : ", '") + name + "'";
  throw Failure(ExitCode::Usage, "'--keep-best' names '" + options.bestMetric +
                                     "'; evaluations have the metrics " + list);
}

static std::string metricOf(const Options &options) {
  return options.bestMetric + (options.bestIsLargest ? ":max" : ":min");
}

/// The best evaluation of the existing file, if it has one. One of another
/// metric is an error: a run that does not know how to compare must not replace
/// it.
static std::optional<double> readStored(const std::string &path,
                                        const std::string &metric) {
  BestEvaluation best;
  try {
    best = readRunState(SafetensorsFile(path)).best;
  } catch (const Failure &failure) {
    throw Failure(failure.code(),
                  std::string(failure.what()) +
                      "; it is the best checkpoint that the run has kept so "
                      "far: remove or rename '" +
                      path +
                      "' to go on without it; the next evaluation that is "
                      "better writes it anew");
  }
  if (best.metric.empty() || best.step < 0)
    return std::nullopt;
  if (best.metric != metric)
    throw Failure(ExitCode::Usage,
                  "'" + path + "' is the best checkpoint by '" + best.metric +
                      "', and this run would replace it by the best one by '" +
                      metric +
                      "'; rename it, replace it ('--overwrite'), or "
                      "go on with '--keep-best " +
                      best.metric + "'");
  return best.value;
}

void BestCheckpoint::begin(Session &session, RunState &state) {
  if (state.best.metric != metricOf(options)) {
    const int64_t seen = state.best.seen;
    state.best = {};
    state.best.metric = metricOf(options);
    state.best.seen = seen;
  }
  struct stat status;
  const std::string path = bestPath(options);
  if (session.speaks() && !options.overwrite &&
      stat(path.c_str(), &status) == 0) {
    if (!options.resume)
      throw Failure(ExitCode::Usage,
                    "'" + path +
                        "' exists, and this run would replace it; go on with "
                        "the run that wrote it ('--resume'), replace it "
                        "('--overwrite'), or give another name");
    std::optional<double> found = readStored(path, state.best.metric);
    hasStored = found.has_value();
    stored = found.value_or(0);
  }
  session.communicator().broadcast(&hasStored, sizeof(hasStored), 0);
  session.communicator().broadcast(&stored, sizeof(stored), 0);
}

bool BestCheckpoint::count(const std::vector<double> &means, RunState &state) {
  const double value = means[metric];
  BestEvaluation &best = state.best;
  best.seen = state.step;
  ++best.since;
  if (!std::isfinite(value))
    return false;
  const bool isFirst = best.step < 0;
  if (isFirst || isBetter(value, best.reference, options.leastImprovement)) {
    best.reference = value;
    best.since = 0;
  }
  if (!isFirst && !isBetter(value, best.value, 0))
    return false;
  best.value = value;
  best.step = state.step;
  // A resumed run reaches what it has reached before once more.
  if (hasStored && isBetter(stored, value, 0))
    return false;
  hasStored = true;
  stored = value;
  return true;
}

std::string BestCheckpoint::describe(const BestEvaluation &best) {
  return "best " +
         meshc::escapeControls(best.metric.substr(0, best.metric.rfind(':'))) +
         ' ' + formatFigure(best.value) + " after step " +
         std::to_string(best.step);
}

std::string BestCheckpoint::describeEnd(const RunState &state) const {
  return "ended after step " + std::to_string(state.step) + ": " +
         std::to_string(state.best.since) +
         (state.best.since == 1
              ? " evaluation was no improvement; "
              : " evaluations in a row were no improvement; ") +
         (state.best.step < 0
              ? "none was finite"
              : describe(state.best) + ", in '" +
                    meshc::escapeControls(bestPath(options)) + "'") +
         '\n';
}
