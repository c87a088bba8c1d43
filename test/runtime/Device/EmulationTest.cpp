//===- EmulationTest.cpp - threads that wait for each other -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Device/Emulation.h"

#include <algorithm>
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

/// A kernel that would hang a GPU ends the process, with the threads'
/// locations.
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

/// Threads that do not wait for each other come in several orders.
TEST(Emulation, OrdersAreRandom) {
  std::vector<uint32_t> first(64), other(64);
  auto note = [](MeshcEmulatedThread *thread) {
    static const char name[] = "next";
    auto *next =
        static_cast<uint32_t *>(meshc_emulated_memory(thread, name, 4));
    getResults(thread)[thread->thread] = (*next)++;
  };
  for (bool waits : {false, true}) {
    int differ = 0;
    run(note, first.data(), 1, waits);
    for (int time = 0; time < 20; ++time) {
      run(note, other.data(), 1, waits);
      uint32_t start = *std::min_element(other.begin(), other.end());
      uint32_t firstStart = *std::min_element(first.begin(), first.end());
      for (size_t i = 0; i < 64; ++i)
        differ += other[i] - start != first[i] - firstStart;
    }
    EXPECT_GT(differ, 0);
  }
}

//===----------------------------------------------------------------------===//
// Races
//===----------------------------------------------------------------------===//

namespace {

enum Kind { Read, Write, Atomic };

void access(MeshcEmulatedThread *thread, uint32_t *place, Kind kind,
            const char *line) {
  meshc_emulated_access(thread, place, 4, 4, kind, line);
}

/// Block 0 writes a number, and the last block to count itself reads it.
/// `steps` selects the omitted steps.
void handOver(MeshcEmulatedThread *thread, bool barriers, bool releases,
              bool acquires) {
  uint32_t *results = getResults(thread);
  uint32_t *count = results + 1, *isLast = results + 2 + thread->block;
  if (thread->block == 0 && thread->thread == 9) {
    access(thread, results, Write, "a:1");
    results[0] = 5;
  }
  if (barriers)
    meshc_emulated_barrier(thread);
  if (thread->thread == 0) {
    if (releases)
      meshc_emulated_fence(thread);
    access(thread, count, Atomic, "a:2");
    *isLast = ++*count == 4;
    if (acquires)
      meshc_emulated_fence(thread);
  }
  meshc_emulated_barrier(thread);
  if (*isLast && thread->thread == 40)
    access(thread, results, Read, "a:3");
}

} // namespace

TEST(EmulationDeathTest, BlocksAreOrderedByFences) {
  uint32_t results[6] = {};
  auto clear = [&] { std::fill(results, std::end(results), 0); };
  for (int time = 0; time < 10; ++time, clear())
    run([](MeshcEmulatedThread *thread) { handOver(thread, true, true, true); },
        results, 4);
  // Where block 0 is the last itself, nothing is wrong: until it is not.
  auto often = [&](MeshcEmulatedCode code) {
    for (int time = 0; time < 100; ++time, clear())
      run(code, results, 4);
  };
  EXPECT_EXIT(often([](MeshcEmulatedThread *thread) {
                handOver(thread, true, false, true);
              }),
              testing::ExitedWithCode(1),
              "reads 4 bytes in thread 40 of block . at a:3, which thread 9 of "
              "block 0 wrote at a:1, and nothing orders the two");
  EXPECT_EXIT(often([](MeshcEmulatedThread *thread) {
                handOver(thread, true, true, false);
              }),
              testing::ExitedWithCode(1), "has a race");
  EXPECT_EXIT(often([](MeshcEmulatedThread *thread) {
                handOver(thread, false, true, true);
              }),
              testing::ExitedWithCode(1), "has a race");
}

/// Bytes of one word are not one another.
TEST(EmulationDeathTest, BytesRaceByThemselves) {
  uint32_t results[64] = {};
  auto bytes = [](MeshcEmulatedThread *thread) {
    meshc_emulated_access(
        thread, reinterpret_cast<char *>(getResults(thread)) + thread->thread,
        1, 1, Write, "a:1");
  };
  run(bytes, results);
  auto overlapping = [](MeshcEmulatedThread *thread) {
    meshc_emulated_access(
        thread, reinterpret_cast<char *>(getResults(thread)) + thread->thread,
        2, 1, Write, "a:1");
  };
  EXPECT_EXIT(run(overlapping, results, 1, false), testing::ExitedWithCode(1),
              "has a race: it writes 2 bytes");
}

TEST(EmulationDeathTest, ReadersAreRememberedToo) {
  uint32_t result = 0;
  EXPECT_EXIT(run(
                  [](MeshcEmulatedThread *thread) {
                    access(thread, getResults(thread), Read, "a:1");
                    meshc_emulated_or(thread, 0);
                    // A warp that has met is no barrier for memory.
                    if (thread->thread == 3)
                      access(thread, getResults(thread), Write, "a:2");
                  },
                  &result),
              testing::ExitedWithCode(1),
              "writes 4 bytes in thread 3 of block 0 at a:2, which several "
              "threads of block 0 read at a:1");
}

TEST(EmulationDeathTest, AddressesAreAligned) {
  uint32_t results[4] = {};
  EXPECT_EXIT(run(
                  [](MeshcEmulatedThread *thread) {
                    meshc_emulated_access(thread, getResults(thread) + 1, 8,
                                          sizeof(MeshcContext), Read, "a:1");
                  },
                  results),
              testing::ExitedWithCode(1), "not aligned to");
}
