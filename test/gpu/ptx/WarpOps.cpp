//===- WarpOps.cpp - what threads do together -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", sections "Parallel Synchronization and Communication
// Instructions" and "shfl.sync".
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/WarpOps.h"

#include <algorithm>

namespace meshc::ptx {
namespace {

enum class Kind : int64_t {
  ShuffleUp,
  ShuffleDown,
  ShuffleXor,
  ShuffleIndex,
  VoteAll,
  VoteAny,
  VoteUniform,
  VoteBallot,
  ReduceAdd,
  ReduceMin,
  ReduceMax,
  ReduceMinSigned,
  ReduceMaxSigned,
  ReduceAnd,
  ReduceOr,
  ReduceXor,
  Synchronize,
  Barrier,
  BarrierAligned,
  BarrierCount,
  BarrierAnd,
  BarrierOr
};

//===----------------------------------------------------------------------===//
// Handlers: a thread comes, and waits
//===----------------------------------------------------------------------===//

const Op *shuffle(const Op *op, uint64_t *frame, Thread &thread) {
  thread.budget -= op->count;
  thread.value = get<uint32_t>(frame[op->s[0]]);
  thread.operand = get<uint32_t>(frame[op->s[1]]);
  thread.control = get<uint32_t>(frame[op->s[2]]);
  thread.mask = get<uint32_t>(frame[op->s[3]]);
  thread.block->arriveAtWarp(thread, op);
  return nullptr;
}

const Op *combine(const Op *op, uint64_t *frame, Thread &thread) {
  thread.budget -= op->count;
  thread.value = get<uint32_t>(frame[op->s[0]]);
  thread.mask = get<uint32_t>(frame[op->s[1]]);
  thread.block->arriveAtWarp(thread, op);
  return nullptr;
}

const Op *synchronize(const Op *op, uint64_t *frame, Thread &thread) {
  thread.budget -= op->count;
  thread.mask = get<uint32_t>(frame[op->s[0]]);
  thread.block->arriveAtWarp(thread, op);
  return nullptr;
}

const Op *barrier(const Op *op, uint64_t *frame, Thread &thread) {
  thread.budget -= op->count;
  thread.operand = get<uint32_t>(frame[op->s[0]]);
  thread.block->arriveAtBarrier(thread, op);
  return nullptr;
}

const Op *barrierOfSome(const Op *op, uint64_t *frame, Thread &thread) {
  auto count = get<uint32_t>(frame[op->s[1]]);
  if (count != thread.block->threads.size())
    fail(op, thread,
         "waits for " + std::to_string(count) +
             " threads; only barriers of the whole block are interpreted");
  return barrier(op, frame, thread);
}

const Op *barrierReduction(const Op *op, uint64_t *frame, Thread &thread) {
  thread.value = frame[op->s[1]] != 0;
  return barrier(op, frame, thread);
}

//===----------------------------------------------------------------------===//
// When all have come
//===----------------------------------------------------------------------===//

/// The lane whose value a lane gets, and whether it is in range.
std::pair<uint32_t, bool> findSource(const Thread &thread, Kind kind) {
  uint32_t lane = thread.getLane(), by = thread.operand & 31;
  uint32_t clamp = thread.control & 31, segment = thread.control >> 8 & 31;
  uint32_t least = lane & segment;
  uint32_t most = least | (clamp & ~segment);
  uint32_t source = 0;
  bool isInRange = false;
  switch (kind) {
  case Kind::ShuffleUp:
    source = lane - by;
    isInRange = int32_t(source) >= int32_t(most);
    break;
  case Kind::ShuffleDown:
    source = lane + by;
    isInRange = source <= most;
    break;
  case Kind::ShuffleXor:
    source = lane ^ by;
    isInRange = source <= most;
    break;
  default:
    source = least | (by & ~segment);
    isInRange = source <= most;
  }
  return {isInRange ? source : lane, isInRange};
}

void executeShuffle(Thread *first, uint32_t members, Kind kind) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(members >> lane & 1))
      continue;
    Thread &thread = first[lane];
    const Op *op = thread.next;
    auto [source, isInRange] = findSource(thread, kind);
    if (!(members >> source & 1))
      fail(op, thread,
           "reads from lane " + std::to_string(source) +
               ", which takes no part");
    put<uint32_t>(thread.frame[op->d], first[source].value);
    if (op->list)
      put<Predicate>(thread.frame[op->list[0]], {isInRange});
  }
}

