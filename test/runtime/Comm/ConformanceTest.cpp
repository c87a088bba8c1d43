//===- ConformanceTest.cpp - what every communicator must do --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Started plainly, tests the kinds "threads" and "shm" (forked processes).
/// Started by mpirun, tests the world of its processes.
///
//===----------------------------------------------------------------------===//
#include "CollectiveCase.h"
#include "TestWorlds.h"
#include "UnevenCase.h"

#include <cstring>
#include <gtest/gtest.h>
#include <iostream>
#include <random>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

using Sizes = std::vector<int64_t>;
using Item = CollectiveCase::Item;

struct Setting {
  std::string kind;
  Sizes mesh;

  int ranks() const {
    int count = 1;
    for (int64_t size : mesh)
      count *= static_cast<int>(size);
    return count;
  }
};

void PrintTo(const Setting &setting, std::ostream *out) {
  *out << setting.kind;
  for (int64_t size : setting.mesh)
    *out << '_' << size;
}

class Conformance : public testing::TestWithParam<Setting> {
protected:
  /// Runs `body` on every rank of the setting's mesh.
  void run(const std::function<void(Communicator &, const MeshView &)> &body) {
    const Setting &setting = GetParam();
    runRanks(setting.kind, setting.ranks(), [&](Communicator &communicator) {
      ASSERT_EQ(communicator.size(), setting.ranks());
      MeshView mesh(setting.mesh, communicator.rank());
      body(communicator, mesh);
    });
  }
  uint32_t axisSets() const { return 1u << GetParam().mesh.size(); }
};

/// For the few tests that move much.
class LargeConformance : public Conformance {};

TEST_P(Conformance, EveryKindReductionAndTypeOverEveryAxisSet) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.items = {{3, 7, 21}};
    for (c.axes = 0; c.axes < axisSets(); ++c.axes)
      for (MeshcCollectiveKind kind : allKinds)
        for (MeshcReduction reduction : allReductions)
          for (MeshcType type : allTypes) {
            c.kind = kind;
            c.reduction = reduction;
            c.type = type;
            c.run(communicator, mesh);
          }
  });
}

TEST_P(Conformance, EverySize) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.axes = axisSets() - 1;
    for (int64_t n : {0, 1, 2, 15, 16, 17, 1023, 16384, 81919})
      for (MeshcCollectiveKind kind : allKinds)
        for (MeshcType type : {MESHC_F32, MESHC_BF16, MESHC_I1}) {
          c.kind = kind;
          c.type = type;
          c.items = {{1, n, n}};
          c.run(communicator, mesh);
        }
  });
}

TEST_P(Conformance, BlockedLayouts) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.axes = axisSets() - 1;
    const Item layouts[] = {{5, 1, 5},      {1, 5, 1},       {64, 3, 12},
                            {12, 16, 192},  {300, 128, 256}, {2000, 33, 66},
                            {1, 66000, 33}, {8, 8, 16}};
    for (const Item &item : layouts)
      for (MeshcCollectiveKind kind : allKinds) {
        c.kind = kind;
        c.items = {item};
        c.run(communicator, mesh);
      }
  });
}

TEST_P(Conformance, SeveralItemsInOne) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    for (c.axes = 1; c.axes < axisSets(); ++c.axes)
      for (MeshcCollectiveKind kind : allKinds)
        for (MeshcType type : {MESHC_F32, MESHC_F16}) {
          c.kind = kind;
          c.type = type;
          c.items = {{1, 1, 1},       {0, 4, 4},       {37, 100, 50},
                     {1, 4000, 1000}, {700, 64, 6400}, {1, 3, 1}};
          c.run(communicator, mesh);
        }
    c.kind = MESHC_ALL_REDUCE;
    c.axes = 1;
    c.items.clear();
    c.run(communicator, mesh);
  });
}

/// Every rank sends to another one each time, at last to itself.
TEST_P(Conformance, PermutesByEveryShift) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.kind = MESHC_PERMUTE;
    for (c.axes = 0; c.axes < axisSets(); ++c.axes)
      for (c.shift = 0; c.shift < mesh.group(c.axes).size(); ++c.shift)
        for (int64_t n : {0, 1, 257, 100003}) {
          c.items = {{1, n, n}, {3, 5, 5}};
          c.run(communicator, mesh);
        }
  });
}

/// Some ranks send to nobody or receive from nobody.
TEST_P(Conformance, PermutesInRounds) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.kind = MESHC_PERMUTE;
    for (c.axes = 0; c.axes < axisSets(); ++c.axes)
      for (const MeshcRound &round : someRounds)
        for (int64_t n : {0, 40009}) {
          c.round = round;
          c.items = {{1, n, n}, {3, 5, 5}};
          c.run(communicator, mesh);
        }
  });
}

/// Blocks with fewer entries than others, or none.
TEST_P(Conformance, BlocksThatAreNotFull) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    for (uint32_t axes = 1; axes < axisSets(); ++axes)
      for (const UnevenCase &c : unevenCases(axes))
        c.run(communicator, mesh);
  });
}

TEST_P(Conformance, InPlace) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.inPlace = true;
    for (c.axes = 1; c.axes < axisSets(); ++c.axes)
      for (MeshcType type : allTypes)
        for (int64_t n : {1, 1000, 70001}) {
          c.type = type;
          c.items = {{1, n, n}, {3, 5, 5}};
          c.run(communicator, mesh);
        }
  });
}

