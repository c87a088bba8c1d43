//===- Emulation.cpp - GPU kernels on the host ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Emulation.h"
#include "runtime/Base/Failure.h"
#include "runtime/Device/RaceCheck.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <ucontext.h>
#include <vector>

namespace meshc::runtime {
namespace {

constexpr int64_t warpSize = 32;
/// Kernels have shallow call stacks; untouched pages take no memory.
constexpr size_t stackBytes = 128 * 1024;

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

/// Where a fiber, or the loop that runs fibers, has stopped.
struct Stop {
  ucontext_t context; ///< a fiber's, until it begins
  std::jmp_buf place;
  bool hasBegun = true;
};

/// The checks of AddressSanitizer and of _FORTIFY_SOURCE expect that longjmp
/// stays on a stack.
#ifdef __has_feature
#define MESHC_HAS_ASAN __has_feature(address_sanitizer)
#else
#define MESHC_HAS_ASAN 0
#endif

/// Stops at `from`, and goes on at `to`. swapcontext also sets the mask of
/// signals, by a system call, which takes longer than most threads' code.
void goOn(Stop &from, Stop &to) {
#if MESHC_HAS_ASAN || defined(__SANITIZE_ADDRESS__) || defined(_FORTIFY_SOURCE)
  swapcontext(&from.context, &to.context);
#else
  if (_setjmp(from.place) != 0)
    return;
  if (to.hasBegun)
    _longjmp(to.place, 1);
  to.hasBegun = true;
  setcontext(&to.context);
#endif
}

struct Fiber {
  Stop stop;
  std::unique_ptr<char[]> stack;
  MeshcEmulatedThread state;
  Place place = Place::End;
  uint32_t value = 0, operand = 0, isXor = 0;
};

/// State shared by all blocks of a rank's current launch. A rank runs one
/// kernel at a time; several host threads may run pieces of it.
struct Launch {
  std::mutex mutex;
  const char *name = nullptr;
  std::map<int64_t, int64_t> pieces; ///< blocks that have begun: [first, end)
  std::mt19937_64 random;
  uint64_t count = 0; ///< of launches so far
  RaceCheck races;

  static Launch &of(const MeshcContext *context);
  void enter(const char *kernel, int64_t begin, int64_t end);
};

/// One block, with its threads as fibers if they wait.
class Block {
public:
  void begin(Launch &owner, const MeshcEmulatedThread &state,
             MeshcEmulatedCode kernelCode, int64_t count, int64_t bytes);
  /// Runs each thread to completion.
  void runAll();
  /// Gives each thread a fiber.
  void startAll();
  /// Runs each runnable thread until it waits.
  void advance();
  /// Releases some of the threads that have met. Returns false if none have.
  bool release();
  bool isAtEnd() const;
  [[noreturn]] void reportMismatch() const;
  [[noreturn]] void report(const std::string &what) const;

  /// Called by a fiber: yields until what it waits for has happened.
  static uint32_t wait(MeshcEmulatedThread *thread, Place place,
                       uint32_t value = 0, uint32_t operand = 0,
                       uint32_t isXor = 0);
  void access(const MeshcEmulatedThread &thread, const void *address,
              int64_t bytes, int64_t alignment, AccessKind kind,
              const char *place);
  void fence(const MeshcEmulatedThread &thread) {
    RaceCheck::fence(order, static_cast<uint32_t>(thread.thread));
  }

private:
  static void enter(unsigned high, unsigned low);
  void addFiber();
  void start(int64_t thread);
  template <class Action> void forEachThread(Action action);
  bool isBarrierMet() const;
  bool isWarpMet(int64_t first) const;
  void releaseBarrier();
  void releaseWarp(int64_t first);

