//===- AvailableMemoryTest.cpp - limits of control groups and processes ---===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/AvailableMemory.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/ProcessMemory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace meshc::runtime;
namespace fs = std::filesystem;

namespace {

/// Fake system files of a machine with 8,000,000 kB.
struct AvailableMemoryTest : ::testing::Test {
  AvailableMemoryTest() {
    char pattern[] = "/tmp/meshc-memory-XXXXXX";
    root = mkdtemp(pattern);
    files = {root / "proc", root / "cgroups"};
    write("proc/meminfo", "MemTotal:  9000000 kB\nMemAvailable:  8000000 kB\n");
  }
  ~AvailableMemoryTest() override { fs::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }

  fs::path root;
  MemoryFiles files;
};

} // namespace

TEST_F(AvailableMemoryTest, theMachine) {
  AvailableMemory available = availableOnHost(files);
  EXPECT_EQ(available.bytes, 8000000 * int64_t(1024));
  EXPECT_EQ(available.limit, "the machine's free memory");
}

TEST_F(AvailableMemoryTest, version2) {
  write("proc/self/cgroup", "0::/jobs/mine\n");
  write("cgroups/jobs/mine/memory.max", "max\n");
  write("cgroups/jobs/mine/memory.current", "500\n");
  EXPECT_EQ(availableOnHost(files).limit, "the machine's free memory");
  // The group around it has a limit; caches of files make room.
  write("cgroups/jobs/memory.max", "1000000\n");
  write("cgroups/jobs/memory.current", "700000\n");
  write("cgroups/jobs/memory.stat",
        "anon 600000\ninactive_anon 7\ninactive_file 100000\n"
        "active_file 30000\nslab_reclaimable 4000\nslab 5000\n");
  AvailableMemory available = availableOnHost(files);
  EXPECT_EQ(available.bytes, 434000);
  EXPECT_EQ(available.limit, "the limit of control group '" + files.cgroups +
                                 "/jobs', 1000000 bytes");
  write("cgroups/jobs/mine/memory.max", "400\n");
  EXPECT_EQ(availableOnHost(files).bytes, 0);
  // The two files are not of the same instant.
  write("cgroups/jobs/mine/memory.max", "900\n");
  write("cgroups/jobs/mine/memory.stat", "active_file 600\n");
  EXPECT_EQ(availableOnHost(files).bytes, 900);
}

/// In a container the path may be one of the host, which is not there.
TEST_F(AvailableMemoryTest, version2InAContainer) {
  write("proc/self/cgroup", "0::/system.slice/docker-1234.scope\n");
  write("cgroups/memory.max", "2097152\n");
  write("cgroups/memory.current", "1048576\n");
  EXPECT_EQ(availableOnHost(files).bytes, 1048576);
}

TEST_F(AvailableMemoryTest, version1) {
  write("proc/self/cgroup",
        "11:cpu,cpuacct:/other\n5:memory:/batch\n1:name=systemd:/\n0::/x\n");
  write("cgroups/memory/batch/memory.limit_in_bytes", "3000000\n");
  write("cgroups/memory/batch/memory.usage_in_bytes", "1000000\n");
  write("cgroups/memory/batch/memory.stat",
        "inactive_file 1\nactive_file 2\ntotal_inactive_file 5000\n"
        "total_active_file 600\n");
  write("cgroups/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("cgroups/memory/memory.usage_in_bytes", "4000000\n");
  EXPECT_EQ(availableOnHost(files).bytes, 2005600);
}

TEST_F(AvailableMemoryTest, ranksOfTheHostAreSummed) {
  write("proc/self/cgroup", "0::/\n");
  write("cgroups/memory.max", "1000000\n");
  write("cgroups/memory.current", "0\n");
  checkMemory({250000, 1, 4}, files);
  try {
    checkMemory({250001, 1, 4}, files);
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::Internal);
    EXPECT_EQ(std::string(failure.what()),
              "too little memory: the 4 ranks of this host need 250001 bytes "
              "each, and 1000000 bytes are left within the limit of control "
              "group '" +
                  files.cgroups +
                  "', 1000000 bytes; compile for a larger mesh or a smaller "
                  "batch, or raise the limit");
  }
  // The copies of the state.
  MemoryNeed need = {200000, 1, 4, 200000, {"leave out the copy"}};
  checkMemory(need, files);
  need.bytesOfRankZero = 200001;
  try {
    checkMemory(need, files);
    FAIL();
  } catch (const Failure &failure) {
    EXPECT_EQ(std::string(failure.what()),
              "too little memory: the 4 ranks of this host need 200000 bytes "
              "each and rank 0 another 200001 bytes, and 1000000 bytes are "
              "left within the limit of control group '" +
                  files.cgroups +
                  "', 1000000 bytes; compile for a larger mesh or a smaller "
                  "batch, leave out the copy, or raise the limit");
  }
  EXPECT_THROW(checkMemory({0, 1, 1, 1000001}, files), Failure);
  // Address space of libraries is no memory of the host.
  checkMemory({0, 1, 1, 0, {}, 1000001}, files);
  // More than 2^63 bytes in all.
  EXPECT_THROW(checkMemory({int64_t(1) << 60, 1, 64}, files), Failure);
}

