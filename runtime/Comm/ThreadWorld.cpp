//===- ThreadWorld.cpp - ranks as threads of one process ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/ThreadWorld.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Comm/Bootstrap.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <thread>

using namespace meshc::runtime;

namespace {

/// How long a failed run waits for ranks that do not communicate.
constexpr auto graceAfterFailure = std::chrono::seconds(5);

/// The threads' shared state. It outlives a thread that is abandoned.
struct Shared {
  std::function<void(Communicator &)> body;
  std::vector<std::unique_ptr<TransportCommunicator>>
      communicators; ///< by rank
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  int failedRank = -1;
  std::string failure;
  std::exception_ptr cause;
};

/// Called while an exception of `rank` is being handled; `faulty` is the rank
/// that it blames.
void recordFailure(Shared &shared, int rank, int faulty,
                   const std::string &message) {
  if (!shared.communicators[rank]->fail(message))
    return;
  std::lock_guard<std::mutex> lock(shared.mutex);
  shared.failedRank = faulty;
  shared.failure = message;
  shared.cause = std::current_exception();
}

void runRank(Shared &shared, int rank) {
  try {
    shared.communicators[rank]->attachThread();
    shared.body(*shared.communicators[rank]);
  } catch (const CommunicationError &error) {
    recordFailure(shared, rank, error.rank() >= 0 ? error.rank() : rank,
                  error.what());
  } catch (const std::exception &error) {
    recordFailure(shared, rank, rank, error.what());
  } catch (...) {
    recordFailure(shared, rank, rank, "an exception of unknown type");
  }
  std::lock_guard<std::mutex> lock(shared.mutex);
  --shared.running;
  shared.changed.notify_all();
}

class ThreadWorld final : public World {
public:
  ThreadWorld(int ranks, int threadsPerRank, double timeoutSeconds,
              int ranksPerHost)
      : shared(std::make_shared<Shared>()), ranks(ranks) {
    SharedSegment segment =
        SharedSegment::inProcess(ranks, slotBytesFor(ranks));
    std::vector<int> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    auto bufferUse = std::make_shared<BufferUse>();
    for (int rank = 0; rank < ranks; ++rank) {
      WorldShape shape;
      shape.rank = rank;
      shape.hosts.resize(ranks);
      for (int other = 0; other < ranks; ++other)
        shape.hosts[other] = ranksPerHost > 0 ? other / ranksPerHost : 0;
      shape.bufferUse = bufferUse;
      auto transport = std::make_unique<SharedTransport>(
          segment, all, rank,
          WaitPolicy::forRanks(ranks, threadsPerRank, timeoutSeconds),
          /*processes=*/false);
      shared->communicators.push_back(
          std::make_unique<TransportCommunicator>(shape, std::move(transport)));
    }
  }

  int size() const override { return ranks; }
  const char *kind() const override { return "threads"; }

  void run(const std::function<void(Communicator &)> &body) override {
    shared->body = body;
    shared->running = ranks;
    if (ranks == 1)
      runRank(*shared, 0);
    else
      runThreads();
    std::lock_guard<std::mutex> lock(shared->mutex);
    if (shared->failedRank >= 0)
      throw RankFailure(shared->failedRank, shared->failure, shared->cause,
                        /*second=*/false);
  }

  void finish(int code) override {
    if (!leftBehind)
      return;
    std::fflush(nullptr);
    std::_Exit(code);
  }

private:
  /// One thread per rank; fewer if the system cannot create more, and then the
  /// run has failed.
  std::vector<std::thread> startThreads() {
    std::vector<std::thread> threads;
    threads.reserve(ranks);
    try {
      while (static_cast<int>(threads.size()) < ranks)
        threads.emplace_back([shared = shared, rank = threads.size()] {
          runRank(*shared, static_cast<int>(rank));
        });
    } catch (const std::system_error &error) {
      recordNotStarted(static_cast<int>(threads.size()), error);
    }
    return threads;
  }

  /// The threads from `rank` on could not be started.
  void recordNotStarted(int rank, const std::system_error &error) {
    const std::string message =
        "a run of " + std::to_string(ranks) + " ranks as threads needs " +
        std::to_string(ranks) + " threads, and the system gave " +
        std::to_string(rank) + " (" + error.code().message() +
        "); raise the limit (ulimit -u) or run it under "
        "mpirun on more hosts";
    try {
      if (auto lack = noRoomForStacks("thread " + std::to_string(rank + 1) +
                                      " of the " + std::to_string(ranks) +
                                      " threads that are the ranks"))
        throw *lack;
      throw Failure(ExitCode::Communication, message);
    } catch (const Failure &failure) {
      recordFailure(*shared, rank, rank, failure.what());
    }
    std::lock_guard<std::mutex> lock(shared->mutex);
    shared->running -= ranks - rank;
  }

  void runThreads() {
    std::vector<std::thread> threads = startThreads();
    std::unique_lock<std::mutex> lock(shared->mutex);
    auto allDone = [&] { return shared->running == 0; };
    shared->changed.wait(lock,
                         [&] { return allDone() || shared->failedRank >= 0; });
    leftBehind = !shared->changed.wait_for(lock, graceAfterFailure, allDone);
    lock.unlock();
    for (std::thread &thread : threads)
      if (leftBehind)
        thread.detach();
      else
        thread.join();
  }

  std::shared_ptr<Shared> shared;
  int ranks;
  bool leftBehind = false;
};

} // namespace

std::unique_ptr<World> meshc::runtime::openThreadWorld(int ranks,
                                                       int threadsPerRank,
                                                       double timeoutSeconds,
                                                       int ranksPerHost) {
  return std::make_unique<ThreadWorld>(ranks, threadsPerRank, timeoutSeconds,
                                       ranksPerHost);
}
