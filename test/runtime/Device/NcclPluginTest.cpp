//===- NcclPluginTest.cpp - NCCL by the CUDA plugin, on fakes -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "test/runtime/Device/PluginRanks.h"

#include <atomic>
#include <chrono>

using namespace meshc::test;

/// NCCL makes a group of a split after the call for it has returned.
TEST(NcclPlugin, waitsForTheGroupOfASplit) {
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
TEST(NcclPlugin, sendsAndReceives) {
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

TEST(NcclPlugin, takesBuffersInPlace) {
  Gpu gpu;
  operate(gpu, [&](void *group, float *memory) {
    EXPECT_OK(plugin().ncclAllReduce(gpu, group, memory, memory, 4, MESHC_F32,
                                     MESHC_SUM));
    EXPECT_OK(plugin().ncclAllGather(gpu, group, memory + 4, memory + 4, 16));
    EXPECT_OK(plugin().ncclReduceScatter(gpu, group, memory + 8, memory + 8, 4,
                                         MESHC_F32, MESHC_SUM));
  });
}

namespace {
/// NCCL's memory of `bytes` bytes on `gpu`, which `group` knows.
class Registered {
public:
  Registered(Gpu &gpu, void *group, uint64_t bytes) : gpu(gpu), group(group) {
    EXPECT_OK(plugin().ncclAllocate(gpu, bytes, &memory));
    EXPECT_OK(plugin().ncclRegister(group, memory, bytes, &registration));
  }
  ~Registered() {
    EXPECT_OK(plugin().ncclUnregister(group, registration));
    EXPECT_OK(plugin().ncclRelease(gpu, memory));
  }
  Registered(const Registered &) = delete;
  Registered &operator=(const Registered &) = delete;
  float *place() const { return static_cast<float *>(memory); }

private:
  Gpu &gpu;
  void *group, *memory = nullptr, *registration = nullptr;
};
} // namespace

namespace {
/// Sums 1 and 2 on two ranks, at `places` of their registered memories.
void sumRegistered(const std::vector<int> &places) {
  Identity id;
  std::atomic<int> ready{0};
  onRanks(2, [&](Gpu &gpu, int number) {
    void *world = openGroup(gpu, id, 2, number);
    {
      Registered memory(gpu, world, 64);
      // No memory is registered beside another rank's operation.
      for (++ready; ready < 2;)
        std::this_thread::yield();
      EXPECT_EQ(sumOf(gpu, world, memory.place() + places[number],
                      static_cast<float>(number + 1)),
                3);
    }
    EXPECT_OK(plugin().ncclClose(world));
  });
}
} // namespace

TEST(NcclPlugin, registersMemoryWithGroups) { sumRegistered({3, 3}); }

TEST(NcclPluginDeathTest, registeredMemoryIsUsedByAllAlike) {
  auto use = [](Gpu &gpu, const std::function<void(void *, float *)> &action) {
    Identity id;
    void *group = openGroup(gpu, id, 1, 0);
    auto *memory = new Registered(gpu, group, 64); // the violation is the end
    action(group, memory->place());
    settle(group);
    gpu.finish(MESHC_CUDA_COMMUNICATION);
  };
  auto gather = [&use](Gpu &gpu, int64_t bytes) {
    use(gpu, [&](void *group, float *place) {
      EXPECT_OK(plugin().ncclBegin());
      EXPECT_OK(
          plugin().ncclAllGather(gpu, group, place, gpu.allocate(16), bytes));
      EXPECT_OK(plugin().ncclEnd());
    });
  };
  EXPECT_VIOLATION(gather(gpu, 16), "mixes registered and other memory");
  EXPECT_VIOLATION(
      use(gpu, [&](void *group, float *) { plugin().ncclClose(group); }),
      "still has registered memory");
  EXPECT_VIOLATION(
      use(gpu, [&](void *, float *place) { plugin().ncclRelease(gpu, place); }),
      "that a group still knows");
  EXPECT_VIOLATION(
      use(gpu, [&](void *, float *place) { plugin().release(gpu, place); }),
      "was not allocated so");
  EXPECT_VIOLATION(use(gpu,
                       [&](void *group, float *place) {
                         void *again = nullptr;
                         plugin().ncclRegister(group, place, 64, &again);
                       }),
                   "the same memory twice");
}

TEST(NcclPluginDeathTest, registeredMemoryIsUsedAtTheSamePlaces) {
  EXPECT_DEATH(sumRegistered({3, 4}),
               "at other places of the registered memory");
}

TEST(NcclPluginDeathTest, buffersOfNcclDoNotOverlap) {
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

TEST(NcclPluginDeathTest, ncclDoesNotReduceWhatItRounds) {
  auto reduce = [](Gpu &gpu, MeshcType type, MeshcReduction reduction) {
    operate(gpu, [&](void *group, float *memory) {
      plugin().ncclAllReduce(gpu, group, memory, memory, 4, type, reduction);
    });
  };
  EXPECT_VIOLATION(reduce(gpu, MESHC_BF16, MESHC_SUM), "rounds 16 bits");
  EXPECT_VIOLATION(reduce(gpu, MESHC_F32, MESHC_MAX), "drop NaN");
}

/// Ranks that do not arrive at a group's end are waited for once, and no
/// further call may wait for them again.
TEST(NcclPlugin, leavesGroupsThatDoNotEnd) {
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
