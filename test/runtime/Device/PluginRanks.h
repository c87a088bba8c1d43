//===- PluginRanks.h - ranks that use the CUDA plugin ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_RUNTIME_DEVICE_PLUGINRANKS_H
#define MESHC_TEST_RUNTIME_DEVICE_PLUGINRANKS_H

#include "runtime/Device/CudaPlugin.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

namespace meshc::test {

/// The plugin, on fake libraries.
inline const MeshcCuda &plugin() {
  static const MeshcCuda *table = [] {
    void *library = dlopen(CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<MeshcCudaPluginFunction>(
        dlsym(library, "meshc_cuda_plugin"))();
  }();
  return *table;
}

inline std::string text(const char *error) { return error ? error : ""; }

#define EXPECT_OK(call) EXPECT_EQ(text(call), "")

/// A rank, and the operations that tests perform with it.
class Gpu {
public:
  explicit Gpu(int number = 0) {
    uint64_t free = 0;
    EXPECT_OK(plugin().open(number, workspace, &rank, &free));
    void *place = nullptr;
    EXPECT_OK(plugin().allocateHost(rank, pinnedBytes, &place));
    pinned = static_cast<float *>(place);
    EXPECT_OK(plugin().newEvent(rank, &event));
  }
  ~Gpu() {
    for (void *memory : memories)
      plugin().release(rank, memory);
    plugin().releaseHost(rank, pinned);
    plugin().dropEvent(rank, event);
    plugin().close(rank);
  }
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  operator MeshcCudaRank *() const { return rank; }

  float *allocate(size_t count) {
    void *memory = nullptr;
    EXPECT_OK(plugin().allocate(rank, count * sizeof(float), &memory));
    memories.push_back(memory);
    return static_cast<float *>(memory);
  }
  float *make(const std::vector<float> &values) {
    float *memory = allocate(values.size());
    std::copy(values.begin(), values.end(), pinned);
    EXPECT_OK(plugin().copy(rank, MESHC_CUDA_COMPUTE, memory, pinned,
                            values.size() * sizeof(float)));
    finish(MESHC_CUDA_COMPUTE);
    return memory;
  }
  std::vector<float> get(const float *memory, size_t count) {
    EXPECT_OK(plugin().copy(rank, MESHC_CUDA_COMPUTE, pinned, memory,
                            count * sizeof(float)));
    finish(MESHC_CUDA_COMPUTE);
    return {pinned, pinned + count};
  }
  void finish(MeshcCudaStream stream) {
    EXPECT_OK(plugin().record(rank, event, stream));
    for (int done = 0; !done;)
      ASSERT_EQ(text(plugin().query(rank, event, &done)), "");
  }
  void *anEvent() const { return event; }
  float *host() const { return pinned; }

private:
  static constexpr uint64_t workspace = 1 << 20, pinnedBytes = 1 << 16;
  MeshcCudaRank *rank = nullptr;
  float *pinned = nullptr;
  void *event = nullptr;
  std::vector<void *> memories;
};

/// Runs `action(gpu, number)` on ranks that are threads, each with a GPU.
inline void onRanks(int count, const std::function<void(Gpu &, int)> &action) {
  setenv("FAKE_CUDA_GPUS", std::to_string(count).c_str(), 1);
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number)
    threads.emplace_back([&action, number] {
      Gpu gpu(number);
      action(gpu, number);
    });
  for (std::thread &thread : threads)
    thread.join();
  unsetenv("FAKE_CUDA_GPUS");
}

/// Waits until the group is not busy.
inline void settle(void *group) {
  for (int busy = 1; busy;)
    ASSERT_EQ(text(plugin().ncclPoll(group, &busy)), "");
}

struct Identity {
  char bytes[MESHC_CUDA_NCCL_ID_BYTES] = {};
  Identity() { EXPECT_OK(plugin().ncclId(bytes)); }
};

inline void *openGroup(Gpu &gpu, const Identity &id, int size, int index) {
  void *group = nullptr;
  EXPECT_OK(plugin().ncclOpen(gpu, id.bytes, size, index, &group));
  settle(group);
  return group;
}

/// The sum of a number of each member, which `place` gets. No memory is
/// allocated beside other ranks' operations.
inline float sumOf(Gpu &gpu, void *group, float *place, float value) {
  *gpu.host() = value;
  EXPECT_OK(plugin().copy(gpu, MESHC_CUDA_COMPUTE, place, gpu.host(), 4));
  gpu.finish(MESHC_CUDA_COMPUTE);
  EXPECT_OK(plugin().ncclBegin());
  EXPECT_OK(plugin().ncclAllReduce(gpu, group, place, place, 1, MESHC_F32,
                                   MESHC_SUM));
  EXPECT_OK(plugin().ncclEnd());
  settle(group);
  gpu.finish(MESHC_CUDA_COMMUNICATION);
  return gpu.get(place, 1)[0];
}

/// `action` with `gpu`, a rank, ends the process with that message.
#define EXPECT_VIOLATION(action, rule)                                         \
  EXPECT_DEATH(                                                                \
      {                                                                        \
        Gpu gpu;                                                               \
        action;                                                                \
      },                                                                       \
      rule)

} // namespace meshc::test

#endif // MESHC_TEST_RUNTIME_DEVICE_PLUGINRANKS_H
