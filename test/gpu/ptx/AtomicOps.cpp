//===- AtomicOps.cpp - atomic operations and fences of PTX ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "PTX ISA", section "Parallel Synchronization and Communication
// Instructions": atom, red. An operation that releases or acquires is one with
// a fence before or after it.
//
//===----------------------------------------------------------------------===//

#include "test/gpu/ptx/MemoryOps.h"

#include <algorithm>

namespace meshc::ptx {
namespace {

template <class T> T sum(T a, T b, T) { return static_cast<T>(a + b); }
template <class T> T least(T a, T b, T) { return std::min(a, b); }
template <class T> T greatest(T a, T b, T) { return std::max(a, b); }
template <class T> T conjunction(T a, T b, T) { return a & b; }
template <class T> T disjunction(T a, T b, T) { return a | b; }
template <class T> T difference(T a, T b, T) { return a ^ b; }
template <class T> T exchange(T, T b, T) { return b; }
template <class T> T compareAndSwap(T a, T b, T c) { return a == b ? c : a; }
template <class T> T increment(T a, T b, T) { return a >= b ? 0 : a + 1; }
template <class T> T decrement(T a, T b, T) {
  return a == 0 || a > b ? b : a - 1;
}

enum Order : uint32_t { Releases = 1, Acquires = 2 };

/// Op::count says where the fences are; s: address, b, c.
template <Space space, auto function, class T>
const Op *atomic(const Op *op, uint64_t *frame, Thread &thread) {
  Block &block = *thread.block;
  uint64_t address = frame[op->s[0]] + static_cast<uint64_t>(op->immediate);
  if (op->count & Order::Releases)
    block.order.fence(thread.getMoment());
  unsigned char *place =
      reach<space, Access::Atomic>(op, thread, address, sizeof(T));
  T before, after;
  std::memcpy(&before, place, sizeof(T));
  after = function(before, get<T>(frame[op->s[1]]), get<T>(frame[op->s[2]]));
  std::memcpy(place, &after, sizeof(T));
  if (op->d)
    put<T>(frame[op->d], before);
  block.launch->machine.released.onAtomic(address, block.number, block.order,
                                          thread.getMoment());
  if (op->count & Order::Acquires)
    block.order.fence(thread.getMoment());
  MESHC_PTX_NEXT(op, frame, thread);
}

template <auto function, class T>
Handler chooseSpace(const std::string &space) {
  if (space == "global")
    return &atomic<Space::Global, function, T>;
  if (space == "shared")
    return &atomic<Space::Shared, function, T>;
  return &atomic<Space::Generic, function, T>;
}

/// Those of all types.
template <class T>
Handler chooseNumeric(const std::string &name, const std::string &space) {
  if (name == "add")
    return chooseSpace<&sum<T>, T>(space);
  if constexpr (std::is_integral_v<T>) {
    if (name == "min")
      return chooseSpace<&least<T>, T>(space);
    if (name == "max")
      return chooseSpace<&greatest<T>, T>(space);
    if (name == "inc" && std::is_same_v<T, uint32_t>)
      return chooseSpace<&increment<T>, T>(space);
    if (name == "dec" && std::is_same_v<T, uint32_t>)
      return chooseSpace<&decrement<T>, T>(space);
  }
  return nullptr;
}

template <class T>
Handler chooseBits(const std::string &name, const std::string &space) {
  if (name == "and")
    return chooseSpace<&conjunction<T>, T>(space);
  if (name == "or")
    return chooseSpace<&disjunction<T>, T>(space);
  if (name == "xor")
    return chooseSpace<&difference<T>, T>(space);
  if (name == "exch")
    return chooseSpace<&exchange<T>, T>(space);
  if (name == "cas")
    return chooseSpace<&compareAndSwap<T>, T>(space);
  return nullptr;
}

Handler chooseType(const std::string &name, const std::string &space,
                   const std::string &type) {
  if (type == "u32")
    return chooseNumeric<uint32_t>(name, space);
  if (type == "s32")
    return chooseNumeric<int32_t>(name, space);
  if (type == "u64")
    return chooseNumeric<uint64_t>(name, space);
  if (type == "s64" && name != "add")
    return chooseNumeric<int64_t>(name, space);
  if (type == "f32")
    return chooseNumeric<float>(name, space);
  if (type == "f64")
    return chooseNumeric<double>(name, space);
  if (type == "b32")
    return chooseBits<uint32_t>(name, space);
  if (type == "b64")
    return chooseBits<uint64_t>(name, space);
  return nullptr;
}

} // namespace

MemoryOpcode findAtomic(const std::vector<std::string> &words, bool isRed) {
  MemoryOpcode result;
  std::string space = "generic", type, name;
  for (const std::string &word : words) {
    if (word == "global" || word == "shared")
      space = word;
    else if (word == "release" || word == "acquire" || word == "acq_rel")
      result.order |= (word != "acquire" ? Order::Releases : 0) |
                      (word != "release" ? Order::Acquires : 0);
    else if (getTypeBytes(word))
      type = word;
    else if (name.empty() && word != "relaxed" && word != "gpu" &&
             word != "sys")
      name = word;
    else if (word != "relaxed" && word != "gpu" && word != "sys")
      return result;
  }
  if (isRed && (name == "exch" || name == "cas"))
    return result;
  result.run = chooseType(name, space, type);
  result.registerBits = 8 * getTypeBytes(type);
  result.operands = name == "cas" ? 2 : 1;
  return result;
}

const Op *runFence(const Op *op, uint64_t *frame, Thread &thread) {
  thread.block->order.fence(thread.getMoment());
  MESHC_PTX_NEXT(op, frame, thread);
}

} // namespace meshc::ptx
