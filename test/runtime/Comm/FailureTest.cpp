//===- FailureTest.cpp - ranks that fail, die, or do not come -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestWorlds.h"

#include "runtime/Base/AvailableMemory.h"
#include "runtime/Comm/Leftovers.h"
#include "runtime/Comm/ThreadWorld.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

constexpr MeshcSite sites[] = {{"gpt.mesh:14:13", "all_reduce of 'h'"},
                               {"gpt.mesh:20:3", "all_reduce of 'loss'"}};

const MeshcProgram &program() {
  static MeshcProgram made = [] {
    MeshcProgram p{};
    p.siteCount = 2;
    p.sites = sites;
    return p;
  }();
  return made;
}

/// An all-reduce of `n` floats among all ranks at a site of the program.
void reduceAt(Communicator &communicator, uint32_t site, int64_t n) {
  communicator.setProgram(&program());
  std::vector<float> values(n, 1);
  MeshcCollectiveItem item{1, n, 1, 1, n, 1};
  MeshcCollective collective{};
  collective.axes = 1;
  collective.site = site;
  collective.itemCount = 1;
  collective.items = &item;
  void *data = values.data();
  MeshView mesh({communicator.size()}, communicator.rank());
  communicator.run(collective, mesh.group(1), &data, &data);
}

void expectEnd(const std::string &text, const std::string &end) {
  ASSERT_GE(text.size(), end.size()) << text;
  EXPECT_EQ(text.substr(text.size() - end.size()), end) << text;
}

/// The failure of a run of `ranks` threads.
RankFailure failureOf(int ranks, double timeoutSeconds, const Body &body) {
  try {
    openThreadWorld(ranks, 1, timeoutSeconds)->run(body);
  } catch (const RankFailure &failure) {
    return failure;
  }
  ADD_FAILURE() << "the run did not fail";
  return RankFailure(-1, "", nullptr, false);
}

/// Some ranks do nothing until others have noticed. They take no processor time
/// meanwhile, which would be progress.
class Idle {
public:
  void untilNoticed() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return noticed; });
  }
  /// `wait` fails because a rank idles.
  void notice(const std::function<void()> &wait) {
    try {
      wait();
    } catch (...) {
      {
        std::lock_guard<std::mutex> lock(mutex);
        noticed = true;
      }
      changed.notify_all();
      throw;
    }
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool noticed = false;
};

TEST(Failure, RankThatThrowsEndsTheRun) {
  RankFailure failure = failureOf(4, 60, [](Communicator &communicator) {
    reduceAt(communicator, 0, 10);
    if (communicator.rank() == 2)
      throw Failure(ExitCode::Data, "no file 'x.idx'");
    reduceAt(communicator, 0, 100000);
  });
  EXPECT_EQ(failure.rank(), 2);
  EXPECT_STREQ(failure.what(), "no file 'x.idx'");
  EXPECT_FALSE(failure.isSecond());
  try {
    std::rethrow_exception(failure.cause());
  } catch (const Failure &cause) {
    EXPECT_EQ(cause.code(), ExitCode::Data);
  }
}

TEST(Failure, OthersAreToldWhoFailedAndWhy) {
  std::string told;
  failureOf(2, 60, [&](Communicator &communicator) {
    if (communicator.rank() == 1)
      throw std::runtime_error("out of cheese");
    try {
      communicator.barrier();
    } catch (const CommunicationError &error) {
      told = error.what();
      EXPECT_TRUE(error.isSecond());
      EXPECT_EQ(error.rank(), 1);
      throw;
    }
  });
  EXPECT_EQ(told, "rank 1 failed: out of cheese");
}

TEST(Failure, RankThatDoesNotComeIsNamedWithThePlace) {
  Idle idle;
  RankFailure failure = failureOf(4, 0.2, [&](Communicator &communicator) {
    if (communicator.rank() == 1 || communicator.rank() == 3)
      idle.untilNoticed();
    else
      idle.notice([&] { reduceAt(communicator, 1, 10); });
  });
  std::string message = failure.what();
  EXPECT_TRUE(failure.rank() == 1 || failure.rank() == 3) << message;
  std::string both = failure.rank() == 1 ? "ranks 1, 3" : "ranks 3, 1";
  EXPECT_EQ(message.substr(0, message.find(':')),
            both + " have made no progress for 0.2 s");
  expectEnd(message, ", in all_reduce of 40 bytes among 4 ranks at "
                     "gpt.mesh:20:3 (all_reduce of 'loss')");
}

TEST(Failure, BarrierTimesOutToo) {
  // Ranks wait for others who wait too; only the last of them is to blame.
  Idle idle;
  RankFailure failure = failureOf(6, 0.1, [&](Communicator &communicator) {
    if (communicator.rank() == 1)
      idle.untilNoticed();
    else
      idle.notice([&] { communicator.barrier(); });
  });
  EXPECT_EQ(failure.rank(), 1);
  std::string message = failure.what();
  EXPECT_EQ(message.substr(0, message.find(':')),
            "rank 1 has made no progress for 0.1 s");
  expectEnd(message, " for rank 1, in a barrier of all ranks");
}

