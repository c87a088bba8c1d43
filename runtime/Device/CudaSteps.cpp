//===- CudaSteps.cpp - what a GPU is ordered to do ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "meshc/CollectiveBlocks.h"
#include "meshc/Epilogues.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Device/CudaDevice.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/EventWait.h"

#include <cstring>

using namespace meshc;
using namespace meshc::runtime;

//===----------------------------------------------------------------------===//
// What step functions order
//===----------------------------------------------------------------------===//

void CudaDevice::launch(const MeshcKernel &kernel, void *const *buffers) {
  void *&found = kernels[&kernel];
  if (!found)
    checkCuda(cuda.findKernel(gpu, kernel.name, kernel.sharedBytes, &found),
              std::string("find kernel '") + kernel.name + "'");
  // Parameters are passed by their addresses.
  void *context = runContext;
  parameters.resize(kernel.bufferCount + 1);
  parameters[0] = &context;
  for (uint32_t i = 0; i < kernel.bufferCount; ++i)
    parameters[i + 1] = const_cast<void **>(buffers + i);
  checkCuda(cuda.launch(gpu, MESHC_CUDA_COMPUTE, found, kernel.blocks,
                        kernel.threads, kernel.sharedBytes, parameters.data()),
            std::string("launch kernel '") + kernel.name + "'");
}

/// Whether it was done.
bool CudaDevice::compute(const MeshcGemm &gemm,
                         const MeshcCudaEpilogue *epilogue, const void *a,
                         const void *b, void *c) {
  MeshcCudaWay way = MESHC_CUDA_NOBODY;
  checkCuda(cuda.multiply(gpu, &gemm, epilogue, rounding, a, b, c, &way),
            "compute a matrix product of " + std::to_string(gemm.m) + " x " +
                std::to_string(gemm.k) + " and " + std::to_string(gemm.k) +
                " x " + std::to_string(gemm.n));
  products.cublas += way == MESHC_CUDA_CUBLAS;
  products.ownKernel += way == MESHC_CUDA_OWN_KERNEL;
  products.epilogues += epilogue && way != MESHC_CUDA_NOBODY;
  return way != MESHC_CUDA_NOBODY;
}

void CudaDevice::multiply(const MeshcGemm &gemm, const void *a, const void *b,
                          void *c) {
  if (gemm.m > 0 && gemm.n > 0 && gemm.batch > 0)
    compute(gemm, nullptr, a, b, c);
}

/// The arrays of an epilogue among its kernel's buffers.
static MeshcCudaEpilogue findArrays(const MeshcEpilogue &epilogue,
                                    void *const *buffers, void *mask) {
  MeshcCudaEpilogue found = {};
  found.kind = epilogue.kind;
  found.mask = mask;
  uint32_t result = meshc::findEpilogue(epilogue.kind)->getInputCount();
  if (result > 1)
    found.other = buffers[1];
  found.result = buffers[result];
  if (epilogue.kernel->bufferCount > result + 1)
    found.kept = buffers[result + 1];
  return found;
}

/// A mask describes D only if the call that computed D wrote it.
bool CudaDevice::multiplyAtOnce(const MeshcEpilogue &epilogue,
                                const MeshcGemm &gemm, const void *a,
                                const void *b, void *c, void *const *buffers,
                                void *mask) {
  bool readsMask = findEpilogue(epilogue.kind)->readsMask();
  if (!epilogues || (readsMask && !masks.count(mask)))
    return false;
  MeshcCudaEpilogue arrays = findArrays(epilogue, buffers, mask);
  bool isDone = compute(gemm, &arrays, a, b, c);
  if (mask && !readsMask) {
    if (isDone)
      masks.insert(mask);
    else
      masks.erase(mask);
  }
  return isDone;
}

void CudaDevice::multiplyWith(const MeshcEpilogue &epilogue,
                              const MeshcGemm &gemm, const void *a,
                              const void *b, void *c, void *const *buffers,
                              void *mask) {
  if (!multiplyAtOnce(epilogue, gemm, a, b, c, buffers, mask))
    Device::multiplyWith(epilogue, gemm, a, b, c, buffers, mask);
}

/// In a group of one rank, every collective copies.
static void copyAlone(const MeshcCuda &cuda, MeshcCudaRank *gpu,
                      const MeshcCollective &collective, const Group &group,
                      void *const *send, void *const *recv) {
  int64_t bytes = sizeOf(static_cast<MeshcType>(collective.type));
  for (uint32_t i = 0; i < collective.itemCount; ++i) {
    int64_t count = ItemBlocks(collective.kind, collective.items[i], group.axes)
                        .getSendSize();
    if (send[i] != recv[i] && count > 0)
      checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, recv[i], send[i],
                          static_cast<uint64_t>(count * bytes)),
                "copy in a collective");
  }
}

void CudaDevice::communicate(const MeshcCollective &collective,
                             void *const *send, void *const *recv) {
  const Group &group = rank.mesh.group(collective.axes);
  if (group.size() == 1)
    copyAlone(cuda, gpu, collective, group, send, recv);
  else
    collectives->begin(collective, group, send, recv);
}

void CudaDevice::wait(const MeshcCollective &collective) {
  if (collectives)
    collectives->wait(collective);
}

