//===- StartWatchTest.cpp - ranks that are late ---------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Comm/StartWatch.h"

#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace meshc::runtime;

/// How a process ends that is the first of two ranks of this host, and watches
/// for two seconds. The other one does not come.
static int statusAfter(double timeoutSeconds) {
  pid_t child = fork();
  if (child == 0) {
    setenv("PMIX_NAMESPACE", std::to_string(getpid()).c_str(), 1);
    MpiLaunch launch;
    launch.launched = true;
    launch.size = launch.localSize = 2;
    launch.localRank = 0;
    {
      StartWatch watch(launch, timeoutSeconds);
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

/// A machine that is busy may take seconds to load the ranks' libraries.
TEST(StartWatch, AShortLimitIsNotThatOfTheStart) {
  EXPECT_EQ(statusAfter(0.5), 0);
}