TEST(Failure, RanksInDifferentCollectivesAreFound) {
  RankFailure failure = failureOf(2, 60, [](Communicator &communicator) {
    reduceAt(communicator, communicator.rank(), 10);
  });
  std::string message = failure.what();
  for (const char *part : {"ranks are in different collectives", "rank 0 in",
                           "rank 1 in", "gpt.mesh:14:13", "gpt.mesh:20:3"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Failure, DifferentSizesAreFound) {
  RankFailure failure = failureOf(2, 60, [](Communicator &communicator) {
    reduceAt(communicator, 0, 10 + communicator.rank());
  });
  std::string message = failure.what();
  EXPECT_NE(message.find("40 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find("44 bytes"), std::string::npos) << message;
}

TEST(Failure, KilledProcessIsNoticed) {
  testing::internal::CaptureStderr();
  Statuses statuses = runForked(3, 60, [](Communicator &communicator) {
    reduceAt(communicator, 0, 10);
    if (communicator.rank() == 1)
      raise(SIGKILL);
    reduceAt(communicator, 0, 100000);
  });
  std::string output = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  EXPECT_EQ(WEXITSTATUS(statuses[0]), 1);
  EXPECT_EQ(WEXITSTATUS(statuses[2]), 1);
  EXPECT_NE(output.find("the process of rank 1 ended while rank"),
            std::string::npos)
      << output;
  EXPECT_NE(output.find("gpt.mesh:14:13"), std::string::npos) << output;
}

TEST(Failure, ForkedRankThatThrowsEndsTheOthers) {
  testing::internal::CaptureStderr();
  Statuses statuses = runForked(4, 60, [](Communicator &communicator) {
    if (communicator.rank() == 3)
      throw std::runtime_error("disk full");
    communicator.barrier();
  });
  std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(statuses, Statuses(4, 1 << 8));
  EXPECT_NE(output.find("first: rank 3: disk full"), std::string::npos)
      << output;
  EXPECT_EQ(output.find("first:"), output.rfind("first:")) << output;
}

TEST(Failure, NothingStaysInSharedMemory) {
  // Names hold the number of the process that made them: the first rank's.
  EXPECT_EQ(runForked(2, 60,
                      [](Communicator &communicator) {
                        pid_t maker = getpid();
                        communicator.broadcast(&maker, sizeof(maker), 0);
                        std::string list = "ls /dev/shm | grep -q '^meshc-" +
                                           std::to_string(maker) + "-'";
                        EXPECT_NE(std::system(list.c_str()), 0);
                      }),
            Statuses(2, 0));
}

/// A file of a killed run, made two hours ago.
class OldSegment {
public:
  explicit OldSegment(const std::string &name)
      : path("/dev/shm/" + name + std::to_string(getpid())),
        file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    EXPECT_EQ(ftruncate(file, 4096), 0);
    timespec old{time(nullptr) - 7200, 0};
    timespec times[2] = {old, old};
    futimens(file, times);
  }
  ~OldSegment() {
    if (file >= 0)
      close(file);
    unlink(path.c_str());
  }
  OldSegment(const OldSegment &) = delete;
  OldSegment &operator=(const OldSegment &) = delete;

  /// Maps it, and closes the file, as those who share it do.
  void map() {
    mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    leave();
  }
  void leave() {
    close(file);
    file = -1;
  }
  bool isThere() const { return access(path.c_str(), F_OK) == 0; }

private:
  std::string path;
  int file;
};

TEST(Failure, LeftoversOfKilledRunsAreRemoved) {
  OldSegment left("meshc-left-"), used("meshc-used-"), open("meshc-open-");
  OldSegment mpi("vader_segment.left."), mapped("vader_segment.mapped.");
  left.leave();
  mpi.leave();
  used.map();
  mapped.map();
  for (const OldSegment *each : {&left, &used, &open, &mpi, &mapped})
    EXPECT_TRUE(each->isThere());
  auto nothing = [](Communicator &communicator) { communicator.barrier(); };
  EXPECT_EQ(runForked(2, 60, nothing), Statuses(2, 0));
  EXPECT_FALSE(left.isThere());
  EXPECT_FALSE(mpi.isThere());
  EXPECT_TRUE(used.isThere());
  EXPECT_TRUE(open.isThere());
  EXPECT_TRUE(mapped.isThere());
}

/// Runs `body` in a process that sees only itself in /proc, as in a container.
/// Returns false if the system does not permit that.
static bool runInPidNamespace(void (*body)()) {
  constexpr int notPermitted = 77;
  pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
      _exit(notPermitted);
    pid_t inner = fork();
    if (inner == 0) {
      if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          mount("proc", "/proc", "proc", 0, nullptr) != 0)
        _exit(notPermitted);
      body();
      _exit(0);
    }
    int status = 0;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
  }
  int status = 0;
  waitpid(outer, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == notPermitted);
  return WEXITSTATUS(status) == 0;
}

/// /dev/shm may be shared with containers whose processes are in no /proc here.
TEST(Failure, SegmentsOfOtherContainersStay) {
  OldSegment left("vader_segment.left."), mapped("vader_segment.mapped.");
  left.leave();
  mapped.map();
  if (!runInPidNamespace(removeLeftovers))
    GTEST_SKIP() << "namespaces are not permitted";
  EXPECT_FALSE(left.isThere());
  EXPECT_TRUE(mapped.isThere());
}

/// A page-aligned array that is gone when it ends, as a rank's arena.
class MappedFloats {
public:
  explicit MappedFloats(size_t n) : bytes(n * sizeof(float)) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  ~MappedFloats() { munmap(memory, bytes); }
  MappedFloats(const MappedFloats &) = delete;
  MappedFloats &operator=(const MappedFloats &) = delete;

  /// Sums them, in place, over the mesh's `axes`.
  void reduce(Communicator &communicator, const MeshView &mesh, uint32_t axes) {
    auto n = static_cast<int64_t>(bytes / sizeof(float));
    MeshcCollectiveItem item{1, n, 1, 1, n, 1};
    MeshcCollective collective{};
    collective.axes = axes;
    collective.itemCount = 1;
    collective.items = &item;
    communicator.run(collective, mesh.group(axes), &memory, &memory);
  }

private:
  size_t bytes;
  void *memory;
};

/// Enough that ranks use one another's buffers.
constexpr size_t manyFloats = 300000;

/// Ranks that fail give their memory back while others are on the way into a
/// collective with them, or in it.
TEST(Failure, NobodyUsesTheMemoryOfARankThatLeft) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    RankFailure failure = failureOf(4, 60, [=](Communicator &communicator) {
      MappedFloats values(manyFloats);
      MeshView mesh({2, 2}, communicator.rank());
      for (int step = 0; step < 20; ++step) {
        values.reduce(communicator, mesh, 1 + step % 3);
        if (communicator.rank() == repeat % 4 && step == repeat % 7)
          throw Failure(ExitCode::Numeric, "the loss is not a number");
      }
    });
    EXPECT_STREQ(failure.what(), "the loss is not a number");
    EXPECT_EQ(failure.rank(), repeat % 4);
  }
}