  Launch *launch = nullptr;
  MeshcEmulatedThread first; ///< what all threads know
  MeshcEmulatedCode code = nullptr;
  int64_t threads = 0;
  std::vector<char> memory;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Stop scheduler;
  BlockOrder order;
};

Launch &Launch::of(const MeshcContext *context) {
  static std::mutex all;
  static std::map<const MeshcContext *, std::unique_ptr<Launch>> launches;
  std::lock_guard<std::mutex> lock(all);
  std::unique_ptr<Launch> &launch = launches[context];
  if (!launch)
    launch = std::make_unique<Launch>();
  return *launch;
}

/// A block that repeats, or another kernel, begins the next launch.
void Launch::enter(const char *kernel, int64_t begin, int64_t end) {
  auto next = pieces.lower_bound(end);
  if (kernel != name ||
      (next != pieces.begin() && std::prev(next)->second > begin)) {
    name = kernel;
    pieces.clear();
    random.seed(meshc_emulation_seed() + ++count);
    races.beginLaunch();
  }
  pieces[begin] = end;
}

void Block::begin(Launch &owner, const MeshcEmulatedThread &state,
                  MeshcEmulatedCode kernelCode, int64_t count, int64_t bytes) {
  constexpr int64_t alignment = 64;
  launch = &owner;
  code = kernelCode;
  threads = count;
  first = state;
  first.blockState = this;
  order = {};
  order.number = static_cast<uint32_t>(state.block);
  memory.resize(std::max<size_t>(memory.size(), bytes + alignment));
  auto address = reinterpret_cast<uintptr_t>(memory.data());
  first.memory = memory.data() + (alignment - address % alignment);
  // Nothing may rely on what a block leaves behind.
  std::fill(first.memory, first.memory + bytes, char(0xff));
  launch->races.forget(first.memory, bytes);
}

/// Calls `action` with each thread's number, in a random order.
template <class Action> void Block::forEachThread(Action action) {
  // A stride coprime to the count visits every thread.
  int64_t step = 1 + static_cast<int64_t>(launch->random() % threads);
  while (std::gcd(step, threads) != 1)
    ++step;
  auto thread = static_cast<int64_t>(launch->random() % threads);
  for (int64_t i = 0; i < threads; ++i, thread = (thread + step) % threads)
    action(thread);
}

void Block::runAll() {
  forEachThread([this](int64_t thread) {
    first.thread = thread;
    code(&first);
  });
}

/// Runs thread after thread. makecontext passes only ints: half a pointer each.
void Block::enter(unsigned high, unsigned low) {
  auto *fiber = reinterpret_cast<Fiber *>(uintptr_t(high) << 32 | low);
  for (;;) {
    auto *block = static_cast<Block *>(fiber->state.blockState);
    block->code(&fiber->state);
    fiber->place = Place::End;
    goOn(fiber->stop, block->scheduler);
  }
}

void Block::addFiber() {
  fibers.push_back(std::make_unique<Fiber>());
  Fiber &fiber = *fibers.back();
  fiber.stack.reset(new char[stackBytes]);
  fiber.stop.hasBegun = false;
  ucontext_t &context = fiber.stop.context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = stackBytes;
  context.uc_link = nullptr;
  auto address = reinterpret_cast<uintptr_t>(&fiber);
  makecontext(&context, reinterpret_cast<void (*)()>(&Block::enter), 2,
              unsigned(address >> 32), unsigned(address));
}

void Block::start(int64_t thread) {
  if (size_t(thread) == fibers.size())
    addFiber();
  Fiber &fiber = *fibers[thread];
  fiber.state = first;
  fiber.state.thread = thread;
  fiber.place = Place::Running;
}

void Block::startAll() {
  for (int64_t thread = 0; thread < threads; ++thread)
    start(thread);
}

void Block::advance() {
  forEachThread([this](int64_t thread) {
    Fiber &fiber = *fibers[thread];
    if (fiber.place == Place::Running)
      goOn(scheduler, fiber.stop);
  });
}

uint32_t Block::wait(MeshcEmulatedThread *thread, Place place, uint32_t value,
                     uint32_t operand, uint32_t isXor) {
  auto *block = static_cast<Block *>(thread->blockState);
  Fiber &fiber = *block->fibers[thread->thread];
  fiber.place = place;
  fiber.value = value;
  fiber.operand = operand;
  fiber.isXor = isXor;
  goOn(fiber.stop, block->scheduler);
  return fiber.value;
}

bool Block::isAtEnd() const {
  return std::all_of(
      fibers.begin(), fibers.begin() + threads,
      [](const auto &fiber) { return fiber->place == Place::End; });
}

bool Block::isBarrierMet() const {
  return std::all_of(
      fibers.begin(), fibers.begin() + threads,
      [](const auto &fiber) { return fiber->place == Place::Barrier; });
}

void Block::releaseBarrier() {
  ++order.epoch;
  for (int64_t thread = 0; thread < threads; ++thread)
    fibers[thread]->place = Place::Running;
}

/// Whether all threads of a warp are at such a place, the same one.
bool Block::isWarpMet(int64_t begin) const {
  Place place = fibers[begin]->place;
  return begin + warpSize <= threads &&
         (place == Place::Shuffle || place == Place::Or) &&
         std::all_of(
             fibers.begin() + begin, fibers.begin() + begin + warpSize,
             [place](const auto &fiber) { return fiber->place == place; });
}

/// Exchanges the values of a warp.
void Block::releaseWarp(int64_t begin) {
  Place place = fibers[begin]->place;
  uint32_t values[warpSize], all = 0;
  for (int64_t lane = 0; lane < warpSize; ++lane) {
    values[lane] = fibers[begin + lane]->value;
    all |= values[lane];
  }
  for (int64_t lane = 0; lane < warpSize; ++lane) {
    Fiber &fiber = *fibers[begin + lane];
    uint32_t source =
        fiber.isXor ? uint32_t(lane) ^ fiber.operand : fiber.operand;
    fiber.value = place == Place::Or ? all : values[source % warpSize];
    fiber.place = Place::Running;
  }
}

bool Block::release() {
  if (isBarrierMet()) {
    releaseBarrier();
    return true;
  }
  // Releases only some warps, so that others fall behind.
  bool isMet = false, isReleased = false;
  while (!isReleased) {
    for (int64_t begin = 0; begin < threads; begin += warpSize)
      if (isWarpMet(begin)) {
        isMet = true;
        if (launch->random() % 2) {
          releaseWarp(begin);
          isReleased = true;
        }
      }
    if (!isMet)
      return false;
  }
  return true;
}

void Block::report(const std::string &what) const {
  std::fprintf(stderr,
               "error: emulated kernel '%s' %s (MESHC_EMULATION_SEED=%llu "
               "repeats the order)\n",
               launch->name, what.c_str(),
               static_cast<unsigned long long>(meshc_emulation_seed()));
  std::fflush(stderr);
  std::_Exit(static_cast<int>(ExitCode::Internal));
}

void Block::reportMismatch() const {
  const Fiber &one = *fibers[0];
  int64_t other = 0;
  while (other + 1 < threads && fibers[other]->place == one.place)
    ++other;
  report("would hang: in block " + std::to_string(first.block) +
         ", thread 0 waits for " + describe(one.place) + ", thread " +
         std::to_string(other) + " for " + describe(fibers[other]->place));
}

void Block::access(const MeshcEmulatedThread &thread, const void *address,
                   int64_t bytes, int64_t alignment, AccessKind kind,
                   const char *place) {
  auto describeIt = [&] {
    return std::string(kind == AccessKind::Read ? "reads" : "writes") + " " +
           std::to_string(bytes) + " bytes in thread " +
           std::to_string(thread.thread) + " of block " +
           std::to_string(thread.block) + " at " + place;
  };
  auto number = reinterpret_cast<uintptr_t>(address);
  if (number % static_cast<uintptr_t>(alignment) != 0)
    report("faults: it " + describeIt() + " from an address that is not " +
           "aligned to " + std::to_string(alignment));
  if (auto other =
          launch->races.access(order, static_cast<uint32_t>(thread.thread),
                               address, bytes, kind, place))
    report("has a race: it " + describeIt() + ", which " + *other +
           ", and nothing orders the two");
}

/// Blocks whose threads wait for each other: a few are in progress at a time,
/// and advance in turns.
void runTogether(Launch &launch, std::vector<Block> &blocks,
                 const std::function<bool(Block &)> &beginNext) {
  std::vector<Block *> running, idle;
  size_t most = 1 + launch.random() % blocks.size();
  for (size_t i = 0; i < most; ++i)
    idle.push_back(&blocks[i]);
  for (;;) {
    while (!idle.empty() && beginNext(*idle.back())) {
      idle.back()->startAll();
      running.push_back(idle.back());
      idle.pop_back();
    }
    if (running.empty())
      return;
    std::swap(running[launch.random() % running.size()], running.back());
    Block &block = *running.back();
    block.advance();
    if (block.isAtEnd()) {
      idle.push_back(&block);
      running.pop_back();
    } else if (!block.release()) {
      block.reportMismatch();
    }
  }
}

} // namespace
} // namespace meshc::runtime

