//===- NcclMemory.cpp - memory for collectives by NCCL --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/NcclMemory.h"

#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/Device.h"

using namespace meshc::runtime;

const char *NcclMemory::allocate(uint64_t bytes, void **memory) {
  if (!isNccls)
    return cuda.allocate(gpu, bytes, memory);
  if (const char *error = cuda.ncclAllocate(gpu, bytes, memory))
    return error;
  groups.share(*memory, bytes);
  return nullptr;
}

const char *NcclMemory::allocateArena(uint64_t bytes, void **memory) {
  const char *error = isNccls ? allocate(bytes, &arena) : nullptr;
  *memory = arena;
  return error;
}

char *NcclMemory::findRooms(int64_t bytes) {
  if (bytes > lastBytes) {
    void *memory = nullptr;
    groups.whileIdle([&] {
      checkCuda(allocate(static_cast<uint64_t>(bytes), &memory),
                "allocate " + std::to_string(bytes) +
                    " bytes of the GPU for the blocks of collectives");
    });
    rooms.push_back(static_cast<char *>(memory));
    lastBytes = bytes;
    allBytes += bytes;
  }
  return rooms.back();
}

void NcclMemory::release() {
  auto releaseOne = [this](void *memory) {
    if (!isNccls)
      cuda.release(gpu, memory);
    else if (cuda.ncclRelease(gpu, memory))
      leaveWork();
  };
  for (char *room : rooms)
    releaseOne(room);
  rooms.clear();
  if (arena)
    releaseOne(arena);
  arena = nullptr;
}