/// A rank waits for one that does not come, and gives up while another is about
/// to use its buffers.
TEST(Failure, ARankThatGivesUpKeepsItsBuffersWhileTheyAreUsed) {
  for (int repeat = 0; repeat < 10; ++repeat) {
    RankFailure failure = failureOf(3, 0.05, [=](Communicator &communicator) {
      MappedFloats values(manyFloats);
      MeshView mesh({3}, communicator.rank());
      if (communicator.rank() == 2)
        std::this_thread::sleep_for(
            std::chrono::microseconds(49000 + 500 * repeat));
      values.reduce(communicator, mesh, 1);
      values.reduce(communicator, mesh, 1);
      throw Failure(ExitCode::Data, "all came");
    });
    EXPECT_GE(failure.rank(), 0);
  }
}

TEST(Failure, ThreadsThatCannotStartEndTheRun) {
  testing::internal::CaptureStderr();
  pid_t child = fork();
  if (child == 0) {
    // Stacks of 8 MiB do not fit for 64 ranks.
    rlimit limit{};
    std::ifstream("/proc/self/statm") >> limit.rlim_cur;
    limit.rlim_cur = limit.rlim_cur * 4096 + (size_t{200} << 20);
    limit.rlim_max = limit.rlim_cur;
    setrlimit(RLIMIT_AS, &limit);
    shareHeapWithinLimit(); // as programs do
    try {
      openThreadWorld(64, 1, 60)->run(
          [](Communicator &communicator) { communicator.barrier(); });
    } catch (const RankFailure &failure) {
      std::fprintf(stderr, "%s\n", failure.what());
      std::_Exit(9);
    }
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::string output = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 9 << 8) << output;
  EXPECT_NE(output.find("too little memory: cannot start thread "),
            std::string::npos)
      << output;
  EXPECT_NE(output.find(" of the 64 threads that are the ranks, with stacks "),
            std::string::npos)
      << output;
}

/// A thread that never comes back is left behind, and the run still ends.
TEST(Failure, StuckThreadDoesNotHoldTheRun) {
  auto release = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<World> world = openThreadWorld(2, 1, 0.1);
  EXPECT_THROW(world->run([release](Communicator &communicator) {
    if (communicator.rank() == 1)
      while (!*release)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    else
      communicator.barrier();
  }),
               RankFailure);
  *release = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

} // namespace