using meshc::runtime::AccessKind;
using meshc::runtime::Block;
using meshc::runtime::Launch;
using meshc::runtime::Place;

extern "C" uint64_t meshc_emulation_seed(void) {
  static const uint64_t seed = [] {
    const char *text = std::getenv("MESHC_EMULATION_SEED");
    return text ? std::strtoull(text, nullptr, 10)
                : uint64_t(std::random_device()());
  }();
  return seed;
}

extern "C" void meshc_emulate(const MeshcContext *context, void *const *buffers,
                              int64_t begin, int64_t end, const char *name,
                              MeshcEmulatedCode code, int64_t threads,
                              int64_t memoryBytes, int64_t waits) {
  constexpr size_t mostAtOnce = 4;
  // Fibers and memory are kept between launches: creating them takes longer
  // than most blocks.
  thread_local std::vector<Block> blocks(mostAtOnce);
  Launch &launch = Launch::of(context);
  std::lock_guard<std::mutex> lock(launch.mutex);
  launch.enter(name, begin, end);
  std::vector<int64_t> order(static_cast<size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  std::shuffle(order.begin(), order.end(), launch.random);
  auto beginNext = [&](Block &block) {
    if (order.empty())
      return false;
    MeshcEmulatedThread state{0,       order.back(), nullptr,
                              context, buffers,      nullptr};
    block.begin(launch, state, code, threads, memoryBytes);
    order.pop_back();
    return true;
  };
  if (waits)
    return meshc::runtime::runTogether(launch, blocks, beginNext);
  while (beginNext(blocks[0]))
    blocks[0].runAll();
}

extern "C" void meshc_emulated_access(MeshcEmulatedThread *thread,
                                      const void *address, int64_t bytes,
                                      int64_t alignment, int64_t kind,
                                      const char *place) {
  static_cast<Block *>(thread->blockState)
      ->access(*thread, address, bytes, alignment,
               static_cast<AccessKind>(kind), place);
}

extern "C" void meshc_emulated_fence(MeshcEmulatedThread *thread) {
  static_cast<Block *>(thread->blockState)->fence(*thread);
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
  // A different size belongs to another program, whose kernel had this address
  // before.
  if (memory.bytes != bytes) {
    memory.data.reset(
        new std::max_align_t[size_t(bytes) / sizeof(std::max_align_t) + 1]());
    memory.bytes = bytes;
  }
  return memory.data.get();
}
