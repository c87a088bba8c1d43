//===- ControlOps.cpp - branches, calls and moves -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/ControlOps.h"

#include <algorithm>

namespace meshc::ptx {

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Goes on at `target`, or gives another thread a turn.
#define MESHC_PTX_JUMP(op, target, frame, thread)                              \
  do {                                                                         \
    const Op *to = (target);                                                   \
    if (((thread).budget -= (op)->count) < 0) {                                \
      (thread).next = to;                                                      \
      return nullptr;                                                          \
    }                                                                          \
    MESHC_PTX_GO(to, frame, thread);                                           \
  } while (false)

const Op *runBranch(const Op *op, uint64_t *frame, Thread &thread) {
  MESHC_PTX_JUMP(op, op->target, frame, thread);
}

const Op *runBranchIf(const Op *op, uint64_t *frame, Thread &thread) {
  MESHC_PTX_JUMP(op, frame[op->s[0]] ? op->target : op + 1, frame, thread);
}

const Op *runBranchUnless(const Op *op, uint64_t *frame, Thread &thread) {
  MESHC_PTX_JUMP(op, frame[op->s[0]] ? op + 1 : op->target, frame, thread);
}

const Op *runIndexedBranch(const Op *op, uint64_t *frame, Thread &thread) {
  auto index = get<uint32_t>(frame[op->s[0]]);
  if (index >= static_cast<uint64_t>(op->immediate))
    fail(op, thread,
         "has index " + std::to_string(index) + " of " +
             std::to_string(op->immediate) + " targets");
  MESHC_PTX_JUMP(op, op->table[index], frame, thread);
}

const Op *runGuard(const Op *op, uint64_t *frame, Thread &thread) {
  const Op *next =
      op + ((frame[op->s[0]] != 0) == (op->immediate != 0) ? 1 : 2);
  MESHC_PTX_GO(next, frame, thread);
}

const Op *runExit(const Op *op, uint64_t *, Thread &thread) {
  thread.budget -= op->count;
  thread.next = op;
  thread.block->onEnd(thread);
  return nullptr;
}

const Op *runTrap(const Op *op, uint64_t *, Thread &thread) {
  fail(op, thread, "is executed");
}

static const CallCopies &copiesOf(const Op *call) {
  return *reinterpret_cast<const CallCopies *>(call->immediate);
}

static void copyBytes(const std::vector<CallCopies::Range> &ranges,
                      const uint64_t *from, uint64_t *to) {
  for (const CallCopies::Range &range : ranges)
    std::memcpy(reinterpret_cast<char *>(to) + range.to,
                reinterpret_cast<const char *>(from) + range.from, range.bytes);
}

/// Makes the frame of a call, and the thread one of the callee.
static uint64_t *enter(const Op *op, uint64_t *frame, Thread &thread) {
  constexpr size_t deepest = 256;
  if (thread.callers.size() == deepest)
    fail(op, thread, "calls more than 256 functions deep");
  const Function &callee = *op->callee;
  Caller caller{thread.function, op, nullptr, frame};
  caller.calleeFrame.reset(new uint64_t[callee.slots]);
  uint64_t *inner = caller.calleeFrame.get();
  // Constants are the callee's, special registers the thread's.
  std::copy(callee.begin.begin(), callee.begin.end(), inner);
  std::copy(frame, frame + SpecialCount, inner);
  copyBytes(copiesOf(op).arguments, frame, inner);
  thread.function = &callee;
  thread.frame = inner;
  thread.callers.push_back(std::move(caller));
  return inner;
}

/// Returns to the caller; gives the call.
static const Op *leave(const uint64_t *frame, Thread &thread) {
  Caller caller = std::move(thread.callers.back());
  thread.callers.pop_back();
  copyBytes(copiesOf(caller.call).results, frame, caller.frame);
  thread.function = caller.function;
  thread.frame = caller.frame;
  return caller.call;
}

const Op *runCall(const Op *op, uint64_t *frame, Thread &thread) {
  frame = enter(op, frame, thread);
  MESHC_PTX_JUMP(op, op->callee->code.data(), frame, thread);
}

const Op *runReturn(const Op *op, uint64_t *frame, Thread &thread) {
  if (thread.callers.empty())
    return runExit(op, frame, thread);
  const Op *call = leave(frame, thread);
  frame = thread.frame;
  MESHC_PTX_JUMP(op, call + 1, frame, thread);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

const Op *runMove(const Op *op, uint64_t *frame, Thread &thread) {
  frame[op->d] = frame[op->s[0]];
  MESHC_PTX_NEXT(op, frame, thread);
}

static uint64_t lowBits(uint64_t value, int64_t bits) {
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

const Op *runPack(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t value = 0;
  for (uint32_t part = 0; part < op->count; ++part)
    value |= lowBits(frame[op->list[part]], op->immediate)
             << (part * static_cast<uint64_t>(op->immediate));
  frame[op->d] = value;
  MESHC_PTX_NEXT(op, frame, thread);
}

const Op *runUnpack(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t value = frame[op->s[0]];
  for (uint32_t part = 0; part < op->count; ++part)
    if (op->list[part])
      frame[op->list[part]] =
          lowBits(value >> (part * static_cast<uint64_t>(op->immediate)),
                  op->immediate);
  MESHC_PTX_NEXT(op, frame, thread);
}

const Op *runToGeneric(const Op *op, uint64_t *frame, Thread &thread) {
  frame[op->d] = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  MESHC_PTX_NEXT(op, frame, thread);
}

const Op *runFromGeneric(const Op *op, uint64_t *frame, Thread &thread) {
  uint64_t address = frame[op->s[0]];
  if (address >> 60 != static_cast<uint64_t>(op->immediate) >> 60)
    fail(op, thread, "gets an address of another space");
  frame[op->d] = address - static_cast<uint64_t>(op->immediate);
  MESHC_PTX_NEXT(op, frame, thread);
}

} // namespace meshc::ptx
