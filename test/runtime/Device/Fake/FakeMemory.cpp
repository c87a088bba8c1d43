//===- FakeMemory.cpp - memory that the host cannot reach -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "FakeGpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

using namespace meshc;

namespace {

/// Set in addresses of GPUs: with it they are no addresses of the processor's.
constexpr uint64_t deviceBit = uint64_t(1) << 62;

struct Block {
  uint64_t bytes;
  int gpu; ///< -1: pinned memory of the host
};

std::mutex mutex;
std::map<uint64_t, Block> blocks; ///< by address, as the runtime knows it
std::map<int, uint64_t> usedBytes;

uint64_t totalBytes() {
  return static_cast<uint64_t>(fake::setting("FAKE_CUDA_MEMORY", 1ll << 30));
}

void *allocate(uint64_t bytes, int gpu) {
  // Aligned as CUDA's, and of garbage.
  void *memory = nullptr;
  if (posix_memalign(&memory, 512, bytes ? bytes : 1) != 0)
    return nullptr;
  std::memset(memory, 0xa7, bytes);
  uint64_t address = reinterpret_cast<uint64_t>(memory);
  if (gpu >= 0)
    address |= deviceBit;
  blocks[address] = {bytes, gpu};
  return reinterpret_cast<void *>(address);
}

} // namespace

void fake::violate(const std::string &rule) {
  std::fprintf(stderr, "fake CUDA: %s\n", rule.c_str());
  std::fflush(stderr);
  std::abort();
}

const char *fake::say(const std::string &text) {
  static thread_local std::string kept;
  kept = text;
  return kept.c_str();
}

long long fake::setting(const char *name, long long otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

void *fake::allocateOn(int gpu, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (usedBytes[gpu] + bytes > totalBytes())
    return nullptr;
  usedBytes[gpu] += bytes;
  return allocate(bytes, gpu);
}

void *fake::allocatePinned(uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  return allocate(bytes, -1);
}

void fake::releaseMemory(void *address, bool pinned) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = blocks.find(reinterpret_cast<uint64_t>(address));
  if (found == blocks.end() || (found->second.gpu < 0) != pinned)
    violate("what is released was not allocated so");
  if (!pinned)
    usedBytes[found->second.gpu] -= found->second.bytes;
  std::free(reinterpret_cast<void *>(found->first & ~deviceBit));
  blocks.erase(found);
}

uint64_t fake::freeBytesOf(int gpu) {
  std::lock_guard<std::mutex> lock(mutex);
  return totalBytes() - usedBytes[gpu];
}

void fake::takeFor(MeshcCudaRank *rank, const void *what, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (rank->taken.emplace(what, bytes).second)
    usedBytes[rank->gpu] += bytes;
}

void fake::releaseTaken(MeshcCudaRank *rank) {
  std::lock_guard<std::mutex> lock(mutex);
  for (const auto &entry : rank->taken)
    usedBytes[rank->gpu] -= entry.second;
}

void *fake::resolve(const void *address, uint64_t bytes, int gpu) {
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
  return reinterpret_cast<void *>(number & ~deviceBit);
}
