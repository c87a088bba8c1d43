//===- PulseChannelTest.cpp - questions between hosts ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/PulseChannel.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>

using namespace meshc::runtime;

namespace {

/// Ranks 0 and 1 are on this host, 2 to 5 on others. The test runs rank 0.
constexpr int ranks = 6;

struct Mail {
  int rank; ///< from whom, or to whom
  std::string text;
};

/// An MPI whose other ranks are the test's.
std::mutex mailLock;
std::condition_variable mailed;
std::deque<Mail> toTest, fromTest;

int sendMail(const void *data, size_t bytes, int to, int, uint64_t *) {
  std::lock_guard<std::mutex> lock(mailLock);
  toTest.push_back({to, {static_cast<const char *>(data), bytes}});
  mailed.notify_all();
  return 0;
}
int receiveMail(void *data, size_t, int, int, uint64_t *) {
  std::lock_guard<std::mutex> lock(mailLock);
  std::memcpy(data, fromTest.front().text.data(), fromTest.front().text.size());
  fromTest.pop_front();
  mailed.notify_all();
  return 0;
}
int probeMail(int, int *from) {
  std::lock_guard<std::mutex> lock(mailLock);
  *from = fromTest.empty() ? -1 : fromTest.front().rank;
  return 0;
}
int testMail(uint64_t *, int *done, size_t *) {
  *done = 1;
  return 0;
}

/// The messages of the channel, as PulseChannel.h describes them.
struct Message {
  uint32_t isAnswer;
  int32_t rank;
  Pulse pulse;
};

class Channel : public testing::Test {
protected:
  Channel() {
    mpi.send = sendMail;
    mpi.receive = receiveMail;
    mpi.probe = probeMail;
    mpi.test = testMail;
    toTest.clear();
    fromTest.clear();
  }
  static SharedSegment makeSegment() {
    size_t size = SharedSegment::bytes(2, 4096, ranks);
    std::shared_ptr<void> memory(std::aligned_alloc(4096, size), std::free);
    std::memset(memory.get(), 0, size);
    return {memory, 2, 4096, ranks};
  }
  /// Waits for a message to rank `to`.
  static Message next(int to) {
    std::unique_lock<std::mutex> lock(mailLock);
    mailed.wait(lock, [] { return !toTest.empty(); });
    Message message{};
    EXPECT_EQ(toTest.front().rank, to);
    EXPECT_EQ(toTest.front().text.size(), sizeof(message));
    std::memcpy(&message, toTest.front().text.data(), sizeof(message));
    toTest.pop_front();
    return message;
  }
  static void deliver(int from, const Message &message) {
    std::unique_lock<std::mutex> lock(mailLock);
    fromTest.push_back(
        {from, {reinterpret_cast<const char *>(&message), sizeof(message)}});
    mailed.wait(lock, [] { return fromTest.empty(); });
  }
  static Pulse pulseAt(uint64_t taken) {
    Pulse pulse;
    pulse.progress = static_cast<uint32_t>(100 + taken);
    pulse.turns = 7;
    pulse.waitsFor = 1 + 4;
    pulse.runnable = 1;
    pulse.taken = taken;
    return pulse;
  }

  MeshcMpi mpi{};
  SharedSegment segment = makeSegment();
  SharedTransport local{segment, {0, 1}, 0, WaitPolicy{}, false};
  SharedTransport neighbor{segment, {0, 1}, 1, WaitPolicy{}, false};
  PulseChannel channel{mpi, local};
};

/// Rank 0 may have no connection to rank 4.
TEST_F(Channel, TheAwaitedRankIsAskedAboutTheRanksBehindIt) {
  channel.request(4, /*awaited=*/2);
  Message question = next(2);
  EXPECT_EQ(question.isAnswer, 0u);
  EXPECT_EQ(question.rank, 4);
  // It is repeated.
  EXPECT_EQ(next(2).rank, 4);

  deliver(2, {1, 4, pulseAt(50)});
  deliver(2, {0, 0, {}}); // answered, so the one before has been taken
  while (!next(2).isAnswer)
    ;
  for (const SharedTransport *member : {&local, &neighbor}) {
    EXPECT_EQ(member->pulseOf(4).progress, 150u);
    EXPECT_EQ(member->pulseOf(4).turns, 7u);
    EXPECT_EQ(member->pulseOf(4).waitsFor, 5u);
    EXPECT_EQ(member->pulseOf(4).runnable, 1u);
    EXPECT_EQ(member->pulseOf(4).taken, 50u);
  }
}

TEST_F(Channel, AnyKnownPulseIsTold) {
  segment.member(1).progress = 31;
  deliver(3, {0, 1, {}});
  Message answer = next(3);
  EXPECT_EQ(answer.isAnswer, 1u);
  EXPECT_EQ(answer.rank, 1);
  EXPECT_EQ(answer.pulse.progress, 31u);
  EXPECT_GT(answer.pulse.taken, 0u);

  neighbor.notePulse(5, pulseAt(60));
  deliver(3, {0, 5, {}});
  EXPECT_EQ(next(3).pulse.progress, 160u);

  deliver(3, {0, 4, {}});
  answer = next(3);
  EXPECT_EQ(answer.rank, 4);
  EXPECT_EQ(answer.pulse.taken, 0u); // nothing is known
}

/// Otherwise two ranks that pass on pulses of different ages would make a
/// stopped rank look alive.
TEST_F(Channel, TheNewestPulseStays) {
  local.notePulse(4, pulseAt(60));
  neighbor.notePulse(4, pulseAt(50));
  EXPECT_EQ(neighbor.pulseOf(4).progress, 160u);
  neighbor.notePulse(4, pulseAt(61));
  EXPECT_EQ(local.pulseOf(4).progress, 161u);
  // Not of members, which are seen themselves.
  neighbor.notePulse(0, pulseAt(62));
  EXPECT_EQ(neighbor.pulseOf(0).progress, 0u);
}

/// MPI may hold the member up because a rank of the other host has failed. That
/// rank's failure is the one to report, and is on its way.
TEST_F(Channel, AMemberThatFellSilentInAWaitForAnotherHostGetsMoreTime) {
  WaitPolicy policy;
  policy.timeoutSeconds = 0.1;
  SharedTransport impatient{segment, {0, 1}, 0, policy, false};
  auto waitASecond = [&] {
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    impatient.wait(1, [&] { return std::chrono::steady_clock::now() > end; });
  };
  segment.member(1).waitsFor = 1 + 4;
  EXPECT_NO_THROW(waitASecond());
  segment.member(1).waitsFor = 0; // it works, and makes no progress
  EXPECT_THROW(waitASecond(), WaitBroken);
}

} // namespace
