//===- RaceCheck.h - accesses of emulated threads that race -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Remembers, for each byte of workgroup and global memory, who last wrote and
/// read it in the current launch. Two accesses to one byte by different
/// threads, at least one of them a write, are a race unless something orders
/// them:
///
/// - within a block, a barrier between the two;
/// - between blocks, the fence protocol of "threadFenceReduction" (CUDA C++
///   Programming Guide, memory fence functions): the first thread's block
///   passes a barrier, one thread fences and does an atomic operation; a thread
///   of the other block does a later one at the same address and fences, and
///   its block passes a barrier;
/// - the end of a launch.
///
/// The accessing thread itself may perform both operations of the protocol in
/// place of the barriers. Two atomic operations do not race.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_RACECHECK_H
#define MESHC_RUNTIME_DEVICE_RACECHECK_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace meshc::runtime {

enum class AccessKind : int64_t { Read = 0, Write = 1, Atomic = 2 };

/// The thread that does something, and after how many barriers of its block.
struct Moment {
  uint32_t block = 0, thread = 0, epoch = 0;
};

/// For each block, up to when its actions are visible at an address or to a
/// block.
using Releases = std::map<uint32_t, Moment>;

/// What orders a running block after others.
struct BlockOrder {
  uint32_t number = 0;
  uint32_t epoch = 0; ///< barriers so far
  /// For another block: what it released, and the fence that acquired it.
  std::map<uint32_t, std::pair<Moment, Moment>> acquired;
  std::map<uint32_t, Moment> fences;    ///< by thread, the last one
  std::map<uint32_t, Releases> atomics; ///< by thread, what the next fence gets
};

/// The accesses of one launch at a time.
class RaceCheck {
public:
  /// Forgets all accesses: the previous launch has ended.
  void beginLaunch();
  /// Memory at these addresses belongs to a new block from now on.
  void forget(const void *address, int64_t bytes);
  /// Records an access of `bytes` bytes at a `place` in the model. Returns what
  /// it races with, as "…, which thread 3 of block 0 wrote at a.mesh:3:1", or
  /// nothing.
  std::optional<std::string> access(BlockOrder &block, uint32_t thread,
                                    const void *address, int64_t bytes,
                                    AccessKind kind, const char *place);
  static void fence(BlockOrder &block, uint32_t thread);

private:
  /// Who accessed a cell last, `many` if several did.
  struct Access {
    static constexpr uint32_t none = UINT32_MAX, many = UINT32_MAX - 1;
    uint32_t block = none;
    uint32_t thread : 12, epoch : 19, isAtomic : 1;
    const char *place = nullptr;
    Access() : thread(0), epoch(0), isAtomic(0) {}
  };
  struct Cell {
    uint64_t launch = 0; ///< of the accesses; those of others count as none
    Access write, read;
  };
  /// Cells of 4 KiB, in words as long as all accesses cover whole words.
  struct Page {
    int64_t cellBytes = 4;
    std::vector<Cell> cells;
  };
  static constexpr uint32_t manyThreads = 4095;

  Page &findPage(uintptr_t address, bool needsBytes);
  static bool isOrdered(const Access &before, const BlockOrder &block,
                        uint32_t thread);
  static std::optional<std::string> visit(Cell &cell, const BlockOrder &block,
                                          uint32_t thread, AccessKind kind,
                                          const char *place);
  void orderByAtomic(BlockOrder &block, uint32_t thread, uintptr_t address);

  uint64_t launch = 0;
  std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
  uintptr_t lastNumber = 0;
  Page *lastPage = nullptr;
  std::unordered_map<uintptr_t, Releases> released; ///< by atomics, by address
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_RACECHECK_H
