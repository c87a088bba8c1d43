//===- StreamTest.cpp - scattered elements as one sequence ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/Stream.h"

#include "runtime/Base/Failure.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace meshc::runtime;

namespace {

class StreamTest : public testing::Test {
protected:
  void SetUp() override {
    std::iota(memory.begin(), memory.end(), 0);
    stream.append(&memory[10], 4, 3, 5); // 10 11 12, 15 16 17, 20.., 25..
    stream.append(&memory[50], 1, 2, 2); // 50 51
    stream.append(&memory[60], 0, 7, 7);
    stream.append(&memory[70], 3, 4, 4); // 70 to 81
    elements = {10, 11, 12, 15, 16, 17, 20, 21, 22, 25, 26, 27, 50,
                51, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81};
  }
  std::vector<int32_t> readAll(const Stream &from) {
    std::vector<int32_t> values(from.size());
    from.read(0, from.size(), values.data());
    return values;
  }

  const Group pair{{0, 1}, 0, {2}};
  std::vector<int32_t> memory = std::vector<int32_t>(100), elements;
  Stream stream{MESHC_I32};
};

TEST_F(StreamTest, ReadsAndWritesEveryRange) {
  int64_t size = stream.size();
  ASSERT_EQ(size, static_cast<int64_t>(elements.size()));
  for (int64_t begin = 0; begin <= size; ++begin)
    for (int64_t n = 0; begin + n <= size; ++n) {
      std::vector<int32_t> wanted(elements.begin() + begin,
                                  elements.begin() + begin + n);
      std::vector<int32_t> got(n);
      stream.read(begin, n, got.data());
      EXPECT_EQ(got, wanted);
      EXPECT_EQ(readAll(stream.slice(begin, n)), wanted);
      for (int32_t &value : got)
        value = -value;
      stream.write(begin, n, got.data());
      std::vector<int32_t> negated = elements;
      for (int64_t i = begin; i < begin + n; ++i)
        negated[i] = -negated[i];
      EXPECT_EQ(readAll(stream), negated);
      stream.write(begin, n, wanted.data());
    }
  std::vector<int32_t> untouched(100);
  std::iota(untouched.begin(), untouched.end(), 0);
  EXPECT_EQ(memory, untouched);
}

TEST_F(StreamTest, BlocksOfTheAbi) {
  // Two members; send blocked 2 x 3, recv blocked 3 x 2.
  std::vector<int32_t> from(12), to(12);
  std::iota(from.begin(), from.end(), 0);
  MeshcCollectiveItem item{2, 2, 3, 3, 2, 2};
  MeshcCollective collective{};
  collective.kind = MESHC_ALL_TO_ALL;
  collective.type = MESHC_I32;
  collective.itemCount = 1;
  collective.items = &item;
  void *send = from.data(), *recv = to.data();
  CollectiveStreams streams = makeStreams(collective, pair, 0, &send, &recv);
  EXPECT_EQ(readAll(streams.send[1]),
            (std::vector<int32_t>{3, 4, 5, 9, 10, 11}));
  copyStream(streams.send[0], streams.recv[0]);
  copyStream(streams.send[1], streams.recv[1]);
  EXPECT_EQ(to, (std::vector<int32_t>{0, 1, 3, 4, 2, 6, 5, 9, 7, 8, 10, 11}));
}

/// Five entries in two blocks of 3, and these in two blocks of 2.
TEST_F(StreamTest, BlocksWithinBlocks) {
  const meshc::GroupAxes axes = {2, 2};
  const int64_t starts[] = {0, 2, 3, 5}, counts[] = {2, 1, 2, 0};
  for (int64_t p = 0; p < 4; ++p) {
    EXPECT_EQ(meshc::getBlock(5, axes, p).start, starts[p]);
    EXPECT_EQ(meshc::getBlock(5, axes, p).count, counts[p]);
  }
  std::vector<int32_t> all(10);
  std::iota(all.begin(), all.end(), 0);
  MeshcCollectiveItem item{1, 5, 2, 1, 5, 2};
  MeshcCollective collective{};
  collective.kind = MESHC_REDUCE_SCATTER;
  collective.type = MESHC_I32;
  collective.itemCount = 1;
  collective.items = &item;
  void *send = all.data(), *recv = memory.data();
  const Group group{{0, 1, 2, 3}, 1, axes};
  CollectiveStreams streams = makeStreams(collective, group, 1, &send, &recv);
  EXPECT_EQ(readAll(streams.send[1]), (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(readAll(streams.send[2]), (std::vector<int32_t>{6, 7, 8, 9}));
  EXPECT_EQ(streams.send[3].size(), 0);
  EXPECT_EQ(streams.recv[0].size(), 2);
}

/// Six ranks, numbered row-major and column-major; each sends to the next.
TEST_F(StreamTest, WhoSendsToWhom) {
  const meshc::GroupAxes axes = {2, 3};
  MeshcPermutation permutation{};
  permutation.senders[0] = 0, permutation.senders[1] = 1;
  permutation.receivers[0] = 1, permutation.receivers[1] = 0;
  const int64_t receivers[] = {0, 3, 1, 4, 2, 5};
  const int64_t shifted[] = {3, 1, 4, 2, 5, 0};
  for (int64_t p = 0; p < 6; ++p) {
    permutation.shift = 0;
    EXPECT_EQ(meshc::getReceiver(permutation, axes, p), receivers[p]);
    EXPECT_EQ(meshc::getSender(permutation, axes, receivers[p]), p);
    permutation.shift = 1;
    EXPECT_EQ(meshc::getReceiver(permutation, axes, p), shifted[p]);
    EXPECT_EQ(meshc::getSender(permutation, axes, shifted[p]), p);
  }
}

/// All rounds together bring each receiver every entry that it needs, each one
/// from the rank that has it, and no rank sends or receives twice in a round.
TEST_F(StreamTest, RoundsBringWhatIsNeeded) {
  std::mt19937 random(20261127);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 2000; ++trial) {
    int64_t ranks = draw(1, 9), from = draw(1, 12), to = draw(1, 12);
    int64_t offset = draw(-30, 60);
    int64_t count = std::max(from, to) / std::min(from, to) + 2;
    std::vector<std::vector<bool>> isBrought(ranks,
                                             std::vector<bool>(to, false));
    for (int64_t number = 0; number < count; ++number) {
      MeshcRound round = {from, to, offset, number};
      ASSERT_TRUE(meshc::isValidRound(round));
      std::vector<int64_t> sendersOf(ranks, meshc::nobody);
      for (int64_t p = 0; p < ranks; ++p) {
        int64_t q = meshc::getReceiverIn(round, p, ranks);
        if (q == meshc::nobody)
          continue;
        ASSERT_EQ(sendersOf[q], meshc::nobody);
        sendersOf[q] = p;
        int64_t size = std::min(from, to);
        int64_t low = meshc::getSentLow(round, p, q, size);
        ASSERT_GE(low, 0);
        ASSERT_LE(low + size, from);
        for (int64_t entry = p * from + low; entry < p * from + low + size;
             ++entry)
          if (int64_t at = entry - offset - q * to; at >= 0 && at < to)
            isBrought[q][at] = true;
      }
      for (int64_t q = 0; q < ranks; ++q)
        ASSERT_EQ(meshc::getSenderIn(round, q, ranks), sendersOf[q]);
    }
    for (int64_t q = 0; q < ranks; ++q)
      for (int64_t at = 0; at < to; ++at) {
        int64_t entry = q * to + offset + at;
        ASSERT_EQ(isBrought[q][at], entry >= 0 && entry < ranks * from)
            << from << " to " << to << " from " << offset << ", receiver " << q
            << ", entry " << at;
      }
  }
}

TEST_F(StreamTest, RefusesPermutationsThatAreNone) {
  MeshcCollectiveItem item{1, 4, 1, 1, 4, 1};
  MeshcCollective collective{};
  collective.kind = MESHC_PERMUTE;
  collective.itemCount = 1;
  collective.items = &item;
  void *none = nullptr;
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
  MeshcPermutation permutation{};
  collective.permutation = &permutation;
  EXPECT_EQ(makeStreams(collective, pair, 0, &none, &none).send[0].size(), 4);
  permutation.receivers[0] = 1; // the group has one axis
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
  permutation.receivers[0] = 0;
  permutation.shift = 2;
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
  permutation.shift = 0;
  permutation.round = {4, 2, 0, 1};
  EXPECT_EQ(makeStreams(collective, pair, 0, &none, &none).send[0].size(), 4);
  for (const MeshcRound &wrong : {MeshcRound{4, 0, 0, 1},
                                  {0, 4, 0, 0},
                                  {4, 2, 0, -1},
                                  {4, 2, int64_t(1) << 32, 0}}) {
    permutation.round = wrong;
    EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
  }
  permutation.round = {4, 2, 0, 1};
  permutation.shift = 1; // a round has none
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
}

TEST_F(StreamTest, RefusesItemsThatContradictThemselves) {
  MeshcCollectiveItem item{2, 2, 3, 3, 2, 3};
  MeshcCollective collective{};
  collective.kind = MESHC_ALL_TO_ALL;
  collective.itemCount = 1;
  collective.items = &item;
  void *none = nullptr;
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
  // As many elements, but blocks of 2 rows of 3 are no whole rows of 2.
  item = {2, 1, 3, 3, 1, 2};
  EXPECT_THROW(makeStreams(collective, pair, 0, &none, &none), Failure);
}

} // namespace
