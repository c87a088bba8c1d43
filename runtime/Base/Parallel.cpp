//===- Parallel.cpp - loops over a rank's threads -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/SignalStack.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <sched.h>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

namespace {

/// The threads that a rank starts. The rank's own thread is number 0.
class Team {
public:
  Team() = default;
  ~Team();
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;

  /// Starts threads until there are `count`. Throws std::system_error.
  void grow(int count);

  /// Runs `body` on the first `count` threads.
  void run(int64_t count, TeamBody body, void *state);

private:
  void serve(int64_t thread);

  /// What the threads shall do. It changes only while none of those that take
  /// part is at work: the others read its count in `order` alone.
  struct {
    TeamBody body;
    void *state;
  } work = {};
  /// The number of the order times 2^16, and how many threads take part; 0 of
  /// them: all end.
  std::atomic<uint64_t> order{0};
  std::atomic<int64_t> busy{0}; ///< threads beside the leader
  WaitingRoom workers, leader;
  TeamBarrier barrier;
  std::vector<std::thread> threads;
};

/// What a thread is, in the innermost loop that it runs.
struct Membership {
  TeamMember member;
  bool isWithin = false; ///< a loop of several threads
};

} // namespace

static constexpr uint64_t orderStep = 1 << 16;
static constexpr int mostThreads = orderStep - 1;

static thread_local Membership membership;
/// Of the calling rank.
static thread_local std::unique_ptr<Team> team;
static thread_local int teamSize = 1;

Team::~Team() {
  order.store((order.load() / orderStep + 1) * orderStep);
  workers.notify();
  for (std::thread &thread : threads)
    thread.join();
}

void Team::grow(int count) {
  while (static_cast<int>(threads.size()) + 1 < count)
    threads.emplace_back([this, thread = static_cast<int64_t>(threads.size()) +
                                         1] { serve(thread); });
}

/// Runs `body` as one of the members, on the calling thread.
static void runAs(const TeamMember &member, TeamBody body, void *state) {
  const Membership before = membership;
  membership = {member, before.isWithin || member.count > 1};
  body(state, member.thread, member.count);
  membership = before;
}

void Team::run(int64_t count, TeamBody body, void *state) {
  work = {body, state};
  busy.store(count - 1, std::memory_order_relaxed);
  order.store((order.load(std::memory_order_relaxed) / orderStep + 1) *
                      orderStep +
                  static_cast<uint64_t>(count),
              std::memory_order_release);
  workers.notify();
  runAs({0, count, &barrier}, body, state);
  leader.wait([&] { return busy.load(std::memory_order_acquire) == 0; });
}

/// The life of a thread. It cannot miss an order in which it takes part, since
/// the leader waits for it.
void Team::serve(int64_t thread) {
  useSignalStack();
  uint64_t seen = 0;
  while (true) {
    uint64_t now = seen;
    workers.wait(
        [&] { return (now = order.load(std::memory_order_acquire)) != seen; });
    seen = now;
    auto count = static_cast<int64_t>(now % orderStep);
    if (count == 0)
      return;
    if (thread >= count)
      continue;
    runAs({thread, count, &barrier}, work.body, work.state);
    if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1)
      leader.notify();
  }
}

void meshc::runtime::setThreads(int count) {
  count = std::clamp(count, 1, mostThreads);
  useSignalStack();
  if (count > 1 && !team)
    team = std::make_unique<Team>();
  try {
    if (team)
      team->grow(count);
  } catch (const std::system_error &error) {
    const std::string what =
        "the " + std::to_string(count) + " threads of a rank";
    if (std::optional<Failure> lack = noRoomForStacks(what))
      throw *lack;
    throw Failure(ExitCode::Internal,
                  "cannot start " + what + ": " + error.code().message() +
                      "; give fewer by '--threads', or raise the limit of "
                      "processes (ulimit -u)");
  }
  teamSize = count;
}

int meshc::runtime::threads() { return membership.isWithin ? 1 : teamSize; }

int meshc::runtime::availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

TeamMember meshc::runtime::teamMember() { return membership.member; }

bool meshc::runtime::isInTeam() { return membership.isWithin; }

void meshc::runtime::parallelTeam(int64_t most, TeamBody body, void *state) {
  int64_t count = std::min<int64_t>(threads(), most);
  if (count > 1)
    team->run(count, body, state);
  else
    runAs({0, 1, nullptr}, body, state);
}

void meshc::runtime::parallelTeam(TeamBody body, void *state) {
  parallelTeam(std::numeric_limits<int64_t>::max(), body, state);
}

void meshc::runtime::parallelFor(int64_t extent, int64_t grain, LoopBody body,
                                 void *state) {
  if (extent <= 0)
    return;
  int64_t pieces =
      std::min<int64_t>(threads(), extent / std::max<int64_t>(grain, 1));
  if (pieces <= 1)
    return body(state, 0, extent);
  struct Loop {
    LoopBody body;
    void *state;
    int64_t extent;
  } loop{body, state, extent};
  parallelTeam(
      pieces,
      [](void *data, int64_t thread, int64_t count) {
        const Loop &loop = *static_cast<Loop *>(data);
        int64_t size = loop.extent / count, rest = loop.extent % count;
        int64_t begin = thread * size + std::min(thread, rest);
        loop.body(loop.state, begin, begin + size + (thread < rest));
      },
      &loop);
}

void TeamBarrier::wait(int64_t count) {
  if (count == 1)
    return;
  int64_t now = generation.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(now + 1, std::memory_order_release);
    room.notify();
    return;
  }
  room.wait([&] { return generation.load(std::memory_order_acquire) != now; });
}
