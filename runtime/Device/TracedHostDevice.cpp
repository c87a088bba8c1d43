//===- TracedHostDevice.cpp - the host, with clocks -----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/TracedHostDevice.h"

#include "runtime/Device/Rank.h"

using namespace meshc::runtime;

TracedHostDevice::TracedHostDevice(Rank &rank) : HostDevice(rank) {
  record.streams = {"calls"};
}

template <typename Describe, typename Action>
void TracedHostDevice::time(const Describe &describe, const Action &action) {
  if (!inStep)
    return action();
  TracedActivity activity = {orders.add(describe), 0, {traceClock(), 0}, {}};
  action();
  activity.span.end = traceClock();
  record.activities.push_back(std::move(activity));
}

void TracedHostDevice::launch(const MeshcKernel &kernel, void *const *buffers) {
  time([&] { return describeKernel(kernel); },
       [&] { HostDevice::launch(kernel, buffers); });
}

void TracedHostDevice::multiply(const MeshcGemm &gemm, const void *a,
                                const void *b, void *c) {
  uint64_t number = orders.takeProduct();
  time([&] { return describeProduct(gemm, number); },
       [&] { HostDevice::multiply(gemm, a, b, c); });
}

void TracedHostDevice::communicate(const MeshcCollective &collective,
                                   void *const *send, void *const *recv) {
  time([&] { return describeCollective(collective, rank); },
       [&] { HostDevice::communicate(collective, send, recv); });
}

void TracedHostDevice::skip(const MeshcLoop &loop, int64_t iterations) {
  if (inStep)
    orders.skip(loop, iterations);
}

void TracedHostDevice::run(StepFunction function) {
  inStep = isOn && function == StepFunction::Train;
  if (!inStep)
    return HostDevice::run(function);
  orders.begin(/*isRecorded=*/true);
  TracedSpan step = {traceClock(), 0};
  HostDevice::run(function);
  step.end = traceClock();
  record.steps.push_back(step);
  ++record.stepCount;
  inStep = false;
}

void TracedHostDevice::start() {
  isOn = true;
  record.windows.push_back({traceClock(), 0});
}

void TracedHostDevice::stop() {
  isOn = false;
  record.windows.back().end = traceClock();
}
