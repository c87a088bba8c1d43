//===- HostSumsTest.cpp - reductions on GPUs of several hosts -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Ranks are threads with a fake GPU each, and see consecutive ones of them on
/// one host. cuda_conformance tests all kinds, sizes and blocks; here are the
/// bits of sums that need rounding, and the bytes that leave a host.
///
//===----------------------------------------------------------------------===//
#include "Conformance/Suite.h"
#include "runtime/Comm/World.h"
#include "test/runtime/Comm/CollectiveCase.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>

using namespace meshc;
using namespace meshc::runtime;
using namespace meshc::test;

namespace {

/// A reduction of bf16 over all ranks.
struct Reduction {
  MeshcCollectiveKind kind;
  int64_t elements; ///< that each rank gets
  int ranks, ranksPerHost;
  bool ncclSums = false, ncclMemory = false;
};

/// The value that a rank sends for each element; of a reduce-scatter, for each
/// block.
using Values = std::function<double(int rank)>;

/// Runs it on one rank; whether each element is `wanted`.
bool runOn(Subject &subject, const Reduction &reduction, const Values &values,
           double wanted) {
  const bool scatters = reduction.kind == MESHC_REDUCE_SCATTER;
  const int64_t sent = reduction.elements * (scatters ? reduction.ranks : 1);
  std::vector<char> bytes(static_cast<size_t>(2 * sent));
  for (int64_t i = 0; i < sent; ++i)
    setValue(MESHC_BF16, bytes.data(), i, values(subject.rank.mesh.rank()));
  const int64_t blocks = scatters ? reduction.ranks : 1;
  const int64_t received = (2 * sent + 255) / 256 * 256;
  const MeshcCollectiveItem item = {1, blocks, reduction.elements,
                                    1, blocks, reduction.elements};
  const MeshcCollective collective = {static_cast<uint8_t>(reduction.kind),
                                      MESHC_SUM,
                                      MESHC_BF16,
                                      0,
                                      1,
                                      0,
                                      1,
                                      &item,
                                      nullptr};
  subject.put(0, bytes);
  subject.run([&](MeshcContext *ctx) {
    void *send = ctx->arena, *recv = ctx->arena + received;
    meshc_collective(ctx, &collective, &send, &recv);
    meshc_wait(ctx, &collective);
  });
  bytes.resize(static_cast<size_t>(2 * reduction.elements));
  subject.get(received, bytes);
  for (int64_t i = 0; i < reduction.elements; ++i)
    if (valueAt(MESHC_BF16, bytes.data(), i) != wanted) {
      std::fprintf(stderr, "rank %d: element %lld is %g, wanted %g\n",
                   subject.rank.mesh.rank(), static_cast<long long>(i),
                   valueAt(MESHC_BF16, bytes.data(), i), wanted);
      return false;
    }
  return true;
}

/// Runs it on all ranks; returns the process's exit code.
int run(const Reduction &reduction, const Values &values, double wanted) {
  setenv("FAKE_CUDA_GPUS", std::to_string(reduction.ranks).c_str(), 1);
  const std::vector<int64_t> mesh = {reduction.ranks};
  std::atomic<bool> isRight{true};
  WorldOptions options;
  options.ranks = reduction.ranks;
  options.ranksPerHost = reduction.ranksPerHost;
  auto world = openWorld(options);
  world->run([&](Communicator &communicator) {
    const MeshcProgram program = suiteProgram(mesh);
    Rank rank(program, communicator, MeshView(mesh, communicator.rank()), 1);
    DeviceOptions deviceOptions;
    deviceOptions.ncclSums = reduction.ncclSums;
    deviceOptions.ncclMemory = reduction.ncclMemory;
    auto device = makeDevice(rank, deviceOptions);
    Subject subject{rank, *device};
    if (!runOn(subject, reduction, values, wanted))
      isRight = false;
    device->synchronize();
  });
  world->finish(0);
  return isRight ? 0 : 1;
}

/// Runs it in a process of its own; returns the bytes that each host sent to
/// others, by host.
std::vector<int64_t> countBytes(const Reduction &reduction,
                                const Values &values, double wanted) {
  const std::string path = testing::TempDir() + "host-sums.log";
  std::remove(path.c_str());
  EXPECT_EXIT(
      {
        setenv("FAKE_CUDA_LOG", path.c_str(), 1);
        std::_Exit(run(reduction, values, wanted));
      },
      testing::ExitedWithCode(0), "");
  const int perHost =
      reduction.ranksPerHost ? reduction.ranksPerHost : reduction.ranks;
  std::vector<int64_t> bytes(static_cast<size_t>(reduction.ranks / perHost), 0);
  std::ifstream log(path);
  for (std::string line; std::getline(log, line);) {
    long long count = 0;
    int from = 0, to = 0;
    size_t at = line.find("count=");
    if (line.rfind("ncclSend(", 0) == 0 && at != std::string::npos &&
        std::sscanf(line.c_str() + at, "count=%lld, peer=%d, from=%d", &count,
                    &to, &from) == 3 &&
        from / perHost != to / perHost)
      bytes[static_cast<size_t>(from / perHost)] += count;
  }
  return bytes;
}

/// Of two hosts of four ranks: the first one's sum is 257, which bf16 would
/// round to 256, the second one's 261, which it would round to 260. Their sum
/// is 518, rounded once 520. With hosts rounded first it would be 516.
double ofTwoHosts(int rank) {
  static const double values[] = {254, 1, 1, 1, 1, 258, 1, 1};
  return values[rank];
}

constexpr int64_t large = int64_t(1) << 16;

} // namespace

