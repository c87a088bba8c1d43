//===- LineProgram.cpp - a program as the compiler writes it, by hand -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linear regression: y = x·w + b, minimize mean((y - target)²) by SGD with
/// momentum, batch -> data, feature -> tensor. Batch 8, 6 features. The
/// environment makes it misbehave for tests of the runtime:
///   LINE_KILL=RANK:STEP   that rank is killed before that step
///   LINE_THROW=RANK:STEP  that rank fails before that step
///   LINE_NAN=STEP         the loss of that step is not a number
///   LINE_SPOIL=STEP       a parameter is infinite after that step
///   LINE_SLEEP=MS         each step takes so long
///
//===----------------------------------------------------------------------===//
#include "meshc/RuntimeAbi.h"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>

namespace {

constexpr int64_t batch = 8, features = 6;
constexpr int64_t rows = batch / MESH_DATA, columns = features / MESH_TENSOR;

const MeshcAxis axes[] = {{"data", MESH_DATA}, {"tensor", MESH_TENSOR}};
const uint32_t dataAxis[] = {0}, tensorAxis[] = {1};

// Offsets in the arena.
constexpr int64_t atX = 0, atTarget = 1024, atW = 1088, atB = 1152,
                  atWMomentum = 1216, atBMomentum = 1280, atLoss = 1344,
                  atError = 1408, atY = 1472, atGradients = 1536,
                  arenaSize = 1664;

const MeshcDim xDims[] = {{"batch", batch, rows, columns, 1, dataAxis},
                          {"feature", features, columns, 1, 1, tensorAxis}};
const MeshcDim targetDims[] = {{"batch", batch, rows, 1, 1, dataAxis}};
const MeshcDim wDims[] = {{"feature", features, columns, 1, 1, tensorAxis}};

const MeshcTensor tensors[] = {
    {"x", MESHC_INPUT, MESHC_F32, 0, 2, xDims, atX},
    {"target", MESHC_INPUT, MESHC_F32, 0, 1, targetDims, atTarget},
    {"w", MESHC_PARAMETER, MESHC_F32, 0, 1, wDims, atW},
    {"b", MESHC_PARAMETER, MESHC_F32, 0, 0, nullptr, atB},
    {"w.momentum", MESHC_OPTIMIZER, MESHC_F32, 0, 1, wDims, atWMomentum},
    {"b.momentum", MESHC_OPTIMIZER, MESHC_F32, 0, 0, nullptr, atBMomentum},
    {"loss", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atLoss},
    {"error", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atError}};

const MeshcSite sites[] = {{"line.mesh:5:7", "all_reduce of 'y' over tensor"},
                           {"line.mesh:6:10", "all_reduce of 'loss' over data"},
                           {"line.mesh:9:1", "all_reduce of gradients over "
                                             "data"}};

float *at(MeshcContext *ctx, int64_t offset) {
  return reinterpret_cast<float *>(ctx->arena + offset);
}

void allReduce(MeshcContext *ctx, uint32_t axis, uint32_t site, float *values,
               int64_t count) {
  if (axes[axis].size == 1)
    return;
  const MeshcCollectiveItem item = {1, count, 1, count};
  const MeshcCollective collective = {
      MESHC_ALL_REDUCE, MESHC_SUM, MESHC_F32, 0, 1u << axis, site, 1, &item};
  void *buffer = values;
  meshc_collective(ctx, &collective, &buffer, &buffer);
}

void initialize(MeshcContext *ctx) {
  for (int64_t i = 0; i < columns; ++i) {
    uint64_t index = static_cast<uint64_t>(ctx->coords[1] * columns + i);
    uint64_t bits = (ctx->seed + index + 1) * 0x9e3779b97f4a7c15u;
    at(ctx, atW)[i] = static_cast<float>(bits >> 40) * 0x1p-24f - 0.5f;
    at(ctx, atWMomentum)[i] = 0;
  }
  *at(ctx, atB) = *at(ctx, atBMomentum) = 0;
}

/// y = y + b - target, rows of it.
void subtract(const MeshcContext *, void *const *buffers, int64_t begin,
              int64_t end) {
  auto *y = static_cast<float *>(buffers[0]);
  const auto *target = static_cast<const float *>(buffers[1]);
  const auto *b = static_cast<const float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    y[i] += *b - target[i];
}

const MeshcKernel kernels[] = {{"subtract", subtract, rows, 1, 3, 0, 0, 0}};

void evalStep(MeshcContext *ctx) {
  if (const char *ms = std::getenv("LINE_SLEEP"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(ms)));
  float *y = at(ctx, atY);
  MeshcGemm product = {};
  product.m = rows, product.n = 1, product.k = columns;
  product.lda = columns, product.ldb = product.ldc = 1;
  product.batch = 1;
  product.type = product.typeC = MESHC_F32;
  meshc_gemm(ctx, &product, at(ctx, atX), at(ctx, atW), y);
  allReduce(ctx, 1, 0, y, rows);
  void *buffers[] = {y, at(ctx, atTarget), at(ctx, atB)};
  meshc_launch(ctx, kernels, buffers);
  float sums[2] = {0, 0};
  for (int64_t i = 0; i < rows; ++i) {
    sums[0] += y[i] * y[i] / batch;
    sums[1] += std::fabs(y[i]) / batch;
  }
  allReduce(ctx, 0, 1, sums, 2);
  *at(ctx, atLoss) = sums[0];
  *at(ctx, atError) = sums[1];
}

/// Whether `variable` asks for something on this rank at this step.
bool asked(const char *variable, const MeshcContext *ctx, bool ofRank) {
  const char *text = std::getenv(variable);
  long long rank = 0, step = -1;
  if (!text)
    return false;
  if (ofRank)
    return std::sscanf(text, "%lld:%lld", &rank, &step) == 2 &&
           rank == ctx->coords[0] * MESH_TENSOR + ctx->coords[1] &&
           step == ctx->step;
  return std::atoll(text) == ctx->step;
}

void trainStep(MeshcContext *ctx) {
  if (asked("LINE_KILL", ctx, true))
    raise(SIGKILL);
  if (asked("LINE_THROW", ctx, true))
    throw std::runtime_error("asked to fail");
  evalStep(ctx);
  const float *y = at(ctx, atY), *x = at(ctx, atX);
  float *gradients = at(ctx, atGradients);
  for (int64_t j = 0; j <= columns; ++j)
    gradients[j] = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j)
      gradients[j] += 2 * y[i] * x[i * columns + j] / batch;
    gradients[columns] += 2 * y[i] / batch;
  }
  allReduce(ctx, 0, 2, gradients, columns + 1);
  auto update = [&](float *value, float *momentum, float gradient) {
    *momentum = 0.9f * *momentum + gradient;
    *value -= 0.01f * *momentum;
  };
  for (int64_t j = 0; j < columns; ++j)
    update(at(ctx, atW) + j, at(ctx, atWMomentum) + j, gradients[j]);
  update(at(ctx, atB), at(ctx, atBMomentum), gradients[columns]);
  if (asked("LINE_NAN", ctx, false))
    *at(ctx, atLoss) = std::numeric_limits<float>::quiet_NaN();
  if (asked("LINE_SPOIL", ctx, false))
    *at(ctx, atW) = std::numeric_limits<float>::infinity();
}

} // namespace

extern "C" const MeshcProgram meshc_program = {MESHC_ABI_VERSION,
                                               2,
                                               axes,
                                               "line",
                                               8,
                                               3,
                                               tensors,
                                               sites,
                                               MESHC_HOST,
                                               1,
                                               kernels,
                                               0,
                                               0,
                                               nullptr,
                                               arenaSize,
                                               initialize,
                                               trainStep,
                                               evalStep,
                                               "{\"model\": \"line\"}"};
