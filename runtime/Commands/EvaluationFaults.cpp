//===- EvaluationFaults.cpp - metrics that are not finite -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Evaluate.h"

#include "runtime/Base/Finiteness.h"

#include <algorithm>
#include <chrono>
#include <cmath>

using namespace meshc::runtime;

std::optional<Failure> Evaluator::check(const std::vector<double> &metrics) {
  const std::vector<std::string> names = this->names();
  for (size_t i = 0; i < metrics.size(); ++i)
    if (!std::isfinite(metrics[i]))
      return explain("the " + names[i] + " of the evaluation is " +
                     (std::isnan(metrics[i]) ? "not a number" : "infinite"));
  return std::nullopt;
}

/// Evaluates again, with valid targets in place of those that are no classes,
/// until a value is not finite; describes it, and the batch in which it is.
Replay::End Evaluator::repeat(Fault &fault, Selection &at) {
  constexpr std::chrono::minutes mostTime(10);
  const int64_t count = dataset.examples(), batch = dataset.batch();
  const auto begin = std::chrono::steady_clock::now();
  reset();
  FaultSearch search(session, function);
  stop.emplace(session.rank());
  for (int64_t first = 0; first < count; first += batch) {
    at = {nullptr, first, std::min(batch, count - first)};
    auto runStep = [&] {
      read(at);
      session.device().run(function);
      session.device().readMetrics(values);
    };
    if (search.run(runStep, /*isLast=*/first + batch >= count)) {
      fault = search.explain();
      return fault.text.empty() ? Replay::End::Unknown : Replay::End::Fault;
    }
    const bool isLate = std::chrono::steady_clock::now() - begin > mostTime;
    if (stop->afterStep() || largestOfRanks(session.communicator(), isLate))
      return Replay::End::Unknown;
  }
  return Replay::End::Finite;
}

/// What of the data may be at fault where no op was found: a target that is no
/// class, or a NaN; empty if there is neither.
std::string Evaluator::findBadData() const {
  const Selection all{nullptr, 0, dataset.examples()};
  std::string bad = dataset.findBadTarget(all);
  return bad.empty() ? dataset.findNotFinite(all, "", HasNan) : bad;
}

Failure Evaluator::explain(const std::string &what) {
  Fault fault;
  Selection at{nullptr, 0, 0};
  feeder.replaceBadTargets(true);
  const Replay::End end = repeat(fault, at);
  feeder.replaceBadTargets(false);
  std::string bad;
  if (end != Replay::End::Fault)
    bad = findBadData();
  else if (!fault.input.empty())
    bad = dataset.findNotFinite(at, fault.input, HasNan | HasInfinity);
  if (!bad.empty())
    return {ExitCode::Data, what + ": " + bad};
  if (end == Replay::End::Fault)
    return {ExitCode::Numeric, what + ": " + fault.text};
  return {ExitCode::Numeric,
          what + "; look for values in the data that are out of range, and at "
                 "the training's last losses"};
}