/// Each host sends its partial sums of the other host's half, in f32, and its
/// half of the result.
TEST(HostSumsTest, allReduceSendsEachSumOnce) {
  std::vector<int64_t> bytes =
      countBytes({MESHC_ALL_REDUCE, large, 8, 4}, ofTwoHosts, 520);
  EXPECT_EQ(bytes, std::vector<int64_t>(2, large / 2 * (4 + 2)));
}

/// Of three hosts: a third of the elements to each of the two others.
TEST(HostSumsTest, everyHostGetsItsPart) {
  const int64_t elements = 6 * 8192;
  std::vector<int64_t> bytes = countBytes(
      {MESHC_ALL_REDUCE, elements, 6, 2}, [](int rank) { return rank; }, 15);
  EXPECT_EQ(bytes, std::vector<int64_t>(3, 2 * elements / 3 * (4 + 2)));
}

TEST(HostSumsTest, reduceScatterSendsEachSumOnce) {
  const int64_t block = 1000;
  std::vector<int64_t> bytes =
      countBytes({MESHC_REDUCE_SCATTER, block, 8, 4}, ofTwoHosts, 520);
  EXPECT_EQ(bytes, std::vector<int64_t>(2, 4 * block * 4));
}

/// One rank on each host, or hosts of different sizes: all ranks reduce
/// together, and no partial sum has a type of its own.
TEST(HostSumsTest, reducesTogetherOnUnequalHosts) {
  std::vector<int64_t> bytes = countBytes(
      {MESHC_REDUCE_SCATTER, 1000, 2, 1}, [](int rank) { return rank; }, 1);
  EXPECT_EQ(bytes, std::vector<int64_t>(2, 1000 * 2));
  EXPECT_EXIT(
      std::_Exit(run(
          {MESHC_ALL_REDUCE, large, 5, 2}, [](int rank) { return rank; }, 10)),
      testing::ExitedWithCode(0), "");
}

/// `--nccl-sums`: 256 + 1 is rounded to 256 on each rank.
TEST(HostSumsTest, ncclSumsWhereTheUserSaysSo) {
  auto values = [](int rank) { return rank == 0 ? 256 : 1; };
  EXPECT_EXIT(
      {
        setenv("FAKE_NCCL_HALF_SUMS", "1", 1);
        std::_Exit(run({MESHC_ALL_REDUCE, large, 4, 2, /*ncclSums=*/true},
                       values, 256));
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(run({MESHC_ALL_REDUCE, large, 4, 2}, values, 260)),
              testing::ExitedWithCode(0), "");
}

/// `--nccl-memory`: the arena and all rooms are memory that the group knows,
/// however many ranks a host has.
TEST(HostSumsTest, operatesOnMemoryThatNcclKnows) {
  auto runKnown = [](int ranks, int ranksPerHost, bool ncclMemory) {
    setenv("FAKE_NCCL_REGISTERED", "1", 1);
    const double wanted = ranks * (ranks - 1) / 2;
    Reduction reduction = {MESHC_ALL_REDUCE, large, ranks, ranksPerHost};
    reduction.ncclMemory = ncclMemory;
    std::_Exit(run(reduction, [](int rank) { return rank; }, wanted));
  };
  for (int ranks : {4, 5}) // 2 and 2, or 2, 2 and 1 on a host
    EXPECT_EXIT(runKnown(ranks, 2, true), testing::ExitedWithCode(0), "");
  EXPECT_DEATH(runKnown(4, 2, false), "memory that is not registered");
}
