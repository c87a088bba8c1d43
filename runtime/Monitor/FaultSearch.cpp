//===- FaultSearch.cpp - where values stop being finite -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Monitor/FaultSearch.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace meshc::runtime;

int64_t meshc::runtime::largestOfRanks(Communicator &communicator,
                                       int64_t value) {
  int64_t largest = value;
  communicator.gather(&value, sizeof(value), 0,
                      [&](int, const void *data, size_t) {
                        int64_t other = 0;
                        std::memcpy(&other, data, sizeof(other));
                        largest = std::max(largest, other);
                      });
  communicator.broadcast(&largest, sizeof(largest), 0);
  return largest;
}

FaultSearch::FaultSearch(Session &session, StepFunction function)
    : session(session), check(session, function) {}

/// What must be finite after the last run, the loss first.
std::vector<size_t> FaultSearch::getTargets() const {
  std::vector<size_t> targets;
  if (check.loss())
    targets.push_back(*check.loss());
  std::vector<size_t> others = check.newState();
  if (checksMetrics)
    others.insert(others.end(), check.metrics().begin(), check.metrics().end());
  std::sort(others.begin(), others.end());
  targets.insert(targets.end(), others.begin(), others.end());
  return targets;
}

bool FaultSearch::run(const std::function<void()> &runStep, bool isLast) {
  check.run(runStep);
  checksMetrics = isLast;
  const std::vector<CheckedValue> &values = check.values();
  bool isFinite = true;
  for (size_t value : getTargets())
    isFinite &= values[value].found == 0;
  if (largestOfRanks(session.communicator(), !isFinite))
    return true;
  before.clear();
  for (const CheckedValue &value : values)
    before.push_back(value.found);
  return false;
}

/// The findings of all ranks; on rank 0 only.
std::vector<FaultSearch::Merged> FaultSearch::merge() {
  constexpr uint8_t wasInfinite = 128;
  std::vector<uint8_t> own;
  for (size_t i = 0; i < check.values().size(); ++i)
    own.push_back(
        check.values()[i].found |
        (i < before.size() && before[i] & HasInfinity ? wasInfinite : 0));
  std::vector<Merged> merged(own.size());
  session.communicator().gather(
      own.data(), own.size(), 0, [&](int rank, const void *data, size_t size) {
        const auto *found = static_cast<const uint8_t *>(data);
        for (size_t i = 0; i < std::min(size, merged.size()); ++i) {
          Merged &value = merged[i];
          value.found |= found[i] & (HasNan | HasInfinity);
          value.wasInfinite |= (found[i] & wasInfinite) != 0;
          if (found[i] & HasNan && value.nanRank < 0)
            value.nanRank = rank;
          if (found[i] & HasInfinity && value.infiniteRank < 0)
            value.infiniteRank = rank;
        }
      });
  return merged;
}

/// The operands of the call that computed `value` which contain `kind`. Skips
/// infinite values that were present while all was well.
std::vector<size_t> FaultSearch::findOperands(const std::vector<Merged> &merged,
                                              size_t value,
                                              Finiteness kind) const {
  std::vector<size_t> found;
  int call = check.values()[value].call;
  if (call < 0)
    return found;
  for (size_t operand : check.calls()[static_cast<size_t>(call)].operands)
    if (merged[operand].found & kind &&
        !(kind == HasInfinity && merged[operand].wasInfinite))
      found.push_back(operand);
  return found;
}

/// The first value from which `value` gets `kind`: of all that it depends on.
size_t FaultSearch::followBack(const std::vector<Merged> &merged, size_t value,
                               Finiteness kind) const {
  std::vector<bool> seen(merged.size());
  std::vector<size_t> stack = {value};
  size_t first = value;
  while (!stack.empty()) {
    size_t next = stack.back();
    stack.pop_back();
    if (seen[next])
      continue;
    seen[next] = true;
    first = std::min(first, next);
    for (size_t operand : findOperands(merged, next, kind))
      stack.push_back(operand);
  }
  return first;
}

/// "exp" and "gpt.mesh:7:9", of "exp gpt.mesh:7:9".
static std::string kindOf(const std::string &op) {
  return op.substr(0, op.find(' '));
}
static std::string placeOf(const std::string &op) {
  return op.substr(std::min(op.size(), op.find(' ') + 1));
}

/// Those of a call's ops that compute something in the model's text. Others
/// move, choose or compare values, which stay as they are, or keep account of
/// an evaluation's batches; or they have no place in the model.
static std::vector<std::string>
selectComputing(const std::vector<std::string> &ops) {
  static const std::set<std::string> faithful = {
      "and",           "argsort",      "broadcast",  "compare",
      "concat",        "entry",        "gather",     "insert",
      "in_generation", "iota",         "merge_dims", "not",
      "one_hot",       "or",           "pad",        "rename",
      "running_sum",   "select",       "slice",      "split_dim",
      "stack",         "stop_gradient"};
  std::vector<std::string> computing;
  for (const std::string &op : ops)
    if (!faithful.count(kindOf(op)) && !placeOf(op).empty())
      computing.push_back(op);
  return computing;
}

