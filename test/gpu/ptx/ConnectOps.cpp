//===- ConnectOps.cpp - branches to their targets, undefined reads --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/ControlOps.h"
#include "test/gpu/ptx/Decoder.h"

namespace meshc::ptx {

static const Op *runPastEnd(const Op *op, uint64_t *, Thread &thread) {
  fail(op, thread, "is the last instruction, and does not end the function");
}

/// After the last instruction.
void Decoder::addEnd() {
  if (text.code.empty())
    throw Fault("PTX line " + std::to_string(text.line) + ": function '" +
                text.name + "' is empty");
  Op op;
  op.run = runPastEnd;
  flow.fallsThrough = false;
  add(op);
}

/// Ops have their final addresses: branches get their targets.
void Decoder::connect() {
  std::map<std::string, const Op *> labels;
  for (const auto &[name, index] : text.labels)
    labels[name] = index < begins.size() ? &result->code[begins[index]]
                                         : &result->code.back();
  for (size_t i = 0; i < result->code.size(); ++i) {
    Op &op = result->code[i];
    std::vector<const Op *> targets;
    for (const std::string &name : flows[i].targets) {
      auto found = labels.find(name);
      if (found == labels.end()) {
        now = op.source;
        fail("goes to '" + name + "', which is no label of the function");
      }
      targets.push_back(found->second);
    }
    if (op.run == runIndexedBranch) {
      auto kept = std::make_shared<std::vector<const Op *>>(targets);
      result->kept.push_back(kept);
      op.table = kept->data();
    } else if (!targets.empty()) {
      op.target = targets[0];
    }
  }
  checkUndefinedReads(*result, flows, registers, labels);
}

namespace {
/// Which registers may have been written, as bits.
class Written {
public:
  explicit Written(size_t count) : words((count + 63) / 64) {}
  void set(uint32_t slot) { words[slot / 64] |= uint64_t(1) << (slot % 64); }
  bool has(uint32_t slot) const { return words[slot / 64] >> (slot % 64) & 1; }
  /// Adds those of another place; returns whether there are new ones.
  bool merge(const Written &other) {
    bool isChanged = false;
    for (size_t i = 0; i < words.size(); ++i) {
      uint64_t merged = words[i] | other.words[i];
      isChanged |= merged != words[i];
      words[i] = merged;
    }
    return isChanged;
  }

private:
  std::vector<uint64_t> words;
};
} // namespace

/// What an op writes is written from now on. `first`: of the registers.
static void apply(const Flow &flow, size_t first, Written &written) {
  bool isDefined = !flow.isCopy || flow.hasConstant;
  for (uint32_t slot : flow.reads)
    isDefined |= slot < first || written.has(slot);
  if (isDefined)
    for (uint32_t slot : flow.writes)
      written.set(slot);
}

/// Which ops begin a run that is entered at its beginning only.
static std::vector<size_t>
findLeaders(const Function &function, const std::vector<Flow> &flows,
            const std::map<std::string, const Op *> &labels,
            std::vector<size_t> &leaderOf) {
  std::vector<bool> isLeader(flows.size() + 2);
  isLeader[0] = true;
  for (const auto &label : labels)
    isLeader[static_cast<size_t>(label.second - function.code.data())] = true;
  for (size_t i = 0; i < flows.size(); ++i) {
    if (!flows[i].targets.empty() || !flows[i].fallsThrough)
      isLeader[i + 1] = true;
    if (flows[i].mayFallTwice)
      isLeader[i + 1] = isLeader[i + 2] = true;
  }
  std::vector<size_t> leaders;
  leaderOf.resize(flows.size());
  for (size_t i = 0; i < flows.size(); ++i) {
    if (isLeader[i])
      leaders.push_back(i);
    leaderOf[i] = leaders.size() - 1;
  }
  return leaders;
}

[[noreturn]] static void
failOfRead(const Op &op, uint32_t slot,
           const std::map<std::string, uint32_t> &registers) {
  std::string name;
  for (const auto &[known, number] : registers)
    if (number == slot)
      name = known;
  throw Fault("PTX line " + std::to_string(op.source->line) + ": '" +
              op.source->opcode + "' reads register '" + name +
              "', which nothing writes before");
}

/// What may have been written at each leader that is reached.
static std::vector<Written>
followPaths(const Function &function, const std::vector<Flow> &flows,
            const std::map<std::string, const Op *> &labels,
            const std::vector<size_t> &leaders,
            const std::vector<size_t> &leaderOf, std::vector<bool> &isReached) {
  Written begin(function.slots);
  std::vector<Written> at(leaders.size(), begin);
  std::vector<size_t> pending = {0};
  isReached[0] = true;
  while (!pending.empty()) {
    size_t number = pending.back();
    pending.pop_back();
    Written now = at[number];
    auto goTo = [&](size_t op) {
      size_t next = leaderOf[op];
      bool isNew = !isReached[next];
      isReached[next] = true;
      if (at[next].merge(now) || isNew)
        pending.push_back(next);
    };
    size_t end =
        number + 1 < leaders.size() ? leaders[number + 1] : flows.size();
    for (size_t i = leaders[number]; i < end; ++i)
      apply(flows[i], function.begin.size(), now);
    const Flow &last = flows[end - 1];
    for (const std::string &name : last.targets)
      goTo(static_cast<size_t>(labels.at(name) - function.code.data()));
    if (last.fallsThrough && end < flows.size())
      goTo(end);
    if (last.mayFallTwice && end + 1 < flows.size())
      goTo(end + 1);
  }
  return at;
}

void checkUndefinedReads(const Function &function,
                         const std::vector<Flow> &flows,
                         const std::map<std::string, uint32_t> &registers,
                         const std::map<std::string, const Op *> &labels) {
  std::vector<size_t> leaderOf;
  std::vector<size_t> leaders = findLeaders(function, flows, labels, leaderOf);
  std::vector<bool> isReached(leaders.size());
  std::vector<Written> at =
      followPaths(function, flows, labels, leaders, leaderOf, isReached);
  for (size_t number = 0; number < leaders.size(); ++number) {
    if (!isReached[number])
      continue;
    size_t end =
        number + 1 < leaders.size() ? leaders[number + 1] : flows.size();
    for (size_t i = leaders[number]; i < end; ++i) {
      for (uint32_t slot : flows[i].reads)
        if (!flows[i].isCopy && slot >= function.begin.size() &&
            !at[number].has(slot))
          failOfRead(function.code[i], slot, registers);
      apply(flows[i], function.begin.size(), at[number]);
    }
  }
}

} // namespace meshc::ptx
