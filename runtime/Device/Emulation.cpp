//===- Emulation.cpp - GPU kernels on the host -----------------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Emulation.h"
#include "runtime/Core/Failure.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <ucontext.h>
#include <vector>

namespace meshc::runtime {
namespace {

constexpr int64_t kWarp = 32;
/// Kernels call nothing deep; what is not touched takes no memory.
constexpr size_t kStackBytes = 128 * 1024;

/// What a fiber is about to do, or waits for.
enum class Place { Running, Barrier, Shuffle, Or, End };

const char *describe(Place place) {
  switch (place) {
  case Place::Running:
    return "nothing";
  case Place::Barrier:
    return "a barrier";
  case Place::Shuffle:
    return "a shuffle";
  case Place::Or:
    return "a reduction over its warp";
  case Place::End:
    return "its end";
  }
  return "";
}

struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  MeshcEmulatedThread state;
  Place place = Place::End;
  uint32_t value = 0, operand = 0, isXor = 0;
};

/// One block at a time, its threads as fibers.
class Block {
public:
  void run(const char *name, MeshcEmulatedCode code,
           const MeshcEmulatedThread &state, int64_t threads);
  /// Called by a fiber: gives way until what it waits for is there.
  static uint32_t wait(MeshcEmulatedThread *thread, Place place,
                       uint32_t value = 0, uint32_t operand = 0,
                       uint32_t isXor = 0);

private:
  static void enter(unsigned high, unsigned low);
  void start(int64_t thread, const MeshcEmulatedThread &state);
  void resume(Fiber &fiber);
  bool releaseBarrier();
  bool releaseWarp(int64_t first);
  [[noreturn]] void reportMismatch() const;

  const char *name = "";
  MeshcEmulatedCode code = nullptr;
  int64_t threads = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;
  ucontext_t scheduler;
};

/// Pointers come to a fiber in two halves, as makecontext passes ints only.
void Block::enter(unsigned high, unsigned low) {
  auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(high) << 32 | low);
  auto *block = static_cast<Block *>(fiber->state.blockState);
  block->code(&fiber->state);
  fiber->place = Place::End;
  swapcontext(&fiber->context, &block->scheduler);
}

void Block::start(int64_t thread, const MeshcEmulatedThread &state) {
  if (size_t(thread) == fibers.size()) {
    fibers.push_back(std::make_unique<Fiber>());
    fibers.back()->stack.reset(new char[kStackBytes]);
  }
  Fiber &fiber = *fibers[thread];
  fiber.state = state;
  fiber.state.thread = thread;
  fiber.state.blockState = this;
  fiber.place = Place::Running;
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack.get();
  fiber.context.uc_stack.ss_size = kStackBytes;
  fiber.context.uc_link = nullptr;
  auto address = reinterpret_cast<uintptr_t>(&fiber);
  makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Block::enter), 2,
              unsigned(address >> 32), unsigned(address));
}

void Block::resume(Fiber &fiber) { swapcontext(&scheduler, &fiber.context); }

uint32_t Block::wait(MeshcEmulatedThread *thread, Place place, uint32_t value,
                     uint32_t operand, uint32_t isXor) {
  auto *block = static_cast<Block *>(thread->blockState);
  Fiber &fiber = *block->fibers[thread->thread];
  fiber.place = place;
  fiber.value = value;
  fiber.operand = operand;
  fiber.isXor = isXor;
  swapcontext(&fiber.context, &block->scheduler);
  return fiber.value;
}

bool Block::releaseBarrier() {
  for (int64_t thread = 0; thread < threads; ++thread)
    if (fibers[thread]->place != Place::Barrier)
      return false;
  for (int64_t thread = 0; thread < threads; ++thread)
    fibers[thread]->place = Place::Running;
  return true;
}

/// Exchanges the values of a warp of which all threads are at such a place.
bool Block::releaseWarp(int64_t first) {
  Place place = fibers[first]->place;
  if (first + kWarp > threads ||
      (place != Place::Shuffle && place != Place::Or))
    return false;
  uint32_t values[kWarp], all = 0;
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    if (fibers[first + lane]->place != place)
      return false;
    values[lane] = fibers[first + lane]->value;
    all |= values[lane];
  }
  for (int64_t lane = 0; lane < kWarp; ++lane) {
    Fiber &fiber = *fibers[first + lane];
    uint32_t source =
        fiber.isXor ? uint32_t(lane) ^ fiber.operand : fiber.operand;
    fiber.value = place == Place::Or ? all : values[source % kWarp];
    fiber.place = Place::Running;
  }
  return true;
}

