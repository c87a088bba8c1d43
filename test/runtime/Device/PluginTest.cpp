//===- PluginTest.cpp - the CUDA plugin on fake libraries -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tests the plugin's functions, and that the fake libraries end the process if
/// CUDA's rules are broken: only then does a test on them mean something.
///
//===----------------------------------------------------------------------===//
#include "runtime/Device/CudaPlugin.h"

#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace {

const MeshcCuda &plugin() {
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

std::string text(const char *error) { return error ? error : ""; }

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
void onRanks(int count, const std::function<void(Gpu &, int)> &action) {
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
void settle(void *group) {
  for (int busy = 1; busy;)
    ASSERT_EQ(text(plugin().ncclPoll(group, &busy)), "");
}

struct Identity {
  char bytes[MESHC_CUDA_NCCL_ID_BYTES] = {};
  Identity() { EXPECT_OK(plugin().ncclId(bytes)); }
};

void *openGroup(Gpu &gpu, const Identity &id, int size, int index) {
  void *group = nullptr;
  EXPECT_OK(plugin().ncclOpen(gpu, id.bytes, size, index, &group));
  settle(group);
  return group;
}

/// The sum of a number of each member, which `place` gets. No memory is
/// allocated beside other ranks' operations.
float sumOf(Gpu &gpu, void *group, float *place, float value) {
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

MeshcGemm square(int64_t size) {
  MeshcGemm gemm = {};
  gemm.m = gemm.n = gemm.k = size;
  gemm.lda = gemm.ldb = gemm.ldc = size;
  gemm.batch = 1;
  return gemm;
}

/// C = A · B of 2 x 2, and who computed it.
std::vector<float> multiply(Gpu &gpu, MeshcCudaWay &way) {
  float *a = gpu.make({1, 2, 3, 4}), *b = gpu.make({5, 6, 7, 8});
  float *c = gpu.allocate(4);
  MeshcGemm gemm = square(2);
  EXPECT_OK(
      plugin().multiply(gpu, &gemm, nullptr, MESHC_CUDA_EXACT, a, b, c, &way));
  return gpu.get(c, 4);
}

const std::vector<float> product = {19, 22, 43, 50};

#define EXPECT_VIOLATION(action, rule)                                         \
  EXPECT_DEATH(                                                                \
      {                                                                        \
        Gpu gpu;                                                               \
        action;                                                                \
      },                                                                       \
      rule)

} // namespace

TEST(Plugin, multipliesByCublas) {
  Gpu gpu;
  MeshcCudaWay way = MESHC_CUDA_NOBODY;
  EXPECT_EQ(multiply(gpu, way), product);
  EXPECT_EQ(way, MESHC_CUDA_CUBLAS);
}

/// Whether the heuristic or the call refuses: the plugin's own kernel does it.
TEST(Plugin, multipliesWhatCublasRefuses) {
  for (const char *refusal : {"heuristic", "value", "call"}) {
    setenv("FAKE_CUBLAS_REFUSES", refusal, 1);
    Gpu gpu;
    for (int time = 0; time < 2; ++time) {
      MeshcCudaWay way = MESHC_CUDA_NOBODY;
      EXPECT_EQ(multiply(gpu, way), product) << refusal;
      EXPECT_EQ(way, MESHC_CUDA_OWN_KERNEL) << refusal;
    }
  }
  unsetenv("FAKE_CUBLAS_REFUSES");
}

TEST(Plugin, writesEveryCallWithItsArguments) {
  std::string path = testing::TempDir() + "calls.log";
  EXPECT_EXIT(
      {
        setenv("FAKE_CUDA_LOG", path.c_str(), 1);
        {
          Gpu gpu;
          MeshcCudaWay way = MESHC_CUDA_NOBODY;
          multiply(gpu, way);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::string log;
  if (std::FILE *file = std::fopen(path.c_str(), "r")) {
    char part[4096];
    while (size_t count = std::fread(part, 1, sizeof(part), file))
      log.append(part, count);
    std::fclose(file);
  }
  for (const char *line :
       {"cudaSetDevice(0)\n", "cudaMalloc(bytes=1048576)\n",
        "cublasLtMatrixLayoutCreate(type=0, rows=2, cols=2, ld=2)\n",
        "cublasLtMatmul(m=2, n=2, epilogue=1, A="})
    EXPECT_NE(log.find(line), std::string::npos) << line << " in\n" << log;
}

//===----------------------------------------------------------------------===//
// NCCL
//===----------------------------------------------------------------------===//

/// NCCL makes a group of a split after the call for it has returned.
TEST(Plugin, waitsForTheGroupOfASplit) {
  Identity id;
  onRanks(4, [&](Gpu &gpu, int number) {
    float *place = gpu.allocate(1);
    void *world = openGroup(gpu, id, 4, number), *part = nullptr;
    EXPECT_OK(plugin().ncclSplit(gpu, world, number % 2, number / 2, &part));
    // Of the two, the part may be asked first.
    int busy = 0;
    EXPECT_OK(plugin().ncclPoll(part, &busy));
    EXPECT_TRUE(busy);
    settle(world);
    settle(part);
    auto value = static_cast<float>(number);
    EXPECT_EQ(sumOf(gpu, world, place, value), 6);
    EXPECT_EQ(sumOf(gpu, part, place, value), number % 2 ? 4 : 2);
    EXPECT_OK(plugin().ncclClose(part));
    EXPECT_OK(plugin().ncclClose(world));
  });
}

/// Blocks of all to all, by sends and receives.
TEST(Plugin, sendsAndReceives) {
  Identity id;
  onRanks(3, [&](Gpu &gpu, int number) {
    auto first = static_cast<float>(10 * number);
    float *from = gpu.make({first, first + 1, first + 2});
    float *to = gpu.allocate(3);
    void *world = openGroup(gpu, id, 3, number);
    EXPECT_OK(plugin().ncclBegin());
    for (int peer = 0; peer < 3; ++peer) {
      EXPECT_OK(plugin().ncclSend(gpu, world, from + peer, 4, peer));
      EXPECT_OK(plugin().ncclReceive(gpu, world, to + peer, 4, peer));
    }
    EXPECT_OK(plugin().ncclEnd());
    settle(world);
    gpu.finish(MESHC_CUDA_COMMUNICATION);
    auto own = static_cast<float>(number);
    EXPECT_EQ(gpu.get(to, 3), (std::vector<float>{own, 10 + own, 20 + own}));
    EXPECT_OK(plugin().ncclClose(world));
  });
}

namespace {
/// In a group of one rank: `calls(gpu, group, memory)` within one operation, on
/// 16 numbers.
void operate(Gpu &gpu,
             const std::function<void(void *group, float *memory)> &calls) {
  Identity id;
  void *group = openGroup(gpu, id, 1, 0);
  float *memory = gpu.make(std::vector<float>(16, 1));
  EXPECT_OK(plugin().ncclBegin());
  calls(group, memory);
  EXPECT_OK(plugin().ncclEnd());
  settle(group);
  gpu.finish(MESHC_CUDA_COMMUNICATION);
  EXPECT_OK(plugin().ncclClose(group));
}
} // namespace

TEST(Plugin, takesBuffersInPlace) {
  Gpu gpu;
  operate(gpu, [&](void *group, float *memory) {
    EXPECT_OK(plugin().ncclAllReduce(gpu, group, memory, memory, 4, MESHC_F32,
                                     MESHC_SUM));
    EXPECT_OK(plugin().ncclAllGather(gpu, group, memory + 4, memory + 4, 16));
    EXPECT_OK(plugin().ncclReduceScatter(gpu, group, memory + 8, memory + 8, 4,
                                         MESHC_F32, MESHC_SUM));
  });
}

TEST(PluginDeathTest, buffersOfNcclDoNotOverlap) {
  auto overlap = [](Gpu &gpu, int kind) {
    operate(gpu, [&](void *group, float *memory) {
      if (kind == 0)
        plugin().ncclAllReduce(gpu, group, memory, memory + 1, 4, MESHC_F32,
                               MESHC_SUM);
      else if (kind == 1)
        plugin().ncclAllGather(gpu, group, memory + 1, memory, 8);
      else
        plugin().ncclSend(gpu, group, memory, 16, 0);
      if (kind == 2)
        plugin().ncclReceive(gpu, group, memory + 2, 16, 0);
    });
  };
  EXPECT_VIOLATION(overlap(gpu, 0), "receives over what it sends");
  EXPECT_VIOLATION(overlap(gpu, 1), "receives over what it sends");
  EXPECT_VIOLATION(overlap(gpu, 2), "write and use one place");
}

TEST(PluginDeathTest, ncclDoesNotReduceWhatItRounds) {
  auto reduce = [](Gpu &gpu, MeshcType type, MeshcReduction reduction) {
    operate(gpu, [&](void *group, float *memory) {
      plugin().ncclAllReduce(gpu, group, memory, memory, 4, type, reduction);
    });
  };
  EXPECT_VIOLATION(reduce(gpu, MESHC_BF16, MESHC_SUM), "rounds 16 bits");
  EXPECT_VIOLATION(reduce(gpu, MESHC_F32, MESHC_MAX), "drop NaN");
}

//===----------------------------------------------------------------------===//
// Memory and order
//===----------------------------------------------------------------------===//

namespace {
void combine(Gpu &gpu, const void *from, void *to) {
  MeshcCudaCombine order = {};
  order.sourceCount = order.destinationCount = 1;
  order.count = 4;
  order.sources[0] = {const_cast<void *>(from), INT64_MAX, 0};
  order.destinations[0] = {to, INT64_MAX, 0};
  EXPECT_OK(plugin().combine(gpu, MESHC_CUDA_COMPUTE, &order));
  gpu.finish(MESHC_CUDA_COMPUTE);
}
} // namespace

TEST(PluginDeathTest, memoriesAreNotMixed) {
  static float plain[4];
  EXPECT_VIOLATION(combine(gpu, gpu.host(), gpu.allocate(4)),
                   "memory of the host where that of a GPU is needed");
  EXPECT_VIOLATION(plugin().copy(gpu, MESHC_CUDA_COPY, gpu.allocate(4), plain,
                                 sizeof(plain)),
                   "neither of a GPU nor of pinned memory|in no memory");
  EXPECT_VIOLATION(combine(gpu, gpu.allocate(3), gpu.allocate(4)),
                   "an access of 16 bytes is in no memory");
  EXPECT_VIOLATION(
      {
        void *memory = nullptr;
        EXPECT_OK(plugin().allocate(gpu, 16, &memory));
        plugin().zero(gpu, MESHC_CUDA_COMPUTE, memory, 16);
        plugin().release(gpu, memory);
        gpu.finish(MESHC_CUDA_COMPUTE);
      },
      "in no memory|neither of a GPU");
}

TEST(PluginDeathTest, hostCannotFollowAddressesOfGpus) {
  EXPECT_DEATH(
      {
        Gpu gpu;
        *static_cast<volatile float *>(gpu.allocate(1)) = 1;
      },
      "");
}

TEST(PluginDeathTest, eventsAndGraphsLive) {
  EXPECT_VIOLATION(
      {
        void *event = nullptr;
        EXPECT_OK(plugin().newEvent(gpu, &event));
        plugin().dropEvent(gpu, event);
        plugin().record(gpu, event, MESHC_CUDA_COMPUTE);
      },
      "an event is used that does not exist");
  EXPECT_VIOLATION(
      {
        void *event = nullptr;
        EXPECT_OK(plugin().newEvent(gpu, &event));
      },
      "are held at the end");
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// A graph does its work each time, with the addresses and values of the
/// capture, and nothing at the capture.
TEST(Plugin, replaysAGraph) {
  Gpu gpu;
  float *from = gpu.make({1, 2, 3, 4}), *to = gpu.make({0, 0, 0, 0});
  combine(gpu, from, to); // the first use
  EXPECT_OK(plugin().zero(gpu, MESHC_CUDA_COMPUTE, to, 16));
  gpu.finish(MESHC_CUDA_COMPUTE);
  EXPECT_OK(plugin().beginCapture(gpu));
  MeshcCudaCombine order = {};
  order.sourceCount = order.destinationCount = 1;
  order.count = 4;
  order.sources[0] = {from, INT64_MAX, 0};
  order.destinations[0] = {to, INT64_MAX, 0};
  EXPECT_OK(plugin().combine(gpu, MESHC_CUDA_COMPUTE, &order));
  order = {};
  void *graph = nullptr;
  EXPECT_OK(plugin().endCapture(gpu, &graph));
  EXPECT_EQ(gpu.get(to, 4), std::vector<float>(4, 0));
  for (int time = 0; time < 2; ++time) {
    EXPECT_OK(plugin().zero(gpu, MESHC_CUDA_COMPUTE, to, 16));
    EXPECT_OK(plugin().launchGraph(gpu, graph));
    EXPECT_EQ(gpu.get(to, 4), (std::vector<float>{1, 2, 3, 4}));
  }
  plugin().dropGraph(gpu, graph);
}

namespace {
/// `call` is made within a capture, with two arrays of 16 numbers.
using Captured = void (*)(Gpu &gpu, float *a, float *b);
void capture(Captured call) {
  Gpu gpu;
  float *a = gpu.make(std::vector<float>(16, 1));
  float *b = gpu.make(std::vector<float>(16, 1));
  EXPECT_OK(plugin().beginCapture(gpu));
  call(gpu, a, b);
}
void expectForbidden(Captured call, const std::string &rule) {
  EXPECT_DEATH(capture(call), rule);
}
} // namespace

TEST(PluginDeathTest, capturesOnlyOrderWork) {
  expectForbidden(
      [](Gpu &gpu, float *, float *) {
        int done = 0;
        plugin().query(gpu, gpu.anEvent(), &done);
      },
      "cudaEventQuery during a capture");
  expectForbidden([](Gpu &gpu, float *, float *) { gpu.allocate(4); },
                  "cudaMalloc during a capture");
  expectForbidden([](Gpu &gpu, float *a, float *) { plugin().release(gpu, a); },
                  "cudaFree during a capture");
  expectForbidden([](Gpu &gpu, float *,
                     float *) { plugin().dropEvent(gpu, gpu.anEvent()); },
                  "cudaEventDestroy during a capture");
  expectForbidden(
      [](Gpu &gpu, float *, float *) {
        uint64_t bytes = 0;
        plugin().freeMemory(gpu, &bytes);
      },
      "cudaMemGetInfo during a capture");
  expectForbidden(
      [](Gpu &gpu, float *a, float *b) {
        MeshcGemm gemm = square(4);
        MeshcCudaWay way = MESHC_CUDA_NOBODY;
        plugin().multiply(gpu, &gemm, nullptr, MESHC_CUDA_EXACT, a, a, b, &way);
      },
      "cublasLt is made during a capture");
  expectForbidden([](Gpu &gpu, float *a, float *b) { combine(gpu, a, b); },
                  "cudaLibraryGetKernel during a capture");
  expectForbidden(
      [](Gpu &gpu, float *a, float *) {
        plugin().zero(gpu, MESHC_CUDA_COMMUNICATION, a, 16);
      },
      "a stream gets work that does not belong to it");
  expectForbidden(
      [](Gpu &gpu, float *, float *) { plugin().beginCapture(gpu); },
      "begins within another");
}

/// Ranks that do not arrive at a group's end are waited for once, and no
/// further call may wait for them again. This is the last test: nothing is
/// waited for afterwards.
TEST(Plugin, leavesGroupsThatDoNotEnd) {
  EXPECT_EXIT(
      {
        // What is left behind is the process' end.
        auto *gpu = new Gpu;
        Identity ids[3];
        void *groups[3];
        for (int i = 0; i < 3; ++i)
          groups[i] = openGroup(*gpu, ids[i], 1, 0);
        setenv("FAKE_NCCL_NO_END", "1", 1);
        auto begin = std::chrono::steady_clock::now();
        for (void *group : groups)
          if (!plugin().ncclClose(group))
            std::_Exit(1);
        bool isLong =
            std::chrono::steady_clock::now() - begin > std::chrono::seconds(60);
        std::_Exit(isLong ? 2 : 0);
      },
      testing::ExitedWithCode(0), "");
}
