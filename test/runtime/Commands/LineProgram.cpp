//===- LineProgram.cpp - a program as the compiler writes it, by hand -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Linear regression: y = x·w + b, minimize mean((y - target)²) by SGD with
/// momentum, batch -> data, feature -> tensor. Batch 8, 6 features. All that is
/// computed is computed by kernels, for the host or (LINE_TARGET) the fake GPU
/// of test/runtime/Device/Libraries. Where the axes do not divide a dim,
/// kernels write NaN to the padding.
///
/// It generates two texts at once, text -> data, of up to 16 bytes. The most
/// probable byte is the letter number sum((p + 1) · byte at p) mod 26 of the
/// alphabet, for all positions p so far; other bytes are the less probable the
/// further they are from it. Prompts are read in blocks of 4.
///
/// The environment makes it misbehave for tests of the runtime:
///   LINE_KILL=RANK:STEP   that rank is killed before that step
///   LINE_THROW=RANK:STEP  that rank fails before that step
///   LINE_NAN=STEP         the loss of that step is not a number
///   LINE_SPOIL=STEP       a parameter is infinite after that step
///   LINE_INF=DATA:STEP    ranks with that coordinate on the axis data compute
///                         an infinite value in that step
///   LINE_SLEEP=MS         each step takes so long
///
//===----------------------------------------------------------------------===//
#include "meshc/RuntimeAbi.h"
#include "test/runtime/Commands/LineManifest.h"
#include "test/runtime/Device/Libraries/FakeImage.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int64_t batch = 8, features = 6;
constexpr int64_t divideUp(int64_t size, int64_t parts) {
  return (size + parts - 1) / parts;
}
constexpr int64_t rows = divideUp(batch, MESH_DATA),
                  columns = divideUp(features, MESH_TENSOR);

const MeshcAxis axes[] = {{"data", MESH_DATA}, {"tensor", MESH_TENSOR}};
const uint32_t dataAxis[] = {0}, tensorAxis[] = {1};

// Offsets in the arena. The inputs are side by side where they are not cut.
constexpr int64_t atTarget = 1024,
                  atX = MESH_DATA * MESH_TENSOR == 1 ? atTarget - 192 : 0,
                  atW = 1088, atB = 1152, atWMomentum = 1216,
                  atBMomentum = 1280, atLoss = 1344, atError = 1408, atY = 1472,
                  atGradients = 1536, atSums = 1600;
// Of generation.
constexpr int64_t texts = 2, positions = 16, block = 4, vocabulary = 256;
constexpr int64_t ownTexts = divideUp(texts, MESH_DATA);
constexpr int64_t atCache = 1664, atToken = 1792, atBlock = 1856,
                  atPosition = 1920, atTotals = 1984, atBatches = 2048,
                  atRest = 2112, atScores = 2176, atLogits = 4224,
                  // With the padding that an all_gather leaves behind them.
    arenaSize = atLogits + MESH_DATA * ownTexts * vocabulary * 4;

const MeshcDim xDims[] = {{"batch", batch, rows, columns, 1, dataAxis},
                          {"feature", features, columns, 1, 1, tensorAxis}};
const MeshcDim targetDims[] = {{"batch", batch, rows, 1, 1, dataAxis}};
const MeshcDim wDims[] = {{"feature", features, columns, 1, 1, tensorAxis}};

const MeshcDim cacheDims[] = {{"text", texts, ownTexts, positions, 1, dataAxis},
                              {"place", positions, positions, 1, 0, nullptr}};
const MeshcDim tokenDims[] = {{"text", texts, texts, 1, 0, nullptr}};
const MeshcDim blockDims[] = {{"text", texts, texts, block, 0, nullptr},
                              {"place.block", block, block, 1, 0, nullptr}};
const MeshcDim totalDims[] = {{"total", 3, 3, 1, 0, nullptr}};
const MeshcDim logitDims[] = {{"text", texts, texts, vocabulary, 0, nullptr},
                              {"byte", vocabulary, vocabulary, 1, 0, nullptr}};

