//===- Device.cpp - where a rank computes ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/Device.h"

#include "runtime/Base/Failure.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Comm/Pulse.h"
#include "runtime/Device/CallObserver.h"
#include "runtime/Device/CollectiveRooms.h"
#include "runtime/Device/CudaDevice.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/HostDevice.h"
#include "runtime/Device/Rank.h"
#include "runtime/Device/TracedCudaDevice.h"
#include "runtime/Device/TracedHostDevice.h"

#include <atomic>
#include <cmath>

using namespace meshc::runtime;

Device::Device(Rank &rank) : rank(rank), ctx{} {
  ctx.coords = rank.mesh.coords().data();
  ctx.runtime = &rank;
  rank.device = this;
  std::vector<double> values;
  for (uint32_t i = 0; i < rank.program->settingCount; ++i)
    values.push_back(rank.program->settings[i].value);
  Device::useSettings(values);
}

void Device::useSettings(const std::vector<double> &values) {
  settings.clear();
  for (double value : values)
    for (double form : {value, 1 - value, -std::log(value)})
      settings.push_back(static_cast<float>(form));
  ctx.settings = settings.data();
}

Device::~Device() { rank.device = nullptr; }

StepCode meshc::runtime::codeOf(const MeshcProgram &program,
                                StepFunction function) {
  switch (function) {
#define MESHC_STEP_FUNCTION(Kind, field, name)                                 \
  case StepFunction::Kind:                                                     \
    return {program.field, #name};
#include "meshc/StepFunctions.def"
  }
  return {nullptr, ""};
}

void meshc::runtime::checkDevice(const MeshcProgram &program,
                                 const DeviceOptions &options) {
  if (program.target == MESHC_CUDA) {
    countGpus();
    if (options.trace)
      checkCudaTrace();
    return;
  }
  if (program.target != MESHC_HOST)
    throw Failure(ExitCode::Internal,
                  "the program was compiled for target " +
                      std::to_string(program.target) +
                      ", which the runtime does not know; compile it again");
  const char *forGpus =
      options.matmul == MatmulPrecision::TF32   ? "--matmul tf32"
      : options.matmul == MatmulPrecision::BF16 ? "--matmul bf16"
      : !options.epilogues                      ? "--no-epilogues"
      : options.ncclSums                        ? "--nccl-sums"
      : options.ncclMemory                      ? "--nccl-memory"
      : options.holdsInputs                     ? "--hold-batch"
                                                : nullptr;
  if (forGpus)
    throw Failure(ExitCode::Usage,
                  std::string("'") + forGpus +
                      "' is for GPUs, and the program was compiled for the "
                      "host; leave it out, or compile with '--target=cuda'");
}

std::unique_ptr<Device>
meshc::runtime::makeDevice(Rank &rank, const DeviceOptions &options) {
  if (rank.program->target == MESHC_CUDA) {
    if (options.trace)
      return std::make_unique<TracedCudaDevice>(rank, options);
    return std::make_unique<CudaDevice>(rank, options);
  }
  checkDevice(*rank.program, options);
  if (options.trace)
    return std::make_unique<TracedHostDevice>(rank);
  return std::make_unique<HostDevice>(rank);
}

std::vector<MemoryUse>
meshc::runtime::plannedMemory(const MeshcProgram &program) {
  if (program.target != MESHC_CUDA)
    return {};
  std::vector<MemoryUse> use = CudaDevice::plannedMemory(program);
  if (int64_t rooms = plannedRooms(program))
    use.push_back({"blocks of collectives", rooms});
  return use;
}

static std::atomic<bool> leftWork{false};

void meshc::runtime::leaveWork() { leftWork = true; }

bool meshc::runtime::workIsLeft() { return leftWork; }

MatmulPrecision meshc::runtime::parseMatmulPrecision(const std::string &name) {
  if (name == "f32")
    return MatmulPrecision::F32;
  if (name == "tf32")
    return MatmulPrecision::TF32;
  if (name == "bf16")
    return MatmulPrecision::BF16;
  throw Failure(ExitCode::Usage, "'--matmul' is '" + name +
                                     "'; expected 'f32', 'tf32' or 'bf16'");
}

int64_t meshc::runtime::blockSpan(const MeshcTensor &tensor) {
  int64_t last = 0;
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i].localSize == 0)
      return 0;
    last += (tensor.dims[i].localSize - 1) * tensor.dims[i].localStride;
  }
  return last + 1;
}

