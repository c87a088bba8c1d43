//===- FakePlugin.cpp - libmeshc_cuda.so without CUDA ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

using namespace meshc::fake;

namespace {

/// Ranks that are open when the process takes the library down. What they have
/// under way would go on beside that.
struct OpenRanks {
  std::atomic<int> count{0};
  ~OpenRanks() {
    if (count > 0)
      violate("the process ends its libraries while a rank is at work");
  }
} openRanks;

const char *system(MeshcCudaSystem *system) {
  *system = {};
  system->driver = 13000;
  system->runtime = 13000;
  system->gpus = static_cast<int>(setting("FAKE_CUDA_GPUS", 1));
  // "0", "0,3": as CUDA, which numbers those that are named anew.
  if (const char *visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    system->gpus = std::min(
        system->gpus, 1 + static_cast<int>(std::count(
                              visible, visible + std::strlen(visible), ',')));
  if (system->gpus == 0)
    std::strcpy(system->reason, "no CUDA-capable device is there");
  system->absent = system->gpus == 0;
  if (setting("FAKE_CUDA_REFUSES", 0)) {
    system->gpus = system->absent = 0;
    std::strcpy(system->reason, "the driver is older than the runtime");
  }
  return nullptr;
}

const char *describe(int gpu, MeshcCudaGpu *description) {
  *description = {};
  std::strcpy(description->name, "fake");
  description->chip = static_cast<uint32_t>(setting("FAKE_CUDA_CHIP", 90));
  description->totalBytes = freeBytesOf(gpu);
  description->identity = 1000 + static_cast<uint64_t>(gpu);
  return nullptr;
}

const char *open(int gpu, uint64_t workspaceBytes, MeshcCudaRank **made,
                 uint64_t *freeBytes) {
  *freeBytes = freeBytesOf(gpu);
  if (workspaceBytes > *freeBytes)
    return say("out of memory (cudaErrorMemoryAllocation)");
  auto *rank = new MeshcCudaRank;
  rank->gpu = gpu;
  rank->random.seed(static_cast<unsigned>(setting("FAKE_CUDA_SEED", 1)) * 64 +
                    static_cast<unsigned>(gpu));
  takeFor(rank, rank, workspaceBytes);
  *made = rank;
  ++openRanks.count;
  return nullptr;
}

void close(MeshcCudaRank *rank) {
  if (rank->held != 0)
    violate(std::to_string(rank->held) + " memories, events or graphs are held "
                                         "at the end");
  if (rank->traced)
    violate("a trace is open at the end");
  --openRanks.count;
  releaseTaken(rank);
  delete rank;
}

const char *freeMemory(MeshcCudaRank *rank, uint64_t *bytes) {
  *bytes = freeBytesOf(rank->gpu);
  return nullptr;
}

const char *allocate(MeshcCudaRank *rank, uint64_t bytes, void **memory) {
  if (rank->capture)
    violate("memory is allocated during a capture");
  if (operationsUnderWay > 0)
    violate("memory is allocated while a collective is under way");
  *memory = allocateOn(rank->gpu, bytes);
  if (!*memory)
    return say("out of memory (cudaErrorMemoryAllocation)");
  ++rank->held;
  return nullptr;
}

void release(MeshcCudaRank *rank, void *memory) {
  --rank->held;
  releaseMemory(memory, /*pinned=*/false);
}

const char *allocateHost(MeshcCudaRank *rank, uint64_t bytes, void **memory) {
  if (rank->capture)
    violate("memory is allocated during a capture");
  ++rank->held;
  *memory = allocatePinned(bytes);
  return nullptr;
}

void releaseHost(MeshcCudaRank *rank, void *memory) {
  --rank->held;
  releaseMemory(memory, /*pinned=*/true);
}

} // namespace

extern "C" const MeshcCuda *meshc_cuda_plugin(void) {
  static const MeshcCuda table = [] {
    MeshcCuda made = {};
    made.version = MESHC_CUDA_PLUGIN_VERSION;
    made.system = system;
    made.describe = describe;
    made.open = open;
    made.close = close;
    made.freeMemory = freeMemory;
    made.allocate = allocate;
    made.release = release;
    made.allocateHost = allocateHost;
    made.releaseHost = releaseHost;
    addStreams(made);
    addKernels(made);
    addProducts(made);
    addNccl(made);
    addTrace(made);
    return made;
  }();
  return &table;
}
