//===- NcclMemory.h - memory for collectives by NCCL ------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_DEVICE_NCCLMEMORY_H
#define MESHC_RUNTIME_DEVICE_NCCLMEMORY_H

#include "runtime/Device/NcclGroups.h"

#include <cstdint>
#include <vector>

namespace meshc::runtime {

/// GPU memory that collectives of a rank use: rooms for their blocks
/// (CollectiveRooms.h) and, if it is NCCL's own, the arena. All ranks allocate
/// the same at the same points of the program.
class NcclMemory {
public:
  /// `isNccls`: it comes from ncclAllocate, and all groups know it.
  NcclMemory(const MeshcCuda &cuda, MeshcCudaRank *gpu, NcclGroups &groups,
             bool isNccls)
      : cuda(cuda), gpu(gpu), groups(groups), isNccls(isNccls) {}

  /// As CudaCollectives::allocateArena.
  const char *allocateArena(uint64_t bytes, void **memory);

  /// At least `bytes` of memory, which no collective in progress uses. Graphs
  /// keep the addresses that they were captured with, so no room is freed
  /// before the end. Rooms grow in a function's first run, which is not
  /// captured, on all ranks alike.
  char *findRooms(int64_t bytes);
  /// Of all rooms.
  int64_t roomBytes() const { return allBytes; }

  /// Once the groups are closed.
  void release();

private:
  const char *allocate(uint64_t bytes, void **memory);

  const MeshcCuda &cuda;
  MeshcCudaRank *gpu;
  NcclGroups &groups;
  bool isNccls;
  void *arena = nullptr;
  std::vector<char *> rooms; ///< the last one is in use
  int64_t lastBytes = 0, allBytes = 0;
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_DEVICE_NCCLMEMORY_H