const MeshcTensor tensors[] = {
    {"x", MESHC_INPUT, MESHC_F32, 0, 2, xDims, atX},
    {"target", MESHC_INPUT, MESHC_F32, 0, 1, targetDims, atTarget},
    {"w", MESHC_PARAMETER, MESHC_F32, 0, 1, wDims, atW},
    {"b", MESHC_PARAMETER, MESHC_F32, 0, 0, nullptr, atB},
    {"w.momentum", MESHC_OPTIMIZER, MESHC_F32, 0, 1, wDims, atWMomentum},
    {"b.momentum", MESHC_OPTIMIZER, MESHC_F32, 0, 0, nullptr, atBMomentum},
    {"loss", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atLoss},
    {"error", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atError},
    {"cache.bytes", MESHC_CACHE, MESHC_F32, 0, 2, cacheDims, atCache},
    {"bytes", MESHC_TOKEN, MESHC_I32, 0, 1, tokenDims, atToken},
    {"bytes.block", MESHC_TOKEN, MESHC_I32, 0, 2, blockDims, atBlock},
    {"position", MESHC_POSITION, MESHC_I32, 0, 0, nullptr, atPosition},
    {"logits", MESHC_LOGITS, MESHC_F32, 0, 2, logitDims, atLogits},
    {"totals", MESHC_STATISTIC, MESHC_F32, 0, 1, totalDims, atTotals},
    {"batches", MESHC_BATCHES, MESHC_I32, 0, 0, nullptr, atBatches},
    {"rest", MESHC_REST, MESHC_I32, 0, 0, nullptr, atRest}};
constexpr uint32_t tensorCount = sizeof(tensors) / sizeof(tensors[0]);

const MeshcSite sites[] = {{"line.mesh:5:7", "all_reduce of 'y' over tensor"},
                           {"line.mesh:6:10", "all_reduce of 'loss' over data"},
                           {"line.mesh:9:1", "all_reduce of gradients over "
                                             "data"},
                           {"line.mesh:12:1", "all_gather of 'logits' over "
                                              "data"}};

constexpr uint32_t target = LINE_TARGET;

void *at(MeshcContext *ctx, int64_t offset) { return ctx->arena + offset; }

void allReduce(MeshcContext *ctx, uint32_t axis, uint32_t site, int64_t offset,
               int64_t count) {
  if (axes[axis].size == 1)
    return;
  const MeshcCollectiveItem item = {1, count, 1, 1, count, 1};
  const MeshcCollective collective = {
      MESHC_ALL_REDUCE, MESHC_SUM, MESHC_F32, 0, 1u << axis, site, 1, &item,
      nullptr};
  void *buffer = at(ctx, offset);
  meshc_collective(ctx, &collective, &buffer, &buffer);
  meshc_wait(ctx, &collective);
}

void allGather(MeshcContext *ctx, uint32_t site, int64_t from, int64_t to,
               int64_t count) {
  const int64_t ranks = axes[0].size;
  const MeshcCollectiveItem item = {1, ranks, count, 1, ranks, count};
  const MeshcCollective collective = {
      MESHC_ALL_GATHER, MESHC_SUM, MESHC_F32, 0, 1u, site, 1, &item, nullptr};
  void *send = at(ctx, from), *recv = at(ctx, to);
  meshc_collective(ctx, &collective, &send, &recv);
  meshc_wait(ctx, &collective);
}

//===----------------------------------------------------------------------===//
// Kernels. Buffers that are written come first.
//===----------------------------------------------------------------------===//

float *numbers(void *buffer) { return static_cast<float *>(buffer); }

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

/// Whether the environment asks for something of the ranks with this coordinate
/// on the axis data in this step, "DATA:STEP".
bool askedOfRow(const char *variable, const MeshcContext *ctx) {
  const char *text = std::getenv(variable);
  long long row = 0, step = -1;
  return text && std::sscanf(text, "%lld:%lld", &row, &step) == 2 &&
         row == ctx->coords[0] && step == ctx->step;
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// How many entries exist of the block of `local` entries that a rank has of
/// `size`.
int64_t countOf(int64_t size, int64_t local, int64_t block) {
  return std::clamp<int64_t>(size - block * local, 0, local);
}
int64_t ownRows(const MeshcContext *ctx) {
  return countOf(batch, rows, ctx->coords[0]);
}
int64_t ownColumns(const MeshcContext *ctx) {
  return countOf(features, columns, ctx->coords[1]);
}

/// w, w.momentum, b, b.momentum.
void begin(const MeshcContext *ctx, void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < columns; ++i) {
    uint64_t index = static_cast<uint64_t>(ctx->coords[1] * columns + i);
    uint64_t bits = (ctx->seed + index + 1) * 0x9e3779b97f4a7c15u;
    bool exists = i < ownColumns(ctx);
    numbers(buffers[0])[i] =
        exists ? static_cast<float>(bits >> 40) * 0x1p-24f - 0.5f : nan;
    numbers(buffers[1])[i] = exists ? 0 : nan;
  }
  *numbers(buffers[2]) = *numbers(buffers[3]) = 0;
}