/// Groups over different axes in turn, so that ranks meet different peers with
/// messages of the last collective still on their way.
TEST_P(Conformance, AxesInTurn) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    for (int round = 0; round < 60; ++round) {
      c.axes = round % axisSets();
      c.kind = allKinds[round % std::size(allKinds)];
      c.items = {{1, 1 + round * 11, 1}};
      c.run(communicator, mesh);
    }
  });
}

TEST_P(LargeConformance, SixtyFourMegabytes) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    CollectiveCase c;
    c.axes = 1;
    int64_t all = int64_t(1) << 24, ranks = communicator.size();
    c.items = {{1, all, all}};
    c.run(communicator, mesh);
    c.kind = MESHC_ALL_GATHER;
    c.items = {{16, all / ranks / 16, 1}};
    c.run(communicator, mesh);
  });
}

/// Sums of numbers whose order matters: all ranks get the same bits, each time.
TEST_P(Conformance, SameBitsOnEveryRank) {
  run([&](Communicator &communicator, const MeshView &mesh) {
    for (int64_t n : {13, 5000, 200000}) {
      std::mt19937 random(communicator.rank() + 1);
      std::uniform_real_distribution<float> distribution(-1000, 1000);
      std::vector<float> values(n), sums(n), again(n), first(n);
      for (float &value : values)
        value = distribution(random);
      MeshcCollectiveItem item{1, n, 1, 1, n, 1};
      MeshcCollective collective{};
      collective.axes = axisSets() - 1;
      collective.itemCount = 1;
      collective.items = &item;
      const Group &group = mesh.group(collective.axes);
      void *send = values.data(), *recv = sums.data(),
           *recvAgain = again.data();
      communicator.run(collective, group, &send, &recv);
      communicator.run(collective, group, &send, &recvAgain);
      if (communicator.rank() == 0)
        first = sums;
      communicator.broadcast(first.data(), n * sizeof(float), 0);
      EXPECT_EQ(std::memcmp(sums.data(), first.data(), n * sizeof(float)), 0);
      EXPECT_EQ(std::memcmp(sums.data(), again.data(), n * sizeof(float)), 0);
    }
  });
}

TEST_P(Conformance, Broadcast) {
  run([&](Communicator &communicator, const MeshView &) {
    for (int root = 0; root < communicator.size(); ++root)
      for (size_t bytes : {0, 1, 100, 400001}) {
        std::vector<char> data(bytes, static_cast<char>(communicator.rank()));
        communicator.broadcast(data.data(), bytes, root);
        EXPECT_EQ(data, std::vector<char>(bytes, static_cast<char>(root)));
      }
  });
}

TEST_P(Conformance, Gather) {
  run([&](Communicator &communicator, const MeshView &) {
    int root = communicator.size() - 1, next = 0;
    auto sizeOf = [](int rank) { return size_t(rank) * 130001; };
    std::vector<char> own(sizeOf(communicator.rank()),
                          static_cast<char>(communicator.rank() + 1));
    communicator.gather(
        own.data(), own.size(), root,
        [&](int rank, const void *data, size_t bytes) {
          EXPECT_EQ(rank, next++);
          ASSERT_EQ(bytes, sizeOf(rank));
          std::vector<char> got(static_cast<const char *>(data),
                                static_cast<const char *>(data) + bytes);
          EXPECT_EQ(got, std::vector<char>(bytes, static_cast<char>(rank + 1)));
        });
    EXPECT_EQ(next, communicator.rank() == root ? communicator.size() : 0);
  });
}

TEST_P(Conformance, PointToPointAndBarrier) {
  run([&](Communicator &communicator, const MeshView &) {
    int rank = communicator.rank(), size = communicator.size();
    for (int round = 0; round < 20; ++round) {
      communicator.barrier();
      int token = 0;
      if (rank > 0)
        communicator.receive(&token, sizeof(token), rank - 1);
      EXPECT_EQ(token, rank);
      ++token;
      if (rank + 1 < size)
        communicator.send(&token, sizeof(token), rank + 1);
    }
    communicator.barrier();
  });
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  const Sizes meshes[] = {{1}, {2}, {3}, {8}, {2, 2}, {2, 3}, {2, 2, 2}};
  for (const Sizes &mesh : meshes) {
    if (mpiWorld()) {
      Setting setting{"mpi", mesh};
      if (setting.ranks() == mpiWorld()->size())
        all.push_back(setting);
      continue;
    }
    for (const char *kind : {"threads", "shm"})
      all.push_back({kind, mesh});
  }
  return all;
}

std::vector<Setting> largeSettings() {
  if (mpiWorld())
    return {{"mpi", {mpiWorld()->size()}}};
  return {{"threads", {2}}, {"shm", {2}}};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Conformance);
std::string nameOf(const testing::TestParamInfo<Setting> &info) {
  return testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(settings()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(All, LargeConformance,
                         testing::ValuesIn(largeSettings()), nameOf);

} // namespace

int main(int argc, char **argv) {
  std::unique_ptr<World> world;
  if (findMpiLaunch().launched) {
    try {
      world = openWorld(withEnvironment({}));
    } catch (const std::exception &error) {
      std::cerr << error.what() << '\n';
      return 1;
    }
    setMpiWorld(world.get());
  }
  testing::InitGoogleTest(&argc, argv);
  if (world && findMpiLaunch().rank != 0) {
    testing::TestEventListeners &listeners =
        testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  } else if (world) {
    std::cout << "communicator: " << world->kind() << ", " << world->size()
              << " ranks\n";
  }
  int code = RUN_ALL_TESTS();
  if (world)
    world->finish(code);
  return code;
}
