//===- Accesses.h - who accessed memory, and what races ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Each word of shared and global memory has a *cell*: who last wrote and read
/// it in this launch. Two accesses by different threads race if at least one
/// is a write, not both are atomic, and nothing orders them ("PTX ISA", chapter
/// "Memory Consistency Model"). What orders them:
///
/// - within a block, a barrier of the block between the two;
/// - between blocks, a release and an acquire pattern: a thread executes a
///   fence and then an atomic operation; a thread of the other block executes a
///   later atomic operation at that address, and then a fence. Barriers extend
///   this to the other threads of both blocks.
///
/// A byte that `ld.global.nc` reads may not be written in the whole launch.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_GPU_PTX_ACCESSES_H
#define MESHC_TEST_GPU_PTX_ACCESSES_H

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace meshc::ptx {

struct Op;

enum class Access { Read, ReadOnly, Write, Atomic };

/// Who did something, and after how many barriers of its block:
/// 28 bits of the block's number plus 1, 21 of barriers, 11 of the thread.
/// Zero: nobody.
struct Stamp {
  uint64_t bits = 0;
  static constexpr uint64_t threadMask = 0x7ff, epochMask = 0x1fffff,
                            blockMask = 0xfffffff;
  static constexpr uint64_t manyThreads = threadMask, manyBlocks = blockMask;
  static constexpr uint64_t atomicBit = uint64_t(1) << 60,
                            readOnlyBit = uint64_t(1) << 61;

  static Stamp make(uint64_t block, uint64_t epoch, uint64_t thread) {
    return {(block + 1) << 32 | epoch << 11 | thread};
  }
  bool isSet() const { return bits != 0; }
  uint64_t getThread() const { return bits & threadMask; }
  uint64_t getEpoch() const { return bits >> 11 & epochMask; }
  uint64_t getBlock() const { return (bits >> 32 & blockMask) - 1; }
  bool isOfManyBlocks() const { return (bits >> 32 & blockMask) == manyBlocks; }
  bool isSameBlock(Stamp other) const {
    return ((bits ^ other.bits) >> 32 & blockMask) == 0;
  }
};

/// The accesses of one word, or of one byte.
struct Cell {
  Stamp write, read;
  const Op *writer = nullptr, *reader = nullptr;
};

/// A moment of a block: after `epoch` barriers, in a thread.
struct Moment {
  uint64_t thread = 0, epoch = 0;
};

/// For each block, up to when its accesses are visible.
using Releases = std::map<uint64_t, Moment>;

/// What orders a running block after others.
struct BlockOrder {
  /// For another block: what it released, and the fence that acquired it.
  std::map<uint64_t, std::pair<Moment, Moment>> acquired;
  std::map<uint64_t, Moment> fences;    ///< by thread, the last one
  std::map<uint64_t, Releases> atomics; ///< by thread, what a fence acquires

  void fence(Moment now);
  /// Whether an access of another block happens before one of `now`.
  bool isBefore(Stamp access, Moment now) const;
};

/// What atomic operations of a launch released, by address.
class ReleasedMemory {
public:
  void clear() { released.clear(); }
  /// An atomic operation of block `block`.
  void onAtomic(uint64_t address, uint64_t block, BlockOrder &order,
                Moment now);

private:
  std::unordered_map<uint64_t, Releases> released;
};

/// The cells of 4 KiB of memory: for words, or for bytes after an access of
/// less than a word.
struct CellPage {
  static constexpr uint64_t bytes = 4096;
  uint64_t launch = 0; ///< of the accesses; those of others count as none
  unsigned shift = 2;  ///< bytes of a cell, as a power of 2
  std::vector<Cell> cells;

  void clear(uint64_t ofLaunch, uint64_t size = bytes);
  /// Gives each byte the cell of its word.
  void divide();
};

} // namespace meshc::ptx

#endif // MESHC_TEST_GPU_PTX_ACCESSES_H
