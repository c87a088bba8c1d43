//===- NcclTest.cpp - how the plugin calls NCCL ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The plugin as it is built, which needs no driver for this, on a libnccl.so.2
/// that acts as late as the real one.
///
//===----------------------------------------------------------------------===//
#include "runtime/Device/Cuda/Gpu.h"

#include <chrono>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <thread>

namespace {

/// The plugin's table. The plugin looks for libnccl.so.2 and finds the one that
/// is open already.
const MeshcCuda &plugin() {
  static const MeshcCuda *table = [] {
    void *fake = dlopen(FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
    void *library = dlopen(CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!fake || !library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    return reinterpret_cast<MeshcCudaPluginFunction>(
        dlsym(library, "meshc_cuda_plugin"))();
  }();
  return *table;
}

int groupsLeft() {
  void *fake = dlopen(FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<int (*)()>(dlsym(fake, "fakeNcclGroupsLeft"))();
}

std::string text(const char *error) { return error ? error : ""; }

/// Waits until the group is not busy.
void settle(void *group) {
  for (int busy = 1; busy;) {
    ASSERT_EQ(text(plugin().ncclPoll(group, &busy)), "");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void *openWorld() {
  char id[MESHC_CUDA_NCCL_ID_BYTES] = {};
  void *world = nullptr;
  EXPECT_EQ(text(plugin().ncclId(id)), "");
  EXPECT_EQ(text(plugin().ncclOpen(nullptr, id, 1, 0, &world)), "");
  settle(world);
  return world;
}

/// The color of a group, as the fake's all-reduce tells it.
int colorOf(void *group) {
  MeshcCudaRank rank;
  int color = -2;
  EXPECT_EQ(text(plugin().ncclBegin()), "");
  EXPECT_EQ(text(plugin().ncclAllReduce(&rank, group, &color, &color, 1,
                                        MESHC_I32, MESHC_SUM)),
            "");
  EXPECT_EQ(text(plugin().ncclEnd()), "");
  settle(group);
  return color;
}

} // namespace

/// NCCL makes a group of a split after the call for it has returned.
TEST(Nccl, waitsForTheGroupOfASplit) {
  void *world = openWorld();
  void *parts[2] = {};
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(text(plugin().ncclSplit(nullptr, world, 7 + i, 0, &parts[i])),
              "");
    // Of the two, the part may be asked first.
    int busy = 0;
    ASSERT_EQ(text(plugin().ncclPoll(parts[i], &busy)), "");
    EXPECT_TRUE(busy);
    settle(world);
    settle(parts[i]);
  }
  EXPECT_EQ(colorOf(world), -1);
  EXPECT_EQ(colorOf(parts[0]), 7);
  EXPECT_EQ(colorOf(parts[1]), 8);
  int before = groupsLeft();
  for (void *group : {parts[0], parts[1], world})
    EXPECT_EQ(text(plugin().ncclClose(group)), "");
  EXPECT_EQ(groupsLeft() - before, 3);
}

/// Ranks that do not come to a group's end are waited for once, and no call is
/// made that may wait for them again. The last test: nothing is waited for
/// afterwards.
TEST(Nccl, leavesGroupsThatDoNotEnd) {
  void *groups[] = {openWorld(), openWorld(), openWorld()};
  setenv("FAKE_NCCL_NO_END", "1", 1);
  auto begin = std::chrono::steady_clock::now();
  for (void *group : groups)
    EXPECT_NE(text(plugin().ncclClose(group)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
}