/// The function's first run, which is not captured, comes here already: the
/// first iteration of each loop always runs.
bool CudaDevice::isTrue(const void *condition) {
  readsResults[static_cast<size_t>(running)] = true;
  char *host = staging(1);
  checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, host, condition, 1),
            "read a loop's condition");
  synchronize();
  return *host != 0;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Checks the collectives meanwhile.
void CudaDevice::waitFor(void *event) {
  waitForEvent(cuda, gpu, event, timeoutSeconds, "a step", [this](bool late) {
    if (collectives)
      collectives->check(late);
  });
}

char *CudaDevice::stage(const MeshcTensor &input) {
  Slot &slot = slots[nextSlot];
  if (slot.open) // its memory is still being read
    waitFor(slot.done);
  slot.staged = true;
  for (const Staged &staged : inputs)
    if (staged.tensor == &input)
      return slot.host + staged.offset;
  throw Failure(ExitCode::Internal,
                std::string("'") + input.name + "' is not an input");
}

/// Copies a run's new data to the GPU, on the copy stream during the previous
/// run; the compute stream is ordered after it.
void CudaDevice::bring(Slot &slot) {
  MeshcContext context = ctx;
  context.coords = reinterpret_cast<const int64_t *>(coordMemory);
  context.settings = reinterpret_cast<const float *>(settingMemory);
  context.runtime = nullptr;
  std::memcpy(slot.host + contextOffset, &context, sizeof(context));
  // Unchanged inputs are still there from the previous run.
  int64_t bytes = slot.staged ? broughtBytes : aligned(sizeof(MeshcContext));
  slot.staged = false;
  checkCuda(cuda.copy(gpu, MESHC_CUDA_COPY, slot.device,
                      slot.host + contextOffset, static_cast<uint64_t>(bytes)),
            "copy inputs");
  checkCuda(cuda.record(gpu, slot.copied, MESHC_CUDA_COPY), "record an event");
  checkCuda(cuda.wait(gpu, MESHC_CUDA_COMPUTE, slot.copied), "wait for inputs");
}

void CudaDevice::copyOnGpu(void *to, const void *from, int64_t bytes) {
  if (bytes)
    checkCuda(cuda.copy(gpu, MESHC_CUDA_COMPUTE, to, from,
                        static_cast<uint64_t>(bytes)),
              "copy on the GPU");
}

/// The compute stream's work in a run: all of it can become a graph.
void CudaDevice::order(StepFunction function, const Slot &slot) {
  // The slot's is the run's own: nothing changes it before the run has ended.
  runContext = slot.device;
  if (takesBatch(function))
    for (const Span &span : inputSpans)
      copyOnGpu(ctx.arena + span.inArena,
                slot.device + (span.offset - contextOffset), span.bytes);
  call(function);
  if (takesBatch(function))
    for (const Span &span : metricSpans)
      copyOnGpu(slot.host + span.offset, ctx.arena + span.inArena, span.bytes);
}

void CudaDevice::run(StepFunction function) {
  Slot &slot = slots[nextSlot];
  if (slot.open)
    throw Failure(ExitCode::Internal,
                  "more runs were begun than a device can be ahead");
  bring(slot);
  if (!takesBatch(function)) {
    if (function == StepFunction::Initialize) // once
      order(function, slot);
    else
      execute(function, slot);
    return synchronize();
  }
  execute(function, slot);
  checkCuda(cuda.record(gpu, slot.done, MESHC_CUDA_COMPUTE), "record an event");
  slot.open = true;
  nextSlot = 1 - nextSlot;
}

void CudaDevice::call(StepFunction function) {
  running = function;
  codeOf(*rank.program, function).code(&ctx);
  // Collectives that the function started and did not wait for.
  if (collectives)
    collectives->waitForAll();
}

/// The first run creates what a capture may not: chosen products, groups of
/// ranks, room for blocks. Then each slot gets a graph, unless the function has
/// loops that end early.
void CudaDevice::execute(StepFunction function, Slot &slot) {
  const auto index = static_cast<size_t>(function);
  // A graph makes no calls that an observer could see.
  bool replays = !rank.observer && !readsResults[index] &&
                 (!collectives || collectives->canBeCaptured());
  if (!replays || !ranOnce[index]) {
    order(function, slot);
    ranOnce[index] = true;
    return;
  }
  void *&graph = slot.graphs[index];
  if (!graph)
    graph = capture(function, slot);
  checkCuda(cuda.launchGraph(gpu, graph), "launch a step's graph");
}

void *CudaDevice::capture(StepFunction function, const Slot &slot) {
  void *graph = nullptr;
  checkCuda(cuda.beginCapture(gpu), "begin the capture of a step");
  try {
    order(function, slot);
  } catch (...) {
    cuda.endCapture(gpu, &graph);
    if (graph)
      cuda.dropGraph(gpu, graph);
    throw;
  }
  checkCuda(cuda.endCapture(gpu, &graph), "capture a step as a graph");
  return graph;
}

void CudaDevice::readMetrics(std::vector<float> &values) {
  Slot &slot = slots[firstOpen];
  if (!slot.open)
    throw Failure(ExitCode::Internal, "there is no run whose metrics to read");
  waitFor(slot.done);
  values.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i)
    std::memcpy(&values[i], slot.host + metrics[i].offset, sizeof(float));
  slot.open = false;
  firstOpen = 1 - firstOpen;
}

void CudaDevice::synchronize() {
  checkCuda(cuda.record(gpu, settled, MESHC_CUDA_COMPUTE), "record an event");
  waitFor(settled);
}
