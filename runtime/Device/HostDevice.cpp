//===- HostDevice.cpp - the host's processors -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/HostDevice.h"

#include "runtime/Base/Parallel.h"
#include "runtime/Base/TensorBlock.h"
#include "runtime/Blas/Gemm.h"
#include "runtime/Device/Rank.h"

#include <cstring>

using namespace meshc::runtime;

HostDevice::HostDevice(Rank &rank)
    : Device(rank), memory(rank.program->arenaBytes) {
  ctx.arena = memory.data();
}

void HostDevice::launch(const MeshcKernel &kernel, void *const *buffers) {
  parallelFor(kernel.extent, kernel.grain,
              [this, &kernel, buffers](int64_t begin, int64_t end) {
                kernel.function(&ctx, buffers, begin, end);
              });
}

void HostDevice::multiply(const MeshcGemm &gemm, const void *a, const void *b,
                          void *c) {
  runGemm(gemm, a, b, c, {ctx.arena + gemm.scratchOffset, gemm.scratchBytes});
}

/// A failure leaves generated code by a C++ exception (CommunicationError);
/// that code holds nothing that must be released.
void HostDevice::communicate(const MeshcCollective &collective,
                             void *const *send, void *const *recv) {
  auto begin = std::chrono::steady_clock::now();
  rank.communicator->run(collective, rank.mesh.group(collective.axes), send,
                         recv);
  inCollectives += std::chrono::steady_clock::now() - begin;
}

std::optional<double> HostDevice::communicationTime() const {
  if (rank.mesh.size() == 1)
    return std::nullopt;
  return std::chrono::duration<double>(inCollectives).count();
}

char *HostDevice::stage(const MeshcTensor &input) {
  return memory.data() + input.offsetBytes;
}

void HostDevice::run(StepFunction function) {
  codeOf(*rank.program, function).code(&ctx);
}

void HostDevice::readMetrics(std::vector<float> &values) {
  values.clear();
  for (uint32_t i = 0; i < rank.program->tensorCount; ++i) {
    const MeshcTensor &tensor = rank.program->tensors[i];
    if (!isStepResult(tensor))
      continue;
    values.emplace_back();
    std::memcpy(&values.back(), memory.data() + tensor.offsetBytes,
                sizeof(float));
  }
}

const char *HostDevice::read(const MeshcTensor &tensor) {
  return memory.data() + tensor.offsetBytes;
}

void HostDevice::write(const MeshcTensor &tensor,
                       const std::function<void(char *)> &fill) {
  fill(memory.data() + tensor.offsetBytes);
}
