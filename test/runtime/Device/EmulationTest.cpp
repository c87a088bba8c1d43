//===- EmulationTest.cpp - threads that wait for each other ----*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Emulation.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace {

/// Runs blocks [0, blocks) of 64 threads with 256 bytes of memory; each thread
/// gets `results` as its only buffer.
void run(MeshcEmulatedCode code, void *results, int64_t blocks = 1,
         bool waits = true, const MeshcContext *context = nullptr) {
  void *const buffers[] = {results};
  meshc_emulate(context, buffers, 0, blocks, "kernel", code, 64, 256, waits);
}

uint32_t *getResults(MeshcEmulatedThread *thread) {
  return static_cast<uint32_t *>(thread->buffers[0]);
}

} // namespace

TEST(Emulation, RunsEachThreadOfEachBlock) {
  for (bool waits : {false, true}) {
    std::vector<uint32_t> results(3 * 64);
    run(
        [](MeshcEmulatedThread *thread) {
          ++getResults(thread)[thread->block * 64 + thread->thread];
        },
        results.data(), 3, waits);
    EXPECT_EQ(results, std::vector<uint32_t>(3 * 64, 1));
  }
}

TEST(Emulation, BarriersAreForTheWholeBlock) {
  std::vector<uint32_t> results(2 * 64);
  run(
      [](MeshcEmulatedThread *thread) {
        auto *memory = reinterpret_cast<uint32_t *>(thread->memory);
        // Nothing that a block leaves in its memory reaches the next one.
        EXPECT_EQ(memory[thread->thread], ~uint32_t(0));
        memory[thread->thread] = uint32_t(thread->thread);
        meshc_emulated_barrier(thread);
        getResults(thread)[thread->block * 64 + thread->thread] =
            memory[63 - thread->thread];
      },
      results.data(), 2);
  for (uint32_t thread = 0; thread < 2 * 64; ++thread)
    EXPECT_EQ(results[thread], 63 - thread % 64);
}

TEST(Emulation, ShufflesAndReductionsAreOfAWarp) {
  std::vector<uint32_t> results(3 * 64);
  run(
      [](MeshcEmulatedThread *thread) {
        auto number = uint32_t(thread->thread);
        uint32_t *mine = getResults(thread) + 3 * number;
        mine[0] = meshc_emulated_shuffle(thread, number, 5, 0);
        mine[1] = meshc_emulated_shuffle(thread, number, 16, 1);
        mine[2] = meshc_emulated_or(thread, number == 40 ? 6 : 0);
      },
      results.data());
  for (uint32_t thread = 0; thread < 64; ++thread) {
    EXPECT_EQ(results[3 * thread], thread / 32 * 32 + 5);
    EXPECT_EQ(results[3 * thread + 1], thread ^ 16);
    EXPECT_EQ(results[3 * thread + 2], thread < 32 ? 0u : 6u);
  }
}

/// Memory of the kernel stays, and each run of a program has its own.
TEST(Emulation, MemoryOfAKernel) {
  auto count = [](MeshcEmulatedThread *thread) {
    static const char name[] = "memory";
    auto *memory =
        static_cast<uint32_t *>(meshc_emulated_memory(thread, name, 8));
    *getResults(thread) = ++memory[1];
  };
  MeshcContext one = {}, other = {};
  uint32_t result = 0;
  run(count, &result, 2, true, &one);
  EXPECT_EQ(result, 128u);
  run(count, &result, 1, true, &other);
  EXPECT_EQ(result, 64u);
  run(count, &result, 1, true, &one);
  EXPECT_EQ(result, 192u);
}

/// What would hang a GPU ends the process, with the threads' places.
TEST(EmulationDeathTest, WaitsThatDoNotMeet) {
  uint32_t result = 0;
  EXPECT_EXIT(run(
                  [](MeshcEmulatedThread *thread) {
                    if (thread->thread < 3)
                      meshc_emulated_barrier(thread);
                  },
                  &result),
              testing::ExitedWithCode(1),
              "emulated kernel 'kernel' would hang: in block 0, thread 0 waits "
              "for a barrier, thread 3 for its end");
  EXPECT_EXIT(run(
                  [](MeshcEmulatedThread *thread) {
                    if (thread->thread == 7)
                      meshc_emulated_barrier(thread);
                    else
                      meshc_emulated_or(thread, 1);
                  },
                  &result),
              testing::ExitedWithCode(1), "thread 7 for a barrier");
}
