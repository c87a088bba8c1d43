//===- Block.cpp - threads in a random order ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/Thread.h"
#include "test/gpu/ptx/WarpOps.h"

#include <algorithm>

namespace meshc::ptx {

/// Instructions of one turn of a thread.
static constexpr int64_t turn = 1 << 20;

void fail(const Op *op, const Thread &thread, const std::string &what) {
  throw Fault("PTX line " + std::to_string(op->source->line) + ": '" +
              op->source->opcode + "' " + what + ", in thread " +
              std::to_string(thread.number) + " of block " +
              std::to_string(thread.block->number));
}

void Block::begin(Launch &owner, uint32_t blockNumber) {
  launch = &owner;
  number = blockNumber;
  epoch = ended = atBarrier = 0;
  order = {};
  const Function &entry = owner.entry;
  uint32_t count = owner.grid.threads;
  threads.resize(count);
  warps.assign((count + warpSize - 1) / warpSize, Warp());
  frames.resize(std::max(frames.size(), size_t(count) * entry.slots));
  // What nobody has written is NaN as a float.
  shared.assign(owner.sharedBytes, 0xff);
  local.resize(std::max(local.size(), size_t(count) * entry.localBytes));
  if (owner.sharedBytes)
    sharedCells.clear(0, owner.sharedBytes);
  ready.clear();
  for (Thread &thread : threads) {
    thread.number = static_cast<uint32_t>(&thread - threads.data());
    thread.block = this;
    thread.frame = frames.data() + size_t(thread.number) * entry.slots;
    thread.next = entry.code.data();
    thread.function = &entry;
    thread.state = State::Ready;
    thread.carry = false;
    thread.callers.clear();
    thread.stamp = Stamp::make(number, epoch, thread.number);
    fillFrame(thread);
    ready.push_back(thread.number);
  }
}

void Block::fillFrame(Thread &thread) {
  const std::vector<uint64_t> &values = launch->begin;
  std::copy(values.begin(), values.end(), thread.frame);
  std::copy(launch->parameters.begin(), launch->parameters.end(),
            reinterpret_cast<unsigned char *>(thread.frame +
                                              launch->entry.parameterSlot));
  uint32_t lane = thread.getLane();
  thread.frame[TidX] = thread.number;
  thread.frame[CtaidX] = number;
  thread.frame[LaneId] = lane;
  thread.frame[WarpId] = thread.number / warpSize;
  uint32_t bit = uint32_t(1) << lane;
  thread.frame[LaneMaskEq] = bit;
  thread.frame[LaneMaskLt] = bit - 1;
  thread.frame[LaneMaskLe] = bit | (bit - 1);
  thread.frame[LaneMaskGt] = ~(bit | (bit - 1));
  thread.frame[LaneMaskGe] = ~(bit - 1);
}

void Block::advance() {
  std::mt19937_64 &random = launch->machine.random;
  uint32_t before = epoch;
  while (!ready.empty() && epoch == before) {
    size_t chosen = (random() >> 32) * ready.size() >> 32;
    Thread &thread = threads[ready[chosen]];
    ready[chosen] = ready.back();
    ready.pop_back();
    thread.budget = turn;
    thread.state = State::Running;
    const Op *op = thread.next;
    do
      op = op->run(op, thread.frame, thread);
    while (op);
    launch->machine.executed += static_cast<uint64_t>(turn - thread.budget);
    if (thread.state == State::Running) { // its turn is over
      thread.state = State::Ready;
      ready.push_back(thread.number);
    }
    if (launch->machine.executed - launch->executedBefore >
        launch->mostInstructions)
      fail(thread.next, thread, "is still executed: the grid does not end");
  }
  if (ready.empty() && !isAtEnd())
    failToEnd();
}

void Block::onEnd(Thread &thread) {
  thread.state = State::Ended;
  ++ended;
  uint32_t warp = thread.number / warpSize;
  warps[warp].ended |= uint32_t(1) << thread.getLane();
  // Others may have waited for this one to come or to end.
  if (warps[warp].waiting)
    releaseWarp(warp);
}

void Block::arriveAtWarp(Thread &thread, const Op *op) {
  thread.state = State::AtWarp;
  thread.next = op;
  uint32_t warp = thread.number / warpSize, bit = uint32_t(1)
                                                  << thread.getLane();
  if (!(thread.mask & bit))
    fail(op, thread, "has a membermask without the lane that executes it");
  warps[warp].waiting |= bit;
  uint32_t expected = thread.mask & ~warps[warp].ended;
  if ((warps[warp].waiting & expected) == expected)
    releaseWarp(warp);
}

/// Lets those lanes go on whose whole mask has come.
void Block::releaseWarp(uint32_t warp) {
  Warp &lanes = warps[warp];
  Thread *first = &threads[size_t(warp) * warpSize];
  size_t count =
      std::min<size_t>(warpSize, threads.size() - size_t(warp) * warpSize);
  uint32_t existing = count == warpSize ? ~0u : (1u << count) - 1;
  for (uint32_t lane = 0; lane < count; ++lane) {
    if (!(lanes.waiting >> lane & 1))
      continue;
    uint32_t members = first[lane].mask & ~lanes.ended & existing;
    if ((lanes.waiting & members) != members)
      continue;
    executeForWarp(first, members);
    lanes.waiting &= ~members;
    for (uint32_t member = 0; member < count; ++member)
      if (members >> member & 1) {
        first[member].state = State::Ready;
        ready.push_back(first[member].number);
      }
  }
}

void Block::arriveAtBarrier(Thread &thread, const Op *op) {
  thread.state = State::AtBarrier;
  thread.next = op;
  if (++atBarrier == threads.size())
    releaseBarrier();
}

void Block::releaseBarrier() {
  executeForBlock(*this);
  for (Thread &thread : threads) {
    thread.state = State::Ready;
    ready.push_back(thread.number);
    ++thread.next;
  }
  atBarrier = 0;
  ++epoch;
  for (Thread &thread : threads)
    thread.stamp = Stamp::make(number, epoch, thread.number);
}

void Block::failToEnd() const {
  const Thread *waiting = nullptr, *other = nullptr;
  for (const Thread &thread : threads) {
    if (thread.state == State::Ended)
      continue;
    if (!waiting)
      waiting = &thread;
  }
  for (const Thread &thread : threads)
    if (thread.state != waiting->state || thread.next != waiting->next)
      other = &thread;
  std::string what = "would hang: it waits for ";
  if (!other)
    what += "lanes that do not come";
  else if (other->state == State::Ended)
    what += "thread " + std::to_string(other->number) + ", which has ended";
  else
    what += "thread " + std::to_string(other->number) +
            ", which waits at line " +
            std::to_string(other->next->source->line);
  fail(waiting->next, *waiting, what);
}

} // namespace meshc::ptx