void Block::reportMismatch() const {
  const Fiber &first = *fibers[0];
  int64_t other = 0;
  while (other + 1 < threads && fibers[other]->place == first.place)
    ++other;
  std::fprintf(stderr,
               "error: emulated kernel '%s' would hang: in block %lld, thread "
               "0 waits for %s, thread %lld for %s\n",
               name, static_cast<long long>(first.state.block),
               describe(first.place), static_cast<long long>(other),
               describe(fibers[other]->place));
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ExitCode::Internal));
}

void Block::run(const char *kernelName, MeshcEmulatedCode kernelCode,
                const MeshcEmulatedThread &state, int64_t count) {
  name = kernelName;
  code = kernelCode;
  threads = count;
  for (int64_t thread = 0; thread < threads; ++thread)
    start(thread, state);
  for (;;) {
    bool isEnd = true;
    for (int64_t thread = 0; thread < threads; ++thread) {
      Fiber &fiber = *fibers[thread];
      if (fiber.place == Place::Running)
        resume(fiber);
      isEnd = isEnd && fiber.place == Place::End;
    }
    if (isEnd)
      return;
    bool isReleased = releaseBarrier();
    for (int64_t first = 0; first < threads; first += kWarp)
      isReleased = releaseWarp(first) || isReleased;
    if (!isReleased)
      reportMismatch();
  }
}

} // namespace
} // namespace meshc::runtime

using meshc::runtime::Block;
using meshc::runtime::Place;

extern "C" void meshc_emulate(const MeshcContext *context, void *const *buffers,
                              int64_t begin, int64_t end, const char *name,
                              MeshcEmulatedCode code, int64_t threads,
                              int64_t memoryBytes, int64_t waits) {
  constexpr int64_t kAlignment = 64;
  // Fibers and memory stay from launch to launch: making them takes longer than
  // most blocks.
  thread_local Block fibers;
  thread_local std::vector<char> memory;
  memory.resize(std::max<size_t>(memory.size(), memoryBytes + kAlignment));
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  char *aligned = memory.data() + (kAlignment - address % kAlignment);
  MeshcEmulatedThread state{0, begin, aligned, context, buffers, nullptr};
  for (; state.block < end; ++state.block) {
    // What a block leaves behind is nothing to rely on.
    std::fill(aligned, aligned + memoryBytes, char(0xff));
    if (waits) {
      fibers.run(name, code, state, threads);
      continue;
    }
    for (state.thread = 0; state.thread < threads; ++state.thread)
      code(&state);
  }
}

extern "C" void meshc_emulated_barrier(MeshcEmulatedThread *thread) {
  Block::wait(thread, Place::Barrier);
}

extern "C" uint32_t meshc_emulated_shuffle(MeshcEmulatedThread *thread,
                                           uint32_t value, uint32_t source,
                                           uint32_t isXor) {
  return Block::wait(thread, Place::Shuffle, value, source, isXor);
}

extern "C" uint32_t meshc_emulated_or(MeshcEmulatedThread *thread,
                                      uint32_t value) {
  return Block::wait(thread, Place::Or, value);
}

extern "C" void *meshc_emulated_memory(MeshcEmulatedThread *thread,
                                       const char *name, int64_t bytes) {
  struct Memory {
    std::unique_ptr<std::max_align_t[]> data;
    int64_t bytes = 0;
  };
  static std::mutex mutex;
  static std::map<std::pair<const MeshcContext *, const char *>, Memory> all;
  std::lock_guard<std::mutex> lock(mutex);
  Memory &memory = all[{thread->context, name}];
  // Another size: another program's, which was where this one is now.
  if (memory.bytes != bytes) {
    memory.data.reset(
        new std::max_align_t[size_t(bytes) / sizeof(std::max_align_t) + 1]());
    memory.bytes = bytes;
  }
  return memory.data.get();
}
