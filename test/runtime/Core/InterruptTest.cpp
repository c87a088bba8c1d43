//===- InterruptTest.cpp - tests of Ctrl-C and SIGTERM --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include <chrono>
#include <thread>

using namespace meshc::test;

/// Waits until training has begun.
static bool waitForSteps(const Process &process) {
  for (int i = 0; i < 500; ++i) {
    if (process.output().find("step 1/") != std::string::npos)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

static void checkStop(const std::string &mesh, int signal, int code,
                      const std::string &name) {
  Folder folder;
  std::string data = writeLineData(folder), file = folder.file("c");
  Process process("env LINE_SLEEP=10 " + line(mesh) +
                  " train --steps 100000 --checkpoint " + file + data);
  ASSERT_TRUE(waitForSteps(process));
  process.signal(signal);
  Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, code) << outcome.err;
  size_t at = outcome.err.find("stopped by " + name + " after step ");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  std::string step =
      std::to_string(std::atoi(outcome.err.c_str() + at + name.size() + 23));

  // The checkpoint is that of an uninterrupted run of so many steps.
  ASSERT_EQ(run(line(mesh) + " train --quiet --steps " + step +
                " --checkpoint " + folder.file("d") + data)
                .code,
            0);
  EXPECT_EQ(readFile(file), readFile(folder.file("d")));
}

TEST(Interrupt, finishesTheStepAndSaves) {
  checkStop("1x1", SIGINT, 130, "SIGINT");
  checkStop("2x2", SIGINT, 130, "SIGINT");
  checkStop("2x2", SIGTERM, 143, "SIGTERM");
}
