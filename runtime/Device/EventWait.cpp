//===- EventWait.cpp - waiting for a GPU ----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/EventWait.h"

#include "runtime/Base/Failure.h"
#include "runtime/Comm/Pulse.h"
#include "runtime/Device/CudaLibrary.h"

#include <chrono>
#include <thread>

using namespace meshc::runtime;

void meshc::runtime::waitForEvent(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                                  void *event, double timeoutSeconds,
                                  const std::string &work,
                                  const std::function<void(bool late)> &check) {
  using Clock = std::chrono::steady_clock;
  constexpr int64_t turnsAwake = 2000, turnsBetweenChecks = 64;
  const Clock::time_point begin = Clock::now();
  for (int64_t turn = 0;; ++turn) {
    int done = 0;
    if (const char *error = cuda.query(gpu, event, &done))
      checkCuda(error, "finish " + work + " on the GPU");
    if (done)
      return;
    if (turn >= turnsAwake)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (turn < turnsAwake || turn % turnsBetweenChecks != 0)
      continue;
    std::chrono::duration<double> passed = Clock::now() - begin;
    noteProgress(); // the GPU has its own limit
    bool late = timeoutSeconds > 0 && passed.count() > timeoutSeconds;
    if (check)
      check(late);
    if (late)
      throw Failure(ExitCode::Communication,
                    "the GPU has not finished " + work + " for " +
                        describePatience(timeoutSeconds));
  }
}

std::string meshc::runtime::describePatience(double timeoutSeconds) {
  return "longer than MESHC_TIMEOUT, " +
         std::to_string(static_cast<int64_t>(timeoutSeconds)) + " s";
}
