//===- AvailableMemory.h - how much memory a run may take ------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the machine, its control groups (cgroups) and the limits of the process
/// leave for a run, and the check before it begins.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_AVAILABLEMEMORY_H
#define MESHC_RUNTIME_BASE_AVAILABLEMEMORY_H

#include "runtime/Base/Failure.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace meshc::runtime {

/// Bytes that can still be had, and what limits them.
struct AvailableMemory {
  int64_t bytes = INT64_MAX; ///< ≥ 0; INT64_MAX: nothing is known
  std::string limit;         ///< as in "the machine's memory"

  /// The smaller of the two.
  void restrict(int64_t other, const std::string &otherLimit);
};

/// Where the system's files lie; another place in tests.
struct MemoryFiles {
  std::string proc = "/proc", cgroups = "/sys/fs/cgroup";
};

/// What all processes of this host together can still get: the memory that is
/// free or can be reclaimed, within the control groups of this process and
/// those around them (versions 1 and 2, cgroups(7)).
AvailableMemory availableOnHost(const MemoryFiles &files = {});

/// What this process can still get: RLIMIT_AS and RLIMIT_DATA less what it has.
AvailableMemory availableToProcess(const MemoryFiles &files = {});

/// The smaller of the two: what one allocation may take.
AvailableMemory availableMemory();

/// Memory that a run is about to take.
struct MemoryNeed {
  int64_t bytesPerRank;
  int64_t ranksHere;   ///< of this process
  int64_t ranksOnHost; ///< of all processes of this host
  /// Beside that of every rank, if this process runs rank 0.
  int64_t bytesOfRankZero = 0;
  /// Further ways to need less, each as in "leave out '--log'".
  std::vector<std::string> savings{};
  /// Address space of this process beside that of its ranks: of libraries that
  /// take it when they are first used. It is not memory, until it is written.
  int64_t bytesOfLibraries = 0;
};

/// Throws Failure(Internal) if there is too little; the message has all
/// figures, what limits them, and how to get more.
void checkMemory(const MemoryNeed &need, const MemoryFiles &files = {});

/// The failure (Internal) of `action`, as in "map 8 bytes", which the system
/// refused for lack of memory: with what is left, and what limits it.
Failure tooLittleMemory(const std::string &action,
                        const MemoryFiles &files = {});

/// Lets all threads of the process share one heap if RLIMIT_AS limits its
/// address space (mallopt(3), M_ARENA_MAX). Otherwise the C library reserves 64
/// to 128 MiB of it for each thread that allocates, as long as there is room.
/// What is left for others then depends on the order of the threads.
void shareHeapWithinLimit();

/// Whether the dynamic linker's message says that there was too little memory.
bool meansTooLittleMemory(const std::string &linkerError);

/// Why the system did not start `threads`, as in "a thread", if a stack finds
/// no room within the limits of the process: tooLittleMemory(). Null if it
/// does. The system has one error for this and for too many threads.
std::optional<Failure> noRoomForStacks(const std::string &threads);

/// "215323648 bytes (205.3 MiB)"
std::string describeBytes(int64_t bytes);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_AVAILABLEMEMORY_H
