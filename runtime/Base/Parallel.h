//===- Parallel.h - loops over a rank's threads -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loops over the threads of a rank. The threads are OpenMP's (libgomp), the
/// one thread runtime of a program, shared with oneDNN. A rank is one thread,
/// alone in its process or not, and leads its own team.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BASE_PARALLEL_H
#define MESHC_RUNTIME_BASE_PARALLEL_H

#include <atomic>
#include <cstdint>

namespace meshc::runtime {

/// Opens libgomp, whose threads run the loops, if it is not open yet. Throws
/// Failure (Device) if it cannot be opened; so do the functions below.
void openThreads();

/// Sets how many threads (≥ 1) the loops of the calling rank, and oneDNN, use,
/// and starts them. Throws Failure (Internal) if the system cannot create that
/// many.
void setThreads(int count);

/// How many threads the loops of the calling rank use.
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
/// which there are `count` ≥ 1; they may wait for each other. `body` does not
/// throw.
using TeamBody = void (*)(void *state, int64_t thread, int64_t count);
void parallelTeam(TeamBody body, void *state);

/// The same for a callable (int64_t thread, int64_t count).
template <typename Body> void parallelTeam(const Body &body) {
  parallelTeam(
      [](void *state, int64_t thread, int64_t count) {
        (*static_cast<const Body *>(state))(thread, count);
      },
      const_cast<Body *>(&body));
}

/// While it exists, loops that the calling thread of a team begins run on that
/// thread alone.
class SingleThread {
public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread &) = delete;
  SingleThread &operator=(const SingleThread &) = delete;

private:
  int before;
};

/// One turn of a loop in which a thread waits for another: spins in the first
/// turns, then yields, since there may be more threads than cores.
void waitTurn(int turn);

/// A barrier for the threads of a team.
class TeamBarrier {
public:
  void wait(int64_t count);

private:
  std::atomic<int64_t> arrived{0}, generation{0};
};

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BASE_PARALLEL_H
