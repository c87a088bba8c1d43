//===- Thread.h - threads, blocks and grids that run ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_THREAD_H
#define MESHC_TEST_GPU_PTX_THREAD_H

#include "test/gpu/ptx/Accesses.h"
#include "test/gpu/ptx/Machine.h"
#include "test/gpu/ptx/Op.h"

#include <array>
#include <random>

namespace meshc::ptx {

struct Block;
struct Launch;

constexpr uint32_t warpSize = 32;

/// Generic addresses of the other spaces begin here; an address within the
/// space follows ("PTX ISA", "Generic Addressing"). All others are global.
constexpr uint64_t sharedWindow = uint64_t(2) << 60, localWindow = uint64_t(1)
                                                                   << 60;
/// The first address within the shared and the local space, so that 0 is none.
constexpr uint64_t firstAddress = 64;

enum class State : uint8_t { Ready, Running, AtWarp, AtBarrier, Ended };

/// A function that waits for one that it called.
struct Caller {
  const Function *function;
  const Op *call;
  std::unique_ptr<uint64_t[]> calleeFrame;
  uint64_t *frame;
};

struct Thread {
  const Op *next = nullptr; ///< where it goes on, or waits
  uint64_t *frame = nullptr;
  Block *block = nullptr;
  uint32_t number = 0; ///< in its block, in the order of x, y, z
  State state = State::Ready;
  bool carry = false;
  Stamp stamp; ///< of its accesses
  /// Instructions until another thread gets a turn.
  int64_t budget = 0;
  const Function *function = nullptr;
  std::vector<Caller> callers;
  /// What it brought to an instruction of its warp.
  uint32_t value = 0, operand = 0, control = 0, mask = 0;

  uint32_t getLane() const { return number % warpSize; }
  Moment getMoment() const { return {stamp.getThread(), stamp.getEpoch()}; }
};

/// Which lanes of a warp wait for each other, and which have ended.
struct Warp {
  uint32_t waiting = 0, ended = 0;
};

/// A block that runs.
struct Block {
  Launch *launch = nullptr;
  uint32_t number = 0, epoch = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<uint64_t> frames;
  std::vector<unsigned char> shared, local;
  CellPage sharedCells;
  std::vector<uint32_t> ready; ///< threads that can run
  uint32_t ended = 0, atBarrier = 0;
  BlockOrder order;

  void begin(Launch &owner, uint32_t blockNumber);
  /// Runs threads, each time a random one of those that can run, until the
  /// block has passed a barrier or ended.
  void advance();
  bool isAtEnd() const { return ended == threads.size(); }
  /// A thread waits for others of its warp, at `op`.
  void arriveAtWarp(Thread &thread, const Op *op);
  /// A thread waits for the block.
  void arriveAtBarrier(Thread &thread, const Op *op);
  void onEnd(Thread &thread);

private:
  void fillFrame(Thread &thread);
  void releaseWarp(uint32_t warp);
  void releaseBarrier();
  [[noreturn]] void failToEnd() const;
};

/// A part of global memory that lies within a page of cells.
struct View {
  uint64_t begin = 0, bytes = 0; ///< addresses; 0 bytes: nothing
  unsigned char *host = nullptr; ///< of `begin`
  CellPage *page = nullptr;
  bool isConstant = false;
};

/// What is kept between launches: pools, and the cells of global memory.
struct Machine::State {
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Block>> blocks;
  std::unordered_map<uint64_t, std::unique_ptr<CellPage>> pages;
  std::array<View, 256> views; ///< by the last bits of the page's number
  ReleasedMemory released;
  uint64_t launches = 0;
  uint64_t executed = 0; ///< instructions of all threads
};

/// A grid that runs.
struct Launch {
  Machine::State &machine;
  const Function &entry;
  const Grid &grid;
  Memory &memory;
  const std::vector<Region> &variables; ///< of the module
  std::vector<unsigned char> parameters;
  std::vector<uint64_t> begin; ///< of a thread's frame
  uint64_t sharedBytes = 0;
  uint64_t mostInstructions = 0;
  uint64_t executedBefore = 0;

  void run();
  /// The view that has the bytes at that address; fails if there is none.
  View &findView(Thread &thread, const Op *op, uint64_t address,
                 uint64_t bytes);
};

/// Ends the launch with a message: the op's line and text, the thread and
/// `what` it does, as "divides by zero".
[[noreturn]] void fail(const Op *op, const Thread &thread,
                       const std::string &what);

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_THREAD_H