/// "sub, exp gpt.mesh:7:9, log gpt.mesh:8:5", from "sub gpt.mesh:7:9", …
static std::string listOps(const std::vector<std::string> &ops) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t i = 0; i < std::min(ops.size(), most); ++i) {
    bool sharesPlace = i + 1 < std::min(ops.size(), most) &&
                       placeOf(ops[i]) == placeOf(ops[i + 1]);
    text += (i ? ", " : "") + (sharesPlace ? kindOf(ops[i]) : ops[i]);
  }
  return text + (ops.size() > most ? ", ..." : "");
}

/// Of some ops, those that can give a value of this kind from finite arguments
/// far from it, one of each place: "'exp f.mesh:3:5' or 'sqrt f.mesh:3:9'".
/// Empty if there is none. At one place, an op comes before those of its
/// gradient.
static std::string findLikely(const std::vector<std::string> &ops,
                              Finiteness kind) {
  // An infinite value on the way becomes NaN, too.
  static const std::set<std::string> toInfinity = {
      "div", "exp", "log", "pow", "reciprocal", "rsqrt"};
  static const std::set<std::string> toNan = {"mod", "sqrt"};
  constexpr size_t most = 4;
  std::vector<std::string> likely;
  std::set<std::string> places;
  for (const std::string &op : ops)
    if ((toInfinity.count(kindOf(op)) ||
         (kind == HasNan && toNan.count(kindOf(op)))) &&
        places.insert(placeOf(op)).second)
      likely.push_back(op);
  std::string text;
  for (size_t i = 0; i < std::min(likely.size(), most); ++i)
    text += (i == 0                   ? "'"
             : i + 1 == likely.size() ? " or '"
                                      : ", '") +
            likely[i] + "'";
  return text + (likely.size() > most ? ", ..." : "");
}

std::string FaultSearch::describe(const std::vector<Merged> &merged,
                                  size_t value, Finiteness kind) const {
  const CheckedValue &known = check.values()[value];
  std::string name = "'" + known.name + "'";
  if (known.tensor)
    return (known.tensor->role == MESHC_INPUT ? "input " : "") + name +
           (known.tensor->role == MESHC_INPUT ? "" : " before the step");
  const CheckedCall &call = check.calls()[static_cast<size_t>(known.call)];
  std::string text = (known.name.empty() ? "what " : name + ", which ") +
                     call.what + " computes";
  if (!known.location.empty())
    text += " at " + known.location;
  const std::vector<std::string> ops = selectComputing(call.ops);
  if (!ops.empty())
    text += " (" + listOps(ops) + ")";
  if (!call.iteration.empty())
    text += " in " + call.iteration;
  int rank =
      kind == HasNan ? merged[value].nanRank : merged[value].infiniteRank;
  if (session.rank().mesh.size() > 1)
    text += " on rank " + std::to_string(rank);
  if (std::string likely = findLikely(ops, kind);
      ops.size() > 1 && !likely.empty())
    text += ", most likely by " + likely;
  return text;
}

/// On rank 0.
Fault FaultSearch::find(const std::vector<Merged> &merged) const {
  const std::vector<size_t> targets = getTargets();
  auto found = std::find_if(targets.begin(), targets.end(), [&](size_t value) {
    return merged[value].found != 0;
  });
  if (found == targets.end())
    return {};
  Finiteness kind = merged[*found].found & HasNan ? HasNan : HasInfinity;
  size_t origin = followBack(merged, *found, kind);
  std::string text;
  text += (kind == HasNan ? "the first NaN is in "
                          : "the first infinite value is in ") +
          describe(merged, origin, kind);
  if (kind == HasNan) {
    std::vector<size_t> operands = findOperands(merged, origin, HasInfinity);
    if (!operands.empty()) {
      origin = operands.front();
      for (size_t operand : operands)
        origin = std::min(origin, followBack(merged, operand, HasInfinity));
      text += ", of infinite values that are first in " +
              describe(merged, origin, HasInfinity);
    }
  }
  const MeshcTensor *tensor = check.values()[origin].tensor;
  return {text, tensor && tensor->role == MESHC_INPUT ? tensor->name : ""};
}

/// Every rank gets rank 0's text.
static void broadcastText(Communicator &communicator, std::string &text) {
  uint64_t size = text.size();
  communicator.broadcast(&size, sizeof(size), 0);
  text.resize(size);
  if (size > 0)
    communicator.broadcast(text.data(), size, 0);
}

Fault FaultSearch::explain() {
  std::vector<Merged> merged = merge();
  Fault fault;
  if (session.communicator().rank() == 0)
    fault = find(merged);
  broadcastText(session.communicator(), fault.text);
  broadcastText(session.communicator(), fault.input);
  return fault;
}
