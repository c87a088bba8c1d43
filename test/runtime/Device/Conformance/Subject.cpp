//===- Subject.cpp - a rank whose device is tested ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Suite.h"

#include <cstring>

using namespace meshc;
using namespace meshc::test;
using namespace meshc::runtime;

namespace {

thread_local const std::function<void(MeshcContext *)> *current = nullptr;

void initialize(MeshcContext *ctx) { (*current)(ctx); }

// The step of addSteps: loss = the sum over ranks of x · x, in the arena's last
// bytes.
constexpr int64_t length = 1024, atX = suiteArenaBytes,
                  atLoss = atX + length * 4, allBytes = atLoss + 256;
const uint32_t everyAxis[] = {0, 1};

void step(MeshcContext *ctx) {
  MeshcGemm gemm = {};
  gemm.m = gemm.n = 1, gemm.k = length;
  gemm.lda = length, gemm.ldb = gemm.ldc = 1;
  gemm.batch = 1;
  char *x = ctx->arena + atX;
  void *loss = ctx->arena + atLoss;
  meshc_gemm(ctx, &gemm, x, x, loss);
  static const MeshcCollectiveItem item = {1, 1, 1, 1, 1, 1};
  static const MeshcCollective sums[] = {
      {MESHC_ALL_REDUCE, MESHC_SUM, MESHC_F32, 0, 1, 0, 1, &item, nullptr},
      {MESHC_ALL_REDUCE, MESHC_SUM, MESHC_F32, 0, 2, 0, 1, &item, nullptr}};
  for (uint32_t i = 0; i < Rank::of(ctx).program->axisCount; ++i) {
    meshc_collective(ctx, &sums[i], &loss, &loss);
    meshc_wait(ctx, &sums[i]);
  }
}

const MeshcDim vector[] = {{"i", length, length, 1, 0, everyAxis}};
const MeshcTensor tensors[] = {
    {"x", MESHC_INPUT, MESHC_F32, 0, 1, vector, atX},
    {"loss", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atLoss}};

/// The arena's bytes from `offset` on.
struct Bytes {
  Bytes(int64_t offset, size_t count)
      : dim{"byte",
            static_cast<int64_t>(count),
            static_cast<int64_t>(count),
            1,
            0,
            nullptr},
        tensor{"bytes", MESHC_PARAMETER, MESHC_I1, 0, 1, &dim, offset} {}
  MeshcDim dim;
  MeshcTensor tensor;
};

} // namespace

void Subject::run(const std::function<void(MeshcContext *)> &orders) {
  current = &orders;
  device.run(StepFunction::Initialize);
}

void Subject::put(int64_t offset, const std::vector<char> &bytes) {
  device.write(Bytes(offset, bytes.size()).tensor, [&](char *block) {
    std::memcpy(block, bytes.data(), bytes.size());
  });
}

void Subject::get(int64_t offset, std::vector<char> &bytes) {
  Bytes from(offset, bytes.size());
  const char *block = device.read(from.tensor);
  std::memcpy(bytes.data(), block, bytes.size());
}

MeshcProgram test::suiteProgram(const std::vector<int64_t> &mesh) {
  static thread_local MeshcAxis axes[2];
  for (size_t i = 0; i < mesh.size(); ++i)
    axes[i] = {i ? "tensor" : "data", mesh[i]};
  MeshcProgram program = {};
  program.abiVersion = MESHC_ABI_VERSION;
  program.axisCount = static_cast<uint32_t>(mesh.size());
  program.axes = axes;
  program.name = "conformance";
  program.tensorCount = 2;
  program.tensors = tensors;
  program.target = MESHC_CUDA;
  program.arenaBytes = allBytes;
  program.initialize = initialize;
  program.trainStep = step;
  program.evalStep = step;
  return program;
}

/// Inputs that change from step to step, the host a step ahead: first each call
/// by itself, then captured, then replayed.
void test::addSteps(std::vector<Case> &cases, uint32_t axisCount) {
  for (StepFunction function : {StepFunction::Train, StepFunction::Eval})
    cases.push_back(
        {"steps", [=](Subject &subject) -> std::string {
           Device &device = subject.device;
           std::vector<float> metrics;
           auto wanted = [&](int step) {
             double all = 0;
             for (int rank = 0; rank < subject.rank.mesh.size(); ++rank)
               all += (step + rank) * (step + rank);
             return static_cast<float>(all * length);
           };
           std::string wrong;
           int read = 0;
           auto readOne = [&] {
             device.readMetrics(metrics);
             if (metrics.size() != 1 || metrics[0] != wanted(read))
               wrong = "step " + std::to_string(read) + " gave " +
                       std::to_string(metrics.at(0)) + ", wanted " +
                       std::to_string(wanted(read));
             ++read;
           };
           for (int step = 0; step < 50; ++step) {
             auto *x = reinterpret_cast<float *>(device.stage(tensors[0]));
             for (int64_t i = 0; i < length; ++i)
               x[i] = static_cast<float>(step + subject.rank.mesh.rank());
             device.context().step = step;
             device.run(function);
             while (step + 1 - read > device.runsAhead())
               readOne();
           }
           while (read < 50)
             readOne();
           return wrong;
         }});
}

/// Bytes that go to the arena and come back, alone and between others.
void test::addCopies(std::vector<Case> &cases) {
  for (size_t bytes : {1, 3, 16, 255, 4096, 1000001, 40000000})
    cases.push_back(
        {"copies", [=](Subject &subject) -> std::string {
           std::vector<char> data(bytes), back(bytes), beside(16), after(16);
           for (size_t i = 0; i < bytes; ++i)
             data[i] = static_cast<char>(i * 31 + i / 256);
           subject.put(512 + static_cast<int64_t>(bytes), beside);
           subject.put(512, data);
           subject.get(512, back);
           subject.get(512 + static_cast<int64_t>(bytes), after);
           return back == data && after == beside
                      ? ""
                      : std::to_string(bytes) + " bytes came back changed";
         }});
}