uint32_t reduce(Kind kind, uint32_t a, uint32_t b) {
  auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  switch (kind) {
  case Kind::ReduceAdd:
    return a + b;
  case Kind::ReduceMin:
    return std::min(a, b);
  case Kind::ReduceMax:
    return std::max(a, b);
  case Kind::ReduceMinSigned:
    return static_cast<uint32_t>(std::min(x, y));
  case Kind::ReduceMaxSigned:
    return static_cast<uint32_t>(std::max(x, y));
  case Kind::ReduceAnd:
    return a & b;
  case Kind::ReduceOr:
    return a | b;
  default:
    return a ^ b;
  }
}

/// The result of a vote or a reduction, the same for all members.
uint32_t combineValues(const Thread *first, uint32_t members, Kind kind) {
  uint32_t ballot = 0, result = 0;
  bool isFirst = true;
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    if (!(members >> lane & 1))
      continue;
    uint32_t value = first[lane].value;
    ballot |= uint32_t(value != 0) << lane;
    result = isFirst ? value : reduce(kind, result, value);
    isFirst = false;
  }
  switch (kind) {
  case Kind::VoteAll:
    return ballot == members;
  case Kind::VoteAny:
    return ballot != 0;
  case Kind::VoteUniform:
    return ballot == members || ballot == 0;
  case Kind::VoteBallot:
    return ballot;
  default:
    return result;
  }
}

void expectSame(const Thread &one, const Thread &other) {
  if (other.next->source->opcode != one.next->source->opcode)
    fail(one.next, one,
         "meets '" + other.next->source->opcode + "' at line " +
             std::to_string(other.next->source->line) + " in thread " +
             std::to_string(other.number));
  if (other.mask != one.mask)
    fail(one.next, one,
         "has another membermask than thread " + std::to_string(other.number));
}

} // namespace

void executeForWarp(Thread *first, uint32_t members) {
  uint32_t lowest = static_cast<uint32_t>(__builtin_ctz(members));
  const Thread &one = first[lowest];
  for (uint32_t lane = lowest; lane < warpSize; ++lane)
    if (members >> lane & 1)
      expectSame(one, first[lane]);
  Kind kind{one.next->immediate};
  if (kind <= Kind::ShuffleIndex) {
    executeShuffle(first, members, kind);
  } else if (kind != Kind::Synchronize) {
    uint32_t result = combineValues(first, members, kind);
    for (uint32_t lane = lowest; lane < warpSize; ++lane)
      if (members >> lane & 1)
        put<uint32_t>(first[lane].frame[first[lane].next->d], result);
  }
  for (uint32_t lane = lowest; lane < warpSize; ++lane)
    if (members >> lane & 1)
      ++first[lane].next;
}

void executeForBlock(Block &block) {
  uint32_t set = 0;
  for (const Thread &thread : block.threads) {
    const Thread &first = block.threads[thread.number / warpSize * warpSize];
    const Thread &zero = block.threads[0];
    if (thread.operand != zero.operand ||
        thread.next->source->opcode != zero.next->source->opcode)
      fail(thread.next, thread,
           "would hang: thread 0 waits at another barrier, at line " +
               std::to_string(zero.next->source->line));
    if (Kind(thread.next->immediate) != Kind::Barrier &&
        thread.next != first.next)
      fail(thread.next, thread,
           "is a barrier that diverges: thread " +
               std::to_string(first.number) +
               " of the same warp waits at line " +
               std::to_string(first.next->source->line));
    set += thread.value != 0;
  }
  for (Thread &thread : block.threads) {
    const Op *op = thread.next;
    Kind kind{op->immediate};
    if (kind == Kind::BarrierCount)
      put<uint32_t>(thread.frame[op->d], set);
    else if (kind == Kind::BarrierAnd)
      put<Predicate>(thread.frame[op->d], {set == block.threads.size()});
    else if (kind == Kind::BarrierOr)
      put<Predicate>(thread.frame[op->d], {set != 0});
  }
}

