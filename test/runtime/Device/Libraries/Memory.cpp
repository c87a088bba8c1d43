//===- Memory.cpp - memory that the host cannot reach ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeCuda.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace meshc;
using namespace meshc::fake;

namespace {

/// Set in addresses of GPUs: with it they are no addresses of the processor's.
constexpr uint64_t deviceBit = uint64_t(1) << 62;

struct Block {
  uint64_t bytes;
  int gpu; ///< -1: of the host
  Memory memory;
};

std::mutex mutex;
std::map<uint64_t, Block> blocks; ///< by address, as the runtime knows it
std::map<int, uint64_t> usedBytes;

void *allocate(uint64_t bytes, int gpu, Memory memory) {
  // Aligned as CUDA's, and of garbage.
  void *place = nullptr;
  if (posix_memalign(&place, 512, bytes ? bytes : 1) != 0)
    return nullptr;
  std::memset(place, 0xa7, bytes);
  uint64_t address = reinterpret_cast<uint64_t>(place);
  if (gpu >= 0)
    address |= deviceBit;
  blocks[address] = {bytes, gpu, memory};
  return reinterpret_cast<void *>(address);
}

void *find(const void *address, uint64_t bytes, int gpu, bool onDevice) {
  auto number = reinterpret_cast<uint64_t>(address);
  std::lock_guard<std::mutex> lock(mutex);
  auto after = blocks.upper_bound(number);
  if (after == blocks.begin())
    violate("an address is neither of a GPU nor of pinned memory");
  const auto &[begin, block] = *std::prev(after);
  if (number - begin > block.bytes || bytes > block.bytes - (number - begin))
    violate("an access of " + std::to_string(bytes) + " bytes is in no memory");
  if (block.gpu >= 0 && block.gpu != gpu)
    violate("GPU " + std::to_string(gpu) + " reaches for memory of GPU " +
            std::to_string(block.gpu));
  if (onDevice && block.gpu < 0)
    violate("memory of the host where that of a GPU is needed");
  return reinterpret_cast<void *>(number & ~deviceBit);
}

} // namespace

void *fake::allocateOn(int gpu, uint64_t bytes, Memory memory) {
  std::lock_guard<std::mutex> lock(mutex);
  if (usedBytes[gpu] + bytes > totalBytesOf(gpu))
    return nullptr;
  usedBytes[gpu] += bytes;
  return allocate(bytes, gpu, memory);
}

void *fake::allocatePinned(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocate(bytes, -1, Memory::Pinned);
}

void fake::releaseMemory(void *address, Memory memory) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = blocks.find(reinterpret_cast<uint64_t>(address));
  if (found == blocks.end() || found->second.memory != memory)
    violate("what is released was not allocated so");
  if (memory != Memory::Pinned)
    usedBytes[found->second.gpu] -= found->second.bytes;
  std::free(reinterpret_cast<void *>(found->first & ~deviceBit));
  blocks.erase(found);
}

cudaError_t fake::allocateHere(void **address, uint64_t bytes, Memory memory) {
  if (operationsUnderWay > 0)
    violate("memory is allocated while a collective is under way");
  *address = allocateOn(self().gpu, bytes, memory);
  if (!*address)
    return self().lastError = cudaErrorMemoryAllocation;
  ++self().held;
  return cudaSuccess;
}

uint64_t fake::totalBytesOf(int) {
  return static_cast<uint64_t>(setting("FAKE_CUDA_MEMORY", 1ll << 30));
}

uint64_t fake::freeBytesOf(int gpu) {
  std::lock_guard<std::mutex> lock(mutex);
  return totalBytesOf(gpu) - usedBytes[gpu];
}

void fake::changeUsedBytes(int gpu, int64_t by) {
  std::lock_guard<std::mutex> lock(mutex);
  usedBytes[gpu] += static_cast<uint64_t>(by);
}

void *fake::resolve(const void *address, uint64_t bytes, int gpu) {
  return find(address, bytes, gpu, /*onDevice=*/false);
}

void *fake::resolveDevice(const void *address, uint64_t bytes, int gpu) {
  return find(address, bytes, gpu, /*onDevice=*/true);
}

bool fake::findBlock(uint64_t address, int gpu, uint64_t &begin,
                     uint64_t &bytes, void *&host) {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin())
    return false;
  const auto &[first, block] = *std::prev(after);
  if (address - first >= block.bytes || (block.gpu >= 0 && block.gpu != gpu))
    return false;
  begin = first;
  bytes = block.bytes;
  host = reinterpret_cast<void *>(first & ~deviceBit);
  return true;
}

//===----------------------------------------------------------------------===//
// CUDA's functions
//===----------------------------------------------------------------------===//

extern "C" {

cudaError_t cudaMalloc(void **memory, size_t bytes) {
  note("cudaMalloc(bytes=%zu)", bytes);
  forbidInCapture("cudaMalloc");
  return allocateHere(memory, bytes, Memory::Plain);
}

cudaError_t cudaFree(void *memory) {
  note("cudaFree(%p)", memory);
  forbidInCapture("cudaFree");
  --self().held;
  releaseMemory(memory, Memory::Plain);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t bytes, unsigned flags) {
  note("cudaHostAlloc(bytes=%zu, flags=%u)", bytes, flags);
  forbidInCapture("cudaHostAlloc");
  if (flags != cudaHostAllocPortable)
    violate("pinned memory that not all GPUs of the process know");
  ++self().held;
  *memory = allocatePinned(bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void *memory) {
  note("cudaFreeHost(%p)", memory);
  forbidInCapture("cudaFreeHost");
  --self().held;
  releaseMemory(memory, Memory::Pinned);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  forbidInCapture("cudaMemGetInfo");
  *free = freeBytesOf(self().gpu);
  *total = totalBytesOf(self().gpu);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream) {
  note("cudaMemcpyAsync(%p, %p, bytes=%zu, kind=%d)", to, from, bytes, kind);
  if (kind != cudaMemcpyDefault)
    violate("a copy of a direction that the plugin does not ask for");
  // Addresses are looked at now, and again when the copy is done.
  const int gpu = self().gpu;
  auto copy = [=] {
    std::memcpy(resolve(to, bytes, gpu), resolve(from, bytes, gpu), bytes);
  };
  const auto *target = static_cast<const char *>(resolve(to, bytes, gpu));
  const auto *source = static_cast<const char *>(resolve(from, bytes, gpu));
  if (target < source + bytes && source < target + bytes)
    violate("a copy between ranges that overlap");
  enqueueCall(stream, copy, {{Activity::Copy, nullptr, 5000}});
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
                            cudaStream_t stream) {
  note("cudaMemsetAsync(%p, %d, bytes=%zu)", memory, value, bytes);
  const int gpu = self().gpu;
  resolveDevice(memory, bytes, gpu);
  enqueueCall(
      stream,
      [=] { std::memset(resolveDevice(memory, bytes, gpu), value, bytes); },
      {{Activity::Set, nullptr, 3000}});
  return cudaSuccess;
}
}
