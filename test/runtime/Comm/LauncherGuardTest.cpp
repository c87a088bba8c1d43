//===- LauncherGuardTest.cpp - launchers that outlive failed ranks --------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/LauncherGuard.h"

#include <cerrno>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc::runtime;

namespace {

/// How a launcher ends that started one rank: a process called `name` that
/// would stay after the end of the rank, unless that ends with 0.
int statusOfLauncher(const char *name, const std::function<int()> &rank) {
  pid_t launcher = fork();
  if (launcher == 0) {
    prctl(PR_SET_NAME, name);
    pid_t child = fork();
    if (child == 0)
      _exit(rank());
    int status = 0;
    waitpid(child, &status, 0);
    if (status == 0)
      _exit(0);
    alarm(100);
    pause();
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  return status;
}

TEST(LauncherGuard, EndsTheLauncherOfARankThatIsKilled) {
  int status = statusOfLauncher("mpirun", [] {
    LauncherGuard guard(1);
    return raise(SIGKILL);
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(LauncherGuard, EndsTheDaemonOfARankThatFails) {
  int status = statusOfLauncher("orted", [] {
    LauncherGuard guard(1);
    return 6;
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(LauncherGuard, LeavesWithARankThatSucceeds) {
  int status = statusOfLauncher("mpirun", [] {
    LauncherGuard guard(1);
    if (waitpid(-1, nullptr, WNOHANG) != 0)
      return 1; // there is no guard
    guard.release();
    return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

TEST(LauncherGuard, KnowsLaunchersByTheirNames) {
  int status = statusOfLauncher("shell", [] {
    LauncherGuard guard(1);
    return waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

} // namespace
