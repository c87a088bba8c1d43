//===- TestWorlds.cpp - ranks for tests -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestWorlds.h"

#include "runtime/Comm/Bootstrap.h"
#include "runtime/Comm/ThreadWorld.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc;
using namespace meshc::runtime;

namespace {

/// Forked processes know each other by memory of their parent's.
class ForkBootstrap final : public Bootstrap {
public:
  static constexpr size_t noteBytes = 512;
  struct Board {
    std::atomic<uint32_t> arrivals;
    char notes[1][noteBytes];
  };

  static Board *makeBoard(int size) {
    void *memory = mmap(nullptr, bytes(size), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return static_cast<Board *>(memory);
  }
  static void drop(Board *board, int size) { munmap(board, bytes(size)); }

  ForkBootstrap(Board *board, int rank, int size)
      : board(board), own(rank), count(size) {}

  int rank() const override { return own; }
  int size() const override { return count; }
  void allGather(const void *data, size_t bytes, void *all) override {
    ASSERT_LE(bytes, noteBytes);
    std::memcpy(board->notes[own], data, bytes);
    meet();
    for (int r = 0; r < count; ++r)
      std::memcpy(static_cast<char *>(all) + r * bytes, board->notes[r], bytes);
    meet();
  }

private:
  static size_t bytes(int size) { return sizeof(Board) + size * noteBytes; }
  void meet() {
    ++rounds;
    board->arrivals.fetch_add(1);
    while (board->arrivals.load() < rounds * count)
      usleep(100);
  }

  Board *board;
  int own, count;
  uint32_t rounds = 0;
};

int runChild(Bootstrap &bootstrap, double timeoutSeconds,
             const test::Body &body) {
  try {
    HostConnection host = connectHost(bootstrap, 1, timeoutSeconds);
    TransportCommunicator communicator(host.shape, std::move(host.transport));
    try {
      body(communicator);
    } catch (const std::exception &error) {
      bool first = communicator.fail(error.what());
      std::fprintf(stderr, "%s rank %d: %s\n",
                   first ? "first:" : "then:", bootstrap.rank(), error.what());
      return 1;
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "rank %d: %s\n", bootstrap.rank(), error.what());
    return 1;
  }
  return testing::Test::HasFailure() ? 1 : 0;
}

World *worldOfMpirun = nullptr;

} // namespace

test::Statuses test::runForked(int ranks, double timeoutSeconds,
                               const test::Body &body) {
  ForkBootstrap::Board *board = ForkBootstrap::makeBoard(ranks);
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    pid_t child = fork();
    if (child == 0) {
      ForkBootstrap bootstrap(board, rank, ranks);
      int code = runChild(bootstrap, timeoutSeconds, body);
      std::fflush(nullptr);
      _exit(code);
    }
    children.push_back(child);
  }
  Statuses statuses;
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    statuses.push_back(status);
  }
  ForkBootstrap::drop(board, ranks);
  return statuses;
}

World *test::mpiWorld() { return worldOfMpirun; }
void test::setMpiWorld(World *world) { worldOfMpirun = world; }

void test::runRanks(const std::string &kind, int ranks,
                    const test::Body &body) {
  constexpr double timeoutSeconds = 60;
  if (kind == "threads")
    openThreadWorld(ranks, 1, timeoutSeconds)->run(body);
  else if (kind == "shm")
    EXPECT_EQ(runForked(ranks, timeoutSeconds, body), Statuses(ranks, 0));
  else
    mpiWorld()->run(body);
}
