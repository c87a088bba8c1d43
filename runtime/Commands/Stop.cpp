//===- Stop.cpp - ending a run early, on all ranks at once ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Commands/Stop.h"

#include <algorithm>
#include <csignal>
#include <mutex>

using namespace meshc::runtime;

/// Seconds between two agreements: short enough that Ctrl-C seems immediate,
/// and well below the second that mpirun waits before it kills.
static constexpr double secondsBetween = 0.1;

static volatile std::sig_atomic_t wishedSignal = 0;

extern "C" void meshcRuntimeOnSignal(int signal) { wishedSignal = signal; }

void meshc::runtime::catchSignals(Communicator &communicator) {
  communicator.barrier();
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action = {};
    action.sa_handler = meshcRuntimeOnSignal;
    // Not on the stack of a thread that computes: see useSignalStack().
    action.sa_flags = SA_RESETHAND | SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (int signal : {SIGINT, SIGTERM})
      sigaction(signal, &action, nullptr);
  });
}

ExitCode meshc::runtime::codeOfSignal(int signal) {
  return signal == SIGINT ? ExitCode::Interrupted : ExitCode::Terminated;
}

const char *meshc::runtime::nameOfSignal(int signal) {
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

StopAgreement::StopAgreement(const Rank &rank)
    : rank(rank), allAxes(0), lastTime(Clock::now()) {
  for (uint32_t i = 0; i < rank.program->axisCount; ++i)
    allAxes |= uint32_t(1) << i;
}

int StopAgreement::afterStep() {
  if (rank.mesh.size() == 1)
    return wishedSignal;
  if (--stepsToGo > 0)
    return 0;
  Clock::time_point now = Clock::now();
  double perStep = std::chrono::duration<double>(now - lastTime).count() /
                   static_cast<double>(interval);
  lastTime = now;
  double wanted = secondsBetween / std::max(perStep, 1e-6);
  // The largest signal and the smallest number of steps of all ranks.
  int32_t values[2] = {wishedSignal,
                       -static_cast<int32_t>(std::clamp(wanted, 1.0, 1e5))};
  MeshcCollectiveItem item = {1, 2, 1, 1, 2, 1};
  MeshcCollective collective = {};
  collective.kind = MESHC_ALL_REDUCE;
  collective.reduction = MESHC_MAX;
  collective.type = MESHC_I32;
  collective.axes = allAxes;
  collective.site = StopSite;
  collective.itemCount = 1;
  collective.items = &item;
  void *buffer = values;
  rank.communicator->run(collective, rank.mesh.group(allAxes), &buffer,
                         &buffer);
  interval = stepsToGo = -values[1];
  return values[0];
}