constexpr bool hasPadding =
    batch % MESH_DATA != 0 || features % MESH_TENSOR != 0;

/// NaN for the padding of x.
void pad(const MeshcContext *ctx, void *const *buffers, int64_t, int64_t) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (i >= ownRows(ctx) || j >= ownColumns(ctx))
        numbers(buffers[0])[i * columns + j] = nan;
}

/// y = y + b - target, rows of it.
void subtract(const MeshcContext *ctx, void *const *buffers, int64_t first,
              int64_t end) {
  for (int64_t i = first; i < end; ++i)
    numbers(buffers[3])[i] = i < ownRows(ctx) ? numbers(buffers[0])[i] +
                                                    *numbers(buffers[2]) -
                                                    numbers(buffers[1])[i]
                                              : nan;
  if (askedOfRow("LINE_INF", ctx))
    numbers(buffers[3])[first] = std::numeric_limits<float>::infinity();
}

/// The sums of y² and |y| over this rank's rows.
void sum(const MeshcContext *ctx, void *const *buffers, int64_t, int64_t) {
  const float *y = numbers(buffers[0]);
  float *sums = numbers(buffers[1]);
  sums[0] = sums[1] = 0;
  for (int64_t i = 0; i < ownRows(ctx); ++i) {
    sums[0] += y[i] * y[i] / batch;
    sums[1] += std::fabs(y[i]) / batch;
  }
}

int32_t *wholeNumbers(void *buffer) { return static_cast<int32_t *>(buffer); }

/// The examples of a batch of an evaluation, of batches and rest.
int64_t countExamples(void *batches, void *rest) {
  return *wholeNumbers(batches) > 0 ? batch : *wholeNumbers(rest);
}

/// The sums of y² and |y| over this rank's rows of an evaluation, of y, batches
/// and rest.
void sumExamples(const MeshcContext *ctx, void *const *buffers, int64_t,
                 int64_t) {
  const float *y = numbers(buffers[0]);
  float *sums = numbers(buffers[3]);
  const int64_t examples = countExamples(buffers[1], buffers[2]);
  sums[0] = sums[1] = 0;
  for (int64_t i = 0; i < ownRows(ctx); ++i)
    if (ctx->coords[0] * rows + i < examples) {
      sums[0] += y[i] * y[i];
      sums[1] += std::fabs(y[i]);
    }
}

/// totals, batches, loss and error, of the sums and the rest.
void addTotals(const MeshcContext *, void *const *buffers, int64_t, int64_t) {
  const float *sums = numbers(buffers[0]);
  float *totals = numbers(buffers[1]);
  totals[0] += sums[0];
  totals[1] += sums[1];
  totals[2] += static_cast<float>(countExamples(buffers[2], buffers[3]));
  --*wholeNumbers(buffers[2]);
  *numbers(buffers[4]) = totals[0] / totals[2];
  *numbers(buffers[5]) = totals[1] / totals[2];
}

/// loss and error, of the sums.
void tell(const MeshcContext *, void *const *buffers, int64_t, int64_t) {
  *numbers(buffers[1]) = numbers(buffers[0])[0];
  *numbers(buffers[2]) = numbers(buffers[0])[1];
}

/// Of w and b, of y and x.
void differentiate(const MeshcContext *ctx, void *const *buffers, int64_t,
                   int64_t) {
  const float *y = numbers(buffers[0]), *x = numbers(buffers[1]);
  float *gradients = numbers(buffers[2]);
  for (int64_t j = 0; j <= columns; ++j)
    gradients[j] = 0;
  for (int64_t i = 0; i < ownRows(ctx); ++i) {
    for (int64_t j = 0; j < ownColumns(ctx); ++j)
      gradients[j] += 2 * y[i] * x[i * columns + j] / batch;
    gradients[columns] += 2 * y[i] / batch;
  }
}

/// w, w.momentum, b, b.momentum, loss, by the gradients.
void update(const MeshcContext *ctx, void *const *buffers, int64_t, int64_t) {
  const float *gradients = numbers(buffers[0]);
  auto one = [&](float *value, float *momentum, float gradient) {
    *momentum = 0.9f * *momentum + gradient;
    *value -= 0.01f * *momentum;
  };
  for (int64_t j = 0; j < columns; ++j)
    one(numbers(buffers[1]) + j, numbers(buffers[2]) + j, gradients[j]);
  one(numbers(buffers[3]), numbers(buffers[4]), gradients[columns]);
  if (asked("LINE_NAN", ctx, false))
    *numbers(buffers[5]) = nan;
  if (asked("LINE_SPOIL", ctx, false))
    *numbers(buffers[1]) = std::numeric_limits<float>::infinity();
}