namespace {
struct WarpOpcode {
  Handler run;
  Widths widths; ///< result first; 0: there is none
  Kind kind;
};
} // namespace

static std::map<std::string, WarpOpcode> makeWarpOpcodes() {
  const Widths shuffled = {32, 32, 32, 32, 32}, vote = {1, 1, 32},
               ballot = {32, 1, 32}, reduced = {32, 32, 32};
  return {
      {"shfl.sync.up.b32", {shuffle, shuffled, Kind::ShuffleUp}},
      {"shfl.sync.down.b32", {shuffle, shuffled, Kind::ShuffleDown}},
      {"shfl.sync.bfly.b32", {shuffle, shuffled, Kind::ShuffleXor}},
      {"shfl.sync.idx.b32", {shuffle, shuffled, Kind::ShuffleIndex}},
      {"vote.sync.all.pred", {combine, vote, Kind::VoteAll}},
      {"vote.sync.any.pred", {combine, vote, Kind::VoteAny}},
      {"vote.sync.uni.pred", {combine, vote, Kind::VoteUniform}},
      {"vote.sync.ballot.b32", {combine, ballot, Kind::VoteBallot}},
      {"redux.sync.add.u32", {combine, reduced, Kind::ReduceAdd}},
      {"redux.sync.add.s32", {combine, reduced, Kind::ReduceAdd}},
      {"redux.sync.min.u32", {combine, reduced, Kind::ReduceMin}},
      {"redux.sync.max.u32", {combine, reduced, Kind::ReduceMax}},
      {"redux.sync.min.s32", {combine, reduced, Kind::ReduceMinSigned}},
      {"redux.sync.max.s32", {combine, reduced, Kind::ReduceMaxSigned}},
      {"redux.sync.and.b32", {combine, reduced, Kind::ReduceAnd}},
      {"redux.sync.or.b32", {combine, reduced, Kind::ReduceOr}},
      {"redux.sync.xor.b32", {combine, reduced, Kind::ReduceXor}},
      {"bar.warp.sync", {synchronize, {0, 32}, Kind::Synchronize}},
      {"bar.sync", {barrier, {0, 32}, Kind::BarrierAligned}},
      {"barrier.sync.aligned", {barrier, {0, 32}, Kind::BarrierAligned}},
      {"barrier.sync", {barrier, {0, 32}, Kind::Barrier}},
      {"bar.red.popc.u32", {barrierReduction, {32, 32, 1}, Kind::BarrierCount}},
      {"bar.red.and.pred", {barrierReduction, {1, 32, 1}, Kind::BarrierAnd}},
      {"bar.red.or.pred", {barrierReduction, {1, 32, 1}, Kind::BarrierOr}}};
}

Handler findWarpHandler(const std::string &opcode, size_t operands,
                        Widths &widths, int64_t &how) {
  static const std::map<std::string, WarpOpcode> all = makeWarpOpcodes();
  std::string name = opcode;
  // `.cta` says what is so without it.
  if (size_t at = name.find(".cta"); at != std::string::npos)
    name.erase(at, 4);
  auto found = all.find(name);
  if (found == all.end())
    return nullptr;
  widths = found->second.widths;
  how = static_cast<int64_t>(found->second.kind);
  if (found->second.run == barrier && operands == 2) {
    widths.push_back(32);
    return barrierOfSome;
  }
  return found->second.run;
}

} // namespace meshc::ptx