void Device::multiplyWith(const MeshcEpilogue &epilogue, const MeshcGemm &gemm,
                          const void *a, const void *b, void *c,
                          void *const *buffers, void *) {
  multiply(gemm, a, b, c);
  launch(*epilogue.kernel, buffers);
}

// The orders of generated code. Its contexts belong to devices.

/// The rank whose device receives an order, after notifying its observer.
static Rank &rankOf(MeshcContext *ctx) {
  Rank &rank = Rank::of(ctx);
  if (rank.observer)
    rank.observer->ordering();
  return rank;
}

void meshc_launch(MeshcContext *ctx, const MeshcKernel *kernel,
                  void *const *buffers) {
  Rank &rank = rankOf(ctx);
  rank.device->launch(*kernel, buffers);
  if (rank.observer)
    rank.observer->launched(*kernel, buffers);
  noteProgress();
}

/// The product on this rank: k ends where the entries do that exist. Whatever
/// is given the product from here on need not know of the cut.
static MeshcGemm withoutPadding(const Rank &rank, const MeshcGemm &gemm) {
  MeshcGemm known = gemm;
  if (!gemm.cut)
    return known;
  int64_t entries =
      blockRange(*rank.program, *gemm.cut, rank.mesh.coords().data()).count;
  known.k = gemm.k / gemm.cut->localSize * entries;
  known.cut = nullptr;
  return known;
}

void meshc_gemm(MeshcContext *ctx, const MeshcGemm *gemm, const void *a,
                const void *b, void *c) {
  Rank &rank = rankOf(ctx);
  const MeshcGemm known = withoutPadding(rank, *gemm);
  rank.device->multiply(known, a, b, c);
  if (rank.observer)
    rank.observer->multiplied(known, nullptr, a, b, c, nullptr);
  noteProgress();
}

void meshc_gemm_epilogue(MeshcContext *ctx, const MeshcGemm *gemm,
                         const MeshcEpilogue *epilogue, const void *a,
                         const void *b, void *c, void *const *buffers,
                         void *mask) {
  Rank &rank = rankOf(ctx);
  const MeshcGemm known = withoutPadding(rank, *gemm);
  rank.device->multiplyWith(*epilogue, known, a, b, c, buffers, mask);
  if (rank.observer)
    rank.observer->multiplied(known, epilogue, a, b, c, buffers);
  noteProgress();
}

void meshc_collective(MeshcContext *ctx, const MeshcCollective *collective,
                      void *const *send, void *const *recv) {
  Rank &rank = rankOf(ctx);
  rank.device->communicate(*collective, send, recv);
  if (rank.observer)
    rank.observer->communicated(*collective, send, recv);
}

void meshc_wait(MeshcContext *ctx, const MeshcCollective *collective) {
  Rank &rank = rankOf(ctx);
  rank.device->wait(*collective);
  if (rank.observer)
    rank.observer->waited(*collective);
}

int32_t meshc_goes_on(MeshcContext *ctx, const MeshcLoop *loop,
                      const void *condition, int64_t left) {
  if (left == 0)
    return 0;
  Rank &rank = Rank::of(ctx);
  if (rank.device->isTrue(condition))
    return 1;
  rank.device->skip(*loop, left);
  if (rank.observer)
    rank.observer->skipped(*loop, left);
  return 0;
}