int64_t countTexts(const MeshcContext *ctx) {
  return countOf(texts, ownTexts, ctx->coords[0]);
}

/// Writes `count` bytes of each of this rank's texts to the cache.
void rememberBytes(const MeshcContext *ctx, void *const *buffers,
                   int64_t count) {
  for (int64_t i = 0; i < ownTexts; ++i)
    for (int64_t j = 0; j < count; ++j) {
      int64_t place = *wholeNumbers(buffers[2]) + j;
      int64_t text = ctx->coords[0] * ownTexts + i;
      if (place < positions)
        numbers(buffers[0])[i * positions + place] =
            i < countTexts(ctx)
                ? static_cast<float>(wholeNumbers(buffers[1])[text * count + j])
                : nan;
    }
}

/// The cache, of the bytes and the position.
void remember(const MeshcContext *ctx, void *const *buffers, int64_t, int64_t) {
  rememberBytes(ctx, buffers, 1);
}
void rememberBlock(const MeshcContext *ctx, void *const *buffers, int64_t,
                   int64_t) {
  rememberBytes(ctx, buffers, block);
}

/// The scores of this rank's texts, of the cache and the position.
void score(const MeshcContext *ctx, void *const *buffers, int64_t first,
           int64_t end) {
  for (int64_t i = first; i < end; ++i) {
    if (i >= countTexts(ctx)) {
      std::fill_n(numbers(buffers[0]) + i * vocabulary, vocabulary, nan);
      continue;
    }
    int64_t sum = 0;
    for (int64_t p = 0; p <= *wholeNumbers(buffers[2]); ++p)
      sum += (p + 1) *
             static_cast<int64_t>(numbers(buffers[1])[i * positions + p]);
    for (int64_t byte = 0; byte < vocabulary; ++byte)
      numbers(buffers[0])[i * vocabulary + byte] =
          -std::fabs(static_cast<float>(byte - 'a' - sum % 26));
  }
}

enum Which {
  Begin,
  Pad,
  Subtract,
  Sum,
  Tell,
  Differentiate,
  Update,
  Remember,
  RememberBlock,
  Score,
  SumExamples,
  AddTotals
};
const meshc::fake::Kernel code[] = {{"begin", begin, 1, 4},
                                    {"pad", pad, 1, 1},
                                    {"subtract", subtract, rows, 4},
                                    {"sum", sum, 1, 2},
                                    {"tell", tell, 1, 3},
                                    {"differentiate", differentiate, 1, 3},
                                    {"update", update, 1, 6},
                                    {"remember", remember, 1, 3},
                                    {"remember_block", rememberBlock, 1, 3},
                                    {"score", score, ownTexts, 3},
                                    {"sum_examples", sumExamples, 1, 4},
                                    {"add_totals", addTotals, 1, 6}};
constexpr uint32_t kernelCount = sizeof(code) / sizeof(code[0]);
const meshc::fake::Image fakeImage = {meshc::fake::Image::expectedMagic,
                                      kernelCount, code};

MeshcKernel kernelOf(Which which) {
  const meshc::fake::Kernel &known = code[which];
  if (target == MESHC_CUDA)
    return {known.name, nullptr, 0, 0, known.bufferCount, 1, 32, 0};
  return {known.name, known.function, known.extent, 1, known.bufferCount, 0, 0,
          0};
}
const MeshcKernel kernels[] = {
    kernelOf(Begin),  kernelOf(Pad),         kernelOf(Subtract),
    kernelOf(Sum),    kernelOf(Tell),        kernelOf(Differentiate),
    kernelOf(Update), kernelOf(Remember),    kernelOf(RememberBlock),
    kernelOf(Score),  kernelOf(SumExamples), kernelOf(AddTotals)};