/// Sets a limit of 1 GiB and asks for twice 512 MiB; exits with 0 if that is
/// refused, and the limit is named.
[[noreturn]] static void askBeyond(int resource, const std::string &name) {
  rlimit limit = {1u << 30, 1u << 30};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
  AvailableMemory available = availableToProcess();
  bool isNamed = available.limit.rfind(name, 0) == 0;
  try {
    checkMemory({int64_t(1) << 29, 2, 2});
  } catch (const Failure &) {
    std::_Exit(isNamed && available.bytes < (1 << 30) ? 0 : 2);
  }
  std::_Exit(1);
}

/// The same, where libraries alone find no room: what ranks could save is no
/// remedy.
[[noreturn]] static void askForLibraries() {
  rlimit limit = {1u << 30, 1u << 30};
  setrlimit(RLIMIT_AS, &limit);
  try {
    checkMemory({1024, 1, 1, 0, {"give less"}, int64_t(1) << 31});
  } catch (const Failure &failure) {
    const std::string text = failure.what(), end = "; raise the limit";
    bool ends = text.size() > end.size() &&
                text.compare(text.size() - end.size(), end.size(), end) == 0;
    std::_Exit(ends && text.find("compile") == std::string::npos &&
                       text.find("give less") == std::string::npos
                   ? 0
                   : 2);
  }
  std::_Exit(1);
}

/// Sets a limit and lets four threads allocate, all of them at once. Exits with
/// 0 if they take little more address space than their stacks.
[[noreturn]] static void allocateInThreads() {
  rlimit limit = {rlim_t(1) << 40, rlim_t(1) << 40};
  setrlimit(RLIMIT_AS, &limit);
  shareHeapWithinLimit();
  const int64_t before = availableToProcess().bytes;
  constexpr int count = 4;
  pthread_barrier_t all;
  pthread_barrier_init(&all, nullptr, count);
  int64_t after = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      std::vector<char> some(1000);
      pthread_barrier_wait(&all);
      if (i == 0)
        after = availableToProcess().bytes;
      pthread_barrier_wait(&all);
    });
  for (std::thread &thread : threads)
    thread.join();
  constexpr int64_t mostPerThread = 16 << 20; // a stack, and the guard of it
  std::_Exit(before - after < count * mostPerThread ? 0 : 1);
}

/// In another process, as a limit cannot be raised again without privileges.
TEST_F(AvailableMemoryTest, limitsOfTheProcess) {
  EXPECT_EXIT(askBeyond(RLIMIT_AS, "RLIMIT_AS"), ::testing::ExitedWithCode(0),
              "");
  EXPECT_EXIT(askBeyond(RLIMIT_DATA, "RLIMIT_DATA"),
              ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(askForLibraries(), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(allocateInThreads(), ::testing::ExitedWithCode(0), "");
}

/// Of a mapped file what was read counts.
TEST_F(AvailableMemoryTest, residentPartOfAMapping) {
  constexpr int64_t bytes = 1 << 20;
  void *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(address, MAP_FAILED);
  madvise(address, bytes, MADV_NOHUGEPAGE);
  EXPECT_EQ(residentMemory(address, bytes), 0);
  static_cast<volatile char *>(address)[100] = 1;
  EXPECT_EQ(residentMemory(address, bytes), 4096);
  munmap(address, bytes);
}
