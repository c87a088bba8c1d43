//===- OutputLockTest.cpp - one run writes a file -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Checkpoint/OutputLock.h"

#include "runtime/Base/Failure.h"
#include "test/runtime/Data/TestFiles.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc::runtime;
using meshc::test::Folder;

namespace {

/// The message of the lock that is refused; empty if it is granted.
std::string refusal(const OutputFiles &files) {
  try {
    OutputLock lock(files);
    return "";
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code(), ExitCode::Usage);
    return failure.what();
  }
}

std::string lockFile(const std::string &path) { return path + ".meshc-lock"; }

TEST(OutputLock, NamesItsHolder) {
  Folder folder;
  const std::string path = folder.file("c");
  std::optional<OutputLock> lock(OutputFiles{path});
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  const std::string begin =
      "'" + path + "' is being written by another run (process " +
      std::to_string(getpid()) + " on host '" + host + "', since ";
  std::string message = refusal({path});
  EXPECT_EQ(message.substr(0, begin.size()), begin);
  EXPECT_NE(message.find("); wait for its end, or name another file"),
            std::string::npos);
  EXPECT_EQ(refusal({folder.file("d")}), "");
  lock.reset();
  EXPECT_FALSE(std::filesystem::exists(lockFile(path)));
  EXPECT_EQ(refusal({path}), "");
}

TEST(OutputLock, EndsWithAKilledProcess) {
  Folder folder;
  const std::string path = folder.file("c");
  pid_t child = fork();
  if (child == 0) {
    const OutputLock lock(OutputFiles{path});
    std::ofstream(folder.file("locked")) << "yes";
    pause();
    _exit(0);
  }
  while (!std::filesystem::exists(folder.file("locked")))
    usleep(1000);
  EXPECT_TRUE(std::filesystem::exists(lockFile(path)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(lockFile(path)));
  EXPECT_EQ(refusal({path}), "");
  EXPECT_FALSE(std::filesystem::exists(lockFile(path)));
}

TEST(OutputLock, CoversGenerationsAndTheBest) {
  Folder folder;
  const std::string path = folder.file("c");
  OutputLock lock(OutputFiles{path, 3, true});
  for (const char *end : {".1", ".2", ".best"})
    EXPECT_NE(refusal({path + end}), "") << end;
  for (const char *end : {".3", ".01", ".x", ".1.1"})
    EXPECT_EQ(refusal({path + end}), "") << end;
}

TEST(OutputLock, SeesRunsThatHaveItsGenerations) {
  Folder folder;
  const std::string path = folder.file("c");
  OutputLock one(OutputFiles{path + ".1"}), best(OutputFiles{path + ".best"});
  EXPECT_EQ(refusal({path}), "");
  EXPECT_NE(refusal({path, 2}).find("c.1'"), std::string::npos);
  EXPECT_NE(refusal({path, 1, true}).find("c.best'"), std::string::npos);
  // What it had locked by then is free again.
  EXPECT_FALSE(std::filesystem::exists(lockFile(path)));
}

TEST(OutputLock, FollowsLinks) {
  Folder folder;
  const std::string path = folder.file("c"), link = folder.file("link");
  std::filesystem::create_symlink("c", link); // whose target is not there yet
  OutputLock lock(OutputFiles{link});
  EXPECT_TRUE(std::filesystem::exists(lockFile(path)));
  EXPECT_FALSE(std::filesystem::exists(lockFile(link)));
}

TEST(OutputLock, LeavesDevicesAndPipesToAll) {
  Folder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  OutputLock lock(OutputFiles{pipe}), null(OutputFiles{"/dev/null"});
  EXPECT_EQ(refusal({pipe}), "");
  EXPECT_EQ(refusal({"/dev/null"}), "");
  EXPECT_FALSE(std::filesystem::exists(lockFile(pipe)));
}

/// Runs that begin and end at the same time each find the file locked or free,
/// never a lock on a file that another one has just removed.
TEST(OutputLock, IsHeldByOneProcessAtATime) {
  Folder folder;
  const std::string path = folder.file("c"), mark = folder.file("mark");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t child = fork();
    if (child == 0) {
      try {
        for (int turn = 0; turn < 50; ++turn) {
          OutputLock lock(OutputFiles{path});
          if (mkdir(mark.c_str(), 0700) != 0)
            _exit(1); // another process holds the lock
          rmdir(mark.c_str());
        }
      } catch (...) {
        _exit(2);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

} // namespace
