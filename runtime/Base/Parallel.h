//===- Parallel.h - loops over a rank's threads -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops over the threads of a rank. A rank is one thread, alone in its process
/// or not, and leads its own team. Teams are a program's one thread runtime:
/// oneDNN, which is compiled for OpenMP (libgomp), runs its loops on them, too
/// (OpenMp.cpp). A thread without work polls, yields its core, and then sleeps
/// (Waiting.h).
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_PARALLEL_H
#define MESHC_RUNTIME_BASE_PARALLEL_H

#include "runtime/Base/Waiting.h"

#include <atomic>
#include <cstdint>

namespace meshc::runtime {

/// Sets how many threads (≥ 1) the loops of the calling rank, and oneDNN, use,
/// and starts them. Throws Failure (Internal) if the system cannot create that
/// many; the rank then has as many as before.
void setThreads(int count);

/// How many threads the loops of the calling rank use: 1 within such a loop.
int threads();

/// How many CPUs this process may run on.
int availableCores();

/// One piece of a loop: iterations [begin, end).
using LoopBody = void (*)(void *state, int64_t begin, int64_t end);

/// Runs `body` over [0, extent), split over the rank's threads into pieces of
/// at least `grain` ≥ 1 iterations; on the calling thread alone if that leaves
/// one piece. `body` does not throw.
void parallelFor(int64_t extent, int64_t grain, LoopBody body, void *state);

/// The same for a callable (int64_t begin, int64_t end).
template <typename Body>
void parallelFor(int64_t extent, int64_t grain, const Body &body) {
  parallelFor(
      extent, grain,
      [](void *state, int64_t begin, int64_t end) {
        (*static_cast<const Body *>(state))(begin, end);
      },
      const_cast<Body *>(&body));
}

/// Runs `body(state, thread, count)` once on each of the rank's threads, of
/// which there are `count` ≥ 1; they may wait for each other. Within a loop,
/// the calling thread alone runs it. `body` does not throw.
using TeamBody = void (*)(void *state, int64_t thread, int64_t count);
void parallelTeam(TeamBody body, void *state);

/// The same for at most `most` ≥ 1 threads.
void parallelTeam(int64_t most, TeamBody body, void *state);

/// The same for a callable (int64_t thread, int64_t count).
template <typename Body> void parallelTeam(const Body &body) {
  parallelTeam(
      [](void *state, int64_t thread, int64_t count) {
        (*static_cast<const Body *>(state))(thread, count);
      },
      const_cast<Body *>(&body));
}

/// A barrier for the threads of a team.
class TeamBarrier {
public:
  void wait(int64_t count);

private:
  std::atomic<int64_t> arrived{0}, generation{0};
  WaitingRoom room;
};

/// What the calling thread is within the innermost loop that it runs: one of
/// `count` threads. Outside of loops, and in a loop within a loop, it is the
/// only one.
struct TeamMember {
  int64_t thread = 0, count = 1;
  TeamBarrier *barrier = nullptr; ///< of all members; null if count is 1
};
TeamMember teamMember();

/// Whether the calling thread shares a loop with others, perhaps one around
/// the innermost.
bool isInTeam();

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_PARALLEL_H