template <class... Offsets>
void launch(MeshcContext *ctx, Which which, Offsets... offsets) {
  void *buffers[] = {at(ctx, offsets)...};
  meshc_launch(ctx, &kernels[which], buffers);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void initialize(MeshcContext *ctx) {
  launch(ctx, Begin, atW, atWMomentum, atB, atBMomentum);
}

/// y - target.
void computeErrors(MeshcContext *ctx) {
  if (const char *ms = std::getenv("LINE_SLEEP"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(ms)));
  if (hasPadding)
    launch(ctx, Pad, atX);
  MeshcGemm product = {};
  product.m = rows, product.n = 1, product.k = ownColumns(ctx);
  product.lda = columns, product.ldb = product.ldc = 1;
  product.batch = 1;
  product.type = product.typeC = MESHC_F32;
  meshc_gemm(ctx, &product, at(ctx, atX), at(ctx, atW), at(ctx, atY));
  allReduce(ctx, 1, 0, atY, rows);
  launch(ctx, Subtract, atY, atTarget, atB, atY);
}

void evalStep(MeshcContext *ctx) {
  computeErrors(ctx);
  launch(ctx, SumExamples, atY, atBatches, atRest, atSums);
  allReduce(ctx, 0, 1, atSums, 2);
  launch(ctx, AddTotals, atSums, atTotals, atBatches, atRest, atLoss, atError);
}

void trainStep(MeshcContext *ctx) {
  if (asked("LINE_KILL", ctx, true))
    raise(SIGKILL);
  if (asked("LINE_THROW", ctx, true))
    throw std::runtime_error("asked to fail");
  computeErrors(ctx);
  launch(ctx, Sum, atY, atSums);
  allReduce(ctx, 0, 1, atSums, 2);
  launch(ctx, Tell, atSums, atLoss, atError);
  launch(ctx, Differentiate, atY, atX, atGradients);
  allReduce(ctx, 0, 2, atGradients, columns + 1);
  launch(ctx, Update, atGradients, atW, atWMomentum, atB, atBMomentum, atLoss);
}

void prefillStep(MeshcContext *ctx) {
  launch(ctx, RememberBlock, atCache, atBlock, atPosition);
}

void generateStep(MeshcContext *ctx) {
  launch(ctx, Remember, atCache, atToken, atPosition);
  const bool isWhole = MESH_DATA == 1;
  launch(ctx, Score, isWhole ? atLogits : atScores, atCache, atPosition);
  if (!isWhole)
    allGather(ctx, 3, atScores, atLogits, ownTexts * vocabulary);
}

/// As the compiler's.
std::string makeManifest() {
  using meshc::test::launchEntry;
  const std::string ofBatch = meshc::test::dimEntry("batch", batch, "data"),
                    ofFeature =
                        meshc::test::dimEntry("feature", features, "tensor");
  std::string padded;
  if (hasPadding)
    padded = launchEntry("pad", "5:7", {},
                         {{"x", rows * columns, ofBatch + ", " + ofFeature}}) +
             ", ";
  return R"({"model": "line", "received": [{"site": 0, "results": [[)" +
         ofBatch +
         R"(]]}], "kernels": [{"name": "subtract", "location": )"
         R"("models/line.mesh:6:3", "lines": "5-6", "read": 600, )"
         R"("written": 400}], "functions": [{"name": "train_step", )"
         R"("products": [{"location": "models/line.mesh:5:7", "name": "y", )"
         R"("flops": 96000, "read": 8000, "written": 0, "dims": [)" +
         ofBatch + R"(]}], "launches": [)" + padded +
         launchEntry("subtract", "6:3", {rows, rows, 1},
                     {{"y", rows, ofBatch}}) +
         ", " + launchEntry("sum", "7:10", {rows}, {{"", 2}}) + ", " +
         launchEntry("tell", "7:3", {2}, {{"loss", 1}, {"error", 1}}) + ", " +
         launchEntry("differentiate", "8:3", {rows, rows * columns},
                     {{"gradients", columns + 1}}) +
         ", " +
         launchEntry("update", "9:1", {columns + 1},
                     {{"", columns, ofFeature},
                      {"", columns, ofFeature},
                      {"", 1},
                      {"", 1},
                      {"loss", 1}}) +
         "]}]}";
}
const std::string manifest = makeManifest();

const MeshcImage images[] = {{MESHC_CUBIN, 90, sizeof(fakeImage), &fakeImage}};

} // namespace

extern "C" const MeshcProgram meshc_program = {MESHC_ABI_VERSION,
                                               2,
                                               axes,
                                               "line",
                                               tensorCount,
                                               4,
                                               tensors,
                                               sites,
                                               target,
                                               kernelCount,
                                               kernels,
                                               target == MESHC_CUDA ? 1 : 0,
                                               0,
                                               images,
                                               arenaSize,
                                               initialize,
                                               trainStep,
                                               evalStep,
                                               manifest.c_str(),
                                               nullptr,
                                               generateStep,
                                               positions,
                                               nullptr,
                                               prefillStep};
