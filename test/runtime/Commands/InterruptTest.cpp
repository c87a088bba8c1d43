//===- InterruptTest.cpp - tests of Ctrl-C and SIGTERM --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Subprocess.h"

#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Gemm.h"
#include "runtime/Comm/ThreadWorld.h"
#include "runtime/Commands/Stop.h"

#include <csignal>
#include <filesystem>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace meshc::runtime;
using namespace meshc::test;

/// Waits until training has begun.
static bool waitForSteps(const Process &process) {
  return process.waitUntil(
      [&] { return process.output().find("step 1/") != std::string::npos; });
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

TEST(Interrupt, endsAnEvaluationWithinABatch) {
  Folder folder;
  std::string data = writeLineData(folder, 8000), file = folder.file("c");
  for (const char *mesh : {"1x1", "2x2"}) {
    std::string train =
        line(mesh) + " train --steps 1 --checkpoint " + file + data;
    ASSERT_EQ(run(train).code, 0);
    Process eval("env LINE_SLEEP=50 " + line(mesh) + " eval --checkpoint " +
                 file + data);
    ASSERT_TRUE(eval.waitUntilHandles(SIGTERM));
    eval.signal(SIGTERM);
    Outcome outcome = eval.wait();
    expectError(outcome, 143, "line: stopped by SIGTERM before all examples");
    EXPECT_EQ(outcome.out.find("loss"), std::string::npos) << outcome.out;

    // The evaluation at the end of a training, which is saved.
    std::filesystem::remove(file);
    Process both("env LINE_SLEEP=50 " + train +
                 " --eval-data x=" + folder.file("x.npy") +
                 " --eval-data target=" + folder.file("y.npy"));
    ASSERT_TRUE(waitForSteps(both));
    both.signal(SIGINT);
    expectError(both.wait(), 130, "line: stopped by SIGINT after step 1");
    EXPECT_NE(readFile(file), "");
  }
}

/// Signals that come before the first step end the program at once.
TEST(Interrupt, endsAWaitForAPipe) {
  Folder folder;
  std::string data = writeLineData(folder), pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char *mesh : {"1x1", "2x2"}) {
    expectError(run(line(mesh) + " train --data x=" + pipe +
                    " --data target=" + folder.file("y.npy")),
                3, "data file '" + pipe + "' is not a regular file");
    expectError(run(line(mesh) + " train --resume " + pipe + data), 4,
                "checkpoint '" + pipe + "' is not a regular file");
    // A log may be a pipe, and waits for its reader.
    Process process(line(mesh) + " train --log " + pipe + data);
    ASSERT_TRUE(process.waitUntil(
        [&] { return process.output().find("batch 8") != std::string::npos; }));
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait().code, 128 + SIGTERM);
  }
}

/// Lets what handles SIGTERM handle a signal every 0.2 ms of processor time.
static void signalOften() {
  struct sigaction action = {};
  sigaction(SIGTERM, nullptr, &action);
  action.sa_flags &= ~SA_RESETHAND;
  sigaction(SIGVTALRM, &action, nullptr);
  const itimerval often = {{0, 200}, {0, 200}};
  setitimer(ITIMER_VIRTUAL, &often, nullptr);
}

/// Blocks of the heap lie around those that oneDNN allocates for itself.
static void multiplyOften() {
  constexpr int64_t m = 512, n = 96, k = 256;
  MeshcGemm gemm{};
  gemm.m = m, gemm.n = n, gemm.k = k;
  gemm.lda = k, gemm.ldb = n, gemm.ldc = n;
  gemm.batch = 1;
  const std::vector<float> a(m * k, 1), b(k * n, 1);
  for (size_t i = 0; i < 1000; ++i) {
    const std::string block(1000 + i % 7 * 4000, ' ');
    std::vector<float> c(m * n);
    gemmBy("sgemm", gemm, a.data(), b.data(), c.data());
    if (block.back() != ' ' || c.back() != k)
      _exit(1);
  }
}

TEST(Interrupt, leavesTheHeapAsItIs) {
  pid_t child = fork();
  if (child == 0) {
    openThreadWorld(1, 1, 60)->run([](Communicator &communicator) {
      setThreads(1);
      catchSignals(communicator);
      signalOften();
      multiplyOften();
    });
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}
