//===- Parallel.cpp - loops over a rank's threads -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Base/Parallel.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Base/Failure.h"
#include "runtime/Base/SystemLibrary.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace meshc::runtime;

namespace {

/// libgomp's entry points, as GCC calls them. clang compiles OpenMP to those of
/// another runtime, and a program can have only one.
struct OpenMp {
  SystemLibrary library{"libgomp.so.1", "libgomp1", "threads"};
  void (*parallel)(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags) =
      library.find<void(void (*)(void *), void *, unsigned, unsigned)>(
          "GOMP_parallel");
  void (*setThreads)(int count) =
      library.find<void(int)>("omp_set_num_threads");
  int (*maxThreads)() = library.find<int()>("omp_get_max_threads");
  int (*teamSize)() = library.find<int()>("omp_get_num_threads");
  int (*threadNumber)() = library.find<int()>("omp_get_thread_num");
};

} // namespace

static const OpenMp &openMp() {
  static const OpenMp opened;
  return opened;
}

void meshc::runtime::openThreads() { openMp(); }

/// Tells the core that the thread waits.
static inline void pauseCore() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Checks whether `count` threads can be created, by creating them. Returns the
/// error otherwise; throws tooLittleMemory() if it is that.
static std::string tryThreads(int count) {
  std::mutex mutex;
  std::unique_lock<std::mutex> gate(mutex);
  std::vector<pid_t> numbers(static_cast<size_t>(count), 0);
  std::vector<std::thread> threads;
  std::string problem;
  std::optional<Failure> lack;
  try {
    threads.reserve(numbers.size());
    for (pid_t &number : numbers)
      threads.emplace_back([&mutex, &number] {
        number = static_cast<pid_t>(syscall(SYS_gettid));
        std::lock_guard<std::mutex> wait(mutex);
      });
  } catch (const std::system_error &error) {
    problem = error.code().message();
    lack = noRoomForStacks("the " + std::to_string(count + 1) +
                           " threads of a rank");
  }
  gate.unlock();
  for (std::thread &thread : threads)
    thread.join();
  // A joined thread still counts for a moment.
  for (size_t i = 0; i < threads.size(); ++i)
    for (int turn = 0; turn < 10000; ++turn) {
      if (syscall(SYS_tgkill, getpid(), numbers[i], 0) != 0)
        break;
      usleep(100);
    }
  if (lack)
    throw *lack;
  return problem;
}

static void doNothing(void *) {}

/// libgomp terminates the program if it cannot create a thread, so thread
/// creation is tested first, by one rank after the other, because other ranks
/// of the process create theirs at the same time.
void meshc::runtime::setThreads(int count) {
  static std::mutex oneAfterTheOther;
  static thread_local int started = 1;
  count = std::max(count, 1);
  openMp().setThreads(count);
  if (count > started) {
    std::lock_guard<std::mutex> lock(oneAfterTheOther);
    std::string problem = tryThreads(count - 1);
    if (!problem.empty())
      throw Failure(ExitCode::Internal,
                    "cannot start the " + std::to_string(count) +
                        " threads of a rank: " + problem +
                        "; give fewer by '--threads', or raise the limit of "
                        "processes (ulimit -u)");
    openMp().parallel(doNothing, nullptr, static_cast<unsigned>(count), 0);
  }
  started = count;
}

int meshc::runtime::threads() { return openMp().maxThreads(); }

int meshc::runtime::availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), 1);
}

namespace {
struct Loop {
  LoopBody body;
  void *state;
  int64_t extent, pieces;
};
} // namespace

/// The work of each thread in the team. All threads enter even if there are
/// fewer pieces, because libgomp ends threads that a smaller team leaves out.
static void runPieces(void *data) {
  const Loop &loop = *static_cast<Loop *>(data);
  int64_t thread = openMp().threadNumber(), count = openMp().teamSize();
  int64_t firstPiece = loop.pieces * thread / count;
  int64_t lastPiece = loop.pieces * (thread + 1) / count;
  if (firstPiece == lastPiece)
    return;
  int64_t size = loop.extent / loop.pieces, rest = loop.extent % loop.pieces;
  int64_t begin = firstPiece * size + std::min(firstPiece, rest);
  int64_t end = lastPiece * size + std::min(lastPiece, rest);
  loop.body(loop.state, begin, end);
}

void meshc::runtime::parallelFor(int64_t extent, int64_t grain, LoopBody body,
                                 void *state) {
  if (extent <= 0)
    return;
  int64_t count = extent > grain ? threads() : 1;
  int64_t pieces = std::min(count, extent / std::max<int64_t>(grain, 1));
  if (pieces <= 1)
    return body(state, 0, extent);
  Loop loop{body, state, extent, pieces};
  openMp().parallel(runPieces, &loop, static_cast<unsigned>(count), 0);
}

namespace {
struct Team {
  TeamBody body;
  void *state;
};
} // namespace

static void runMember(void *data) {
  const Team &team = *static_cast<Team *>(data);
  team.body(team.state, openMp().threadNumber(), openMp().teamSize());
}

void meshc::runtime::parallelTeam(TeamBody body, void *state) {
  if (threads() == 1)
    return body(state, 0, 1);
  Team team{body, state};
  openMp().parallel(runMember, &team, 0, 0);
}

SingleThread::SingleThread() : before(threads()) { openMp().setThreads(1); }

SingleThread::~SingleThread() { openMp().setThreads(before); }

void meshc::runtime::waitTurn(int turn) {
  if (turn < 4000)
    pauseCore();
  else
    sched_yield();
}

void TeamBarrier::wait(int64_t count) {
  if (count == 1)
    return;
  int64_t now = generation.load(std::memory_order_relaxed);
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived.store(0, std::memory_order_relaxed);
    generation.store(now + 1, std::memory_order_release);
    return;
  }
  for (int turn = 0; generation.load(std::memory_order_acquire) == now; ++turn)
    waitTurn(turn);
}
