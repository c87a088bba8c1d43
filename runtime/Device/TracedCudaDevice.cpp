//===- TracedCudaDevice.cpp - a GPU, and when it does what ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/TracedCudaDevice.h"

#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/Rank.h"

#include <algorithm>
#include <exception>

using namespace meshc::runtime;

TracedCudaDevice::TracedCudaDevice(Rank &rank, const DeviceOptions &options)
    : CudaDevice(rank, options) {
  record.streams = {"compute", "communication", "copies of inputs"};
  record.asideStream = MESHC_CUDA_COPY;
  checkCuda(cuda.traceOpen(gpu), "trace the GPU");
  open = true;
}

TracedCudaDevice::~TracedCudaDevice() {
  // Like the device: a failing rank keeps its resources.
  if (std::uncaught_exceptions() == 0)
    finish();
}

/// The order of a training step that `describe` describes, by `action`.
template <typename Describe, typename Action>
void TracedCudaDevice::number(const Describe &describe, const Action &action) {
  if (!inStep || !open)
    return action();
  cuda.traceCall(gpu, orders.add(describe) + 1, runNumber);
  action();
  cuda.traceCall(gpu, 0, runNumber);
}

void TracedCudaDevice::launch(const MeshcKernel &kernel, void *const *buffers) {
  number([&] { return describeKernel(kernel); },
         [&] { CudaDevice::launch(kernel, buffers); });
}

void TracedCudaDevice::multiply(const MeshcGemm &gemm, const void *a,
                                const void *b, void *c) {
  uint64_t product = orders.takeProduct();
  number([&] { return describeProduct(gemm, product); },
         [&] { CudaDevice::multiply(gemm, a, b, c); });
}

/// If it is not fused, the product and the kernel follow as separate orders.
bool TracedCudaDevice::multiplyAtOnce(const MeshcEpilogue &epilogue,
                                      const MeshcGemm &gemm, const void *a,
                                      const void *b, void *c,
                                      void *const *buffers, void *mask) {
  if (!inStep || !open)
    return CudaDevice::multiplyAtOnce(epilogue, gemm, a, b, c, buffers, mask);
  cuda.traceCall(gpu, orders.peek() + 1, runNumber);
  bool isDone =
      CudaDevice::multiplyAtOnce(epilogue, gemm, a, b, c, buffers, mask);
  cuda.traceCall(gpu, 0, runNumber);
  if (isDone) {
    uint64_t product = orders.takeProduct();
    orders.add([&] { return describeProduct(gemm, product, epilogue.kind); });
    orders.leaveOut();
  }
  return isDone;
}

void TracedCudaDevice::communicate(const MeshcCollective &collective,
                                   void *const *send, void *const *recv) {
  number([&] { return describeCollective(collective, rank); },
         [&] { CudaDevice::communicate(collective, send, recv); });
}

void TracedCudaDevice::skip(const MeshcLoop &loop, int64_t iterations) {
  if (inStep && open)
    orders.skip(loop, iterations);
}

void TracedCudaDevice::run(StepFunction function) {
  inStep = open && function == StepFunction::Train;
  if (!inStep)
    return CudaDevice::run(function);
  orders.begin(isOn);
  cuda.traceCall(gpu, 0, ++runNumber);
  CudaDevice::run(function);
  cuda.traceCall(gpu, 0, 0);
  inStep = false;
  record.stepCount += isOn;
}

void TracedCudaDevice::start() {
  synchronize();
  rank.communicator->barrier(); // the work of all ranks is done
  checkCuda(cuda.traceStart(gpu), "start a trace of the GPU");
  rank.communicator->barrier();
  isOn = true;
}

/// Which call of the recording an activity belongs to; a new one if it belongs
/// to none of the step.
uint32_t TracedCudaDevice::callOf(const MeshcCudaActivity &activity) {
  if (activity.call > 0 && activity.call <= record.calls.size())
    return activity.call - 1;
  const bool isKernel = activity.kind == MESHC_CUDA_KERNEL;
  std::string name = isKernel && activity.name ? activity.name : "a kernel";
  for (uint32_t i = 0; isKernel && i < record.calls.size(); ++i)
    if (record.calls[i].kind == CallKind::Kernel &&
        record.calls[i].name == name)
      return i;
  if (activity.kind == MESHC_CUDA_COPY_MEMORY)
    name = activity.stream == MESHC_CUDA_COPY
               ? "copies of inputs from the host, beside the step"
               : "copies of inputs and metrics";
  else if (activity.kind == MESHC_CUDA_SET_MEMORY)
    name = "memory that is set";
  auto [found, isNew] =
      callsByName.try_emplace(name, static_cast<uint32_t>(record.calls.size()));
  if (isNew) {
    record.calls.emplace_back();
    record.calls.back().name = name;
  }
  return found->second;
}

void TracedCudaDevice::add(const MeshcCudaActivity &activity) {
  uint32_t call = callOf(activity);
  const TracedCall &known = record.calls[call];
  uint32_t stream = activity.stream;
  // A graph does not say which of its streams did something.
  if (stream >= MESHC_CUDA_STREAMS)
    stream = known.kind == CallKind::Collective ? MESHC_CUDA_COMMUNICATION
                                                : MESHC_CUDA_COMPUTE;
  std::string detail;
  if (activity.name && known.name != activity.name)
    detail = activity.name;
  record.activities.push_back({call,
                               stream,
                               {static_cast<int64_t>(activity.begin),
                                static_cast<int64_t>(activity.end)},
                               std::move(detail)});
}

/// A run extends from the first to the last of its activities on the compute
/// stream.
void TracedCudaDevice::addSteps(const MeshcCudaActivity *activities,
                                uint64_t count) {
  std::map<uint32_t, TracedSpan> runs;
  for (uint64_t i = 0; i < count; ++i) {
    const MeshcCudaActivity &activity = activities[i];
    if (activity.run == 0 || activity.stream == MESHC_CUDA_COPY)
      continue;
    auto begin = static_cast<int64_t>(activity.begin);
    auto end = static_cast<int64_t>(activity.end);
    TracedSpan &run =
        runs.try_emplace(activity.run, TracedSpan{begin, end}).first->second;
    run.begin = std::min(run.begin, begin);
    run.end = std::max(run.end, end);
  }
  for (const auto &run : runs)
    record.steps.push_back(run.second);
}

void TracedCudaDevice::stop() {
  isOn = false;
  synchronize();
  rank.communicator->barrier(); // the work of all ranks is done
  const MeshcCudaActivity *activities = nullptr;
  uint64_t count = 0, lost = 0;
  checkCuda(cuda.traceStop(gpu, &activities, &count, &lost),
            "read a trace of the GPU");
  rank.communicator->barrier();
  record.lost += lost;
  TracedSpan window = {INT64_MAX, INT64_MIN};
  for (uint64_t i = 0; i < count; ++i) {
    add(activities[i]);
    const TracedActivity &added = record.activities.back();
    if (static_cast<int>(added.stream) == record.asideStream)
      continue;
    window.begin = std::min(window.begin, added.span.begin);
    window.end = std::max(window.end, added.span.end);
  }
  addSteps(activities, count);
  if (window.begin < window.end)
    record.windows.push_back(window);
}

void TracedCudaDevice::finish() {
  if (open)
    cuda.traceClose(gpu);
  open = false;
}
