//===- HostDeviceTest.cpp - the device of the host ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/HostDevice.h"

#include "runtime/Base/Parallel.h"
#include "runtime/Comm/World.h"
#include "runtime/Device/Rank.h"
#include "test/runtime/Data/TestFiles.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

void square(const MeshcContext *, void *const *buffers, int64_t begin,
            int64_t end) {
  const auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] * x[i];
}

const MeshcKernel kernel = {"square", square, 1000, 10, 2, 0, 0, 0};
const MeshcDim dim = {"i", 1000, 1000, 1, 0, nullptr};
const MeshcTensor tensors[] = {
    {"x", MESHC_INPUT, MESHC_F32, 0, 1, &dim, 0},
    {"y", MESHC_PARAMETER, MESHC_F32, 0, 1, &dim, 4032},
    {"loss", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, 8064}};

/// y = x², loss = step.
void trainStep(MeshcContext *ctx) {
  void *buffers[] = {ctx->arena, ctx->arena + 4032};
  meshc_launch(ctx, &kernel, buffers);
  auto step = static_cast<float>(ctx->step);
  std::memcpy(ctx->arena + 8064, &step, sizeof(step));
}

MeshcProgram squares(uint32_t target) {
  MeshcProgram program = {};
  program.abiVersion = MESHC_ABI_VERSION;
  program.name = "squares";
  program.tensorCount = 3;
  program.tensors = tensors;
  program.target = target;
  program.kernelCount = 1;
  program.kernels = &kernel;
  program.arenaBytes = 8192;
  program.trainStep = trainStep;
  return program;
}

/// Calls `action(rank)` on the one rank of a program.
template <typename Action>
void onRank(const MeshcProgram &program, Action &&action) {
  auto world = openWorld({});
  world->run([&](Communicator &communicator) {
    Rank rank(program, communicator, MeshView({}, 0), 2);
    action(rank);
  });
  world->finish(0);
}

} // namespace

TEST(HostDevice, runsAStepOnWhatWasStaged) {
  MeshcProgram program = squares(MESHC_HOST);
  onRank(program, [&](Rank &rank) {
    setThreads(2);
    auto device = makeDevice(rank, {});
    EXPECT_EQ(device->runsAhead(), 0);
    auto *x = reinterpret_cast<float *>(device->stage(tensors[0]));
    for (int i = 0; i < 1000; ++i)
      x[i] = static_cast<float>(i);
    device->context().step = 7;
    device->run(StepFunction::Train);
    std::vector<float> metrics;
    device->readMetrics(metrics);
    EXPECT_EQ(metrics, std::vector<float>{7});
    const auto *y = reinterpret_cast<const float *>(device->read(tensors[1]));
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(y[i], static_cast<float>(i) * static_cast<float>(i));
    device->write(tensors[1], [](char *block) { block[0] = 1; });
    EXPECT_EQ(device->read(tensors[1])[0], 1);
    setThreads(1);
  });
}

/// The host's device is the arena itself: nothing is copied.
TEST(HostDevice, copiesNothing) {
  MeshcProgram program = squares(MESHC_HOST);
  onRank(program, [&](Rank &rank) {
    HostDevice device(rank);
    EXPECT_EQ(device.stage(tensors[0]), device.context().arena);
    EXPECT_EQ(device.read(tensors[1]), device.context().arena + 4032);
    device.write(tensors[1], [&](char *block) {
      EXPECT_EQ(block, device.context().arena + 4032);
    });
  });
}

/// 1 - v and -ln v have all digits of f32: 1 - 0.999f is another number.
TEST(HostDevice, roundsEachFormOfASettingOnce) {
  MeshcProgram program = squares(MESHC_HOST);
  const MeshcSetting settings[] = {
      {"lr", "", 0.001, INFINITY, MESHC_ADJUSTABLE, 0},
      {"beta", "", 0.999, 1, MESHC_ADJUSTABLE, 0}};
  program.settings = settings;
  program.settingCount = 2;
  onRank(program, [&](Rank &rank) {
    HostDevice device(rank);
    auto read = [&] {
      const float *values = device.context().settings;
      return std::vector<float>(values, values + 6);
    };
    EXPECT_EQ(read(), (std::vector<float>{0.001F, 0.999F, 6.90775528F, 0.999F,
                                          0.001F, 0.00100050033F}));
    device.useSettings({0.5, 0});
    EXPECT_EQ(read(),
              (std::vector<float>{0.5F, 0.5F, 0.693147181F, 0, 1, INFINITY}));
  });
}

// Products over a dim in blocks that do not divide it.

namespace {

const MeshcAxis axes[] = {{"data", 2}, {"tensor", 2}};
const uint32_t bothAxes[] = {0, 1};

/// Fills A with 2 and B with 3 along the `depth` elements of k that exist. The
/// others are not numbers.
void fillFactors(const MeshcGemm &gemm, int64_t depth, float *a, float *b) {
  auto exists = [&](int64_t k, float number) {
    return k < depth ? number : std::numeric_limits<float>::quiet_NaN();
  };
  for (int64_t k = 0; k < gemm.k; ++k) {
    for (int64_t i = 0; i < gemm.m; ++i)
      a[gemm.transA ? k * gemm.lda + i : i * gemm.lda + k] = exists(k, 2);
    for (int64_t j = 0; j < gemm.n; ++j)
      b[k * gemm.ldb + j] = exists(k, 3);
  }
}

/// On the rank at `number` of the mesh, whose block of `cut` has `count`
/// entries.
void multiplyWhatExists(Rank &rank, const MeshcDim &cut, int64_t count,
                        int64_t side, int form) {
  constexpr int64_t perEntry = 5;
  HostDevice device(rank);
  char *arena = device.context().arena;
  MeshcGemm gemm = {};
  gemm.m = gemm.n = gemm.ldb = gemm.ldc = side;
  gemm.k = cut.localSize * perEntry;
  gemm.transA = form & 1, gemm.accumulate = form >> 1;
  gemm.lda = gemm.transA ? side : gemm.k;
  gemm.batch = 1;
  gemm.cut = &cut;
  auto *a = reinterpret_cast<float *>(arena), *b = a + 1024, *c = b + 1024;
  fillFactors(gemm, count * perEntry, a, b);
  std::fill(c, c + side * side, 1.0f);
  meshc_gemm(&device.context(), &gemm, a, b, c);
  auto wanted = static_cast<float>(6 * count * perEntry + gemm.accumulate);
  for (int64_t i = 0; i < side * side; ++i)
    ASSERT_EQ(c[i], wanted) << side << " " << form << " element " << i;
}

} // namespace

/// 10 entries in blocks of 5 and then 3, and 3 in blocks of 2 and then 1: the
/// last rank has none.
TEST(HostDevice, multipliesWhatExists) {
  const MeshcDim ten = {"ten", 10, 3, 0, 2, bothAxes},
                 three = {"three", 3, 1, 0, 2, bothAxes};
  const int64_t ofTen[] = {3, 2, 3, 2}, ofThree[] = {1, 1, 1, 0};
  MeshcProgram program = squares(MESHC_HOST);
  program.axisCount = 2;
  program.axes = axes;
  program.arenaBytes = 3 * 4096;
  auto world = openWorld({});
  world->run([&](Communicator &communicator) {
    for (int number = 0; number < 4; ++number) {
      Rank rank(program, communicator, MeshView({2, 2}, number), 1);
      for (int64_t side : {1, 3, 32})
        for (int form = 0; form < 4; ++form) {
          multiplyWhatExists(rank, ten, ofTen[number], side, form);
          multiplyWhatExists(rank, three, ofThree[number], side, form);
        }
    }
  });
  world->finish(0);
}

TEST(HostDevice, refusesWhatIsForGpus) {
  MeshcProgram program = squares(MESHC_HOST), other = squares(77);
  DeviceOptions options;
  options.matmul = parseMatmulPrecision("tf32");
  std::string message =
      failureOf(ExitCode::Usage, [&] { checkDevice(program, options); });
  EXPECT_NE(message.find("'--matmul tf32'"), std::string::npos) << message;
  options = {};
  options.epilogues = false;
  message = failureOf(ExitCode::Usage, [&] { checkDevice(program, options); });
  EXPECT_NE(message.find("'--no-epilogues'"), std::string::npos) << message;
  options = {};
  options.ncclSums = true;
  message = failureOf(ExitCode::Usage, [&] { checkDevice(program, options); });
  EXPECT_NE(message.find("'--nccl-sums'"), std::string::npos) << message;
  options = {};
  options.ncclMemory = true;
  message = failureOf(ExitCode::Usage, [&] { checkDevice(program, options); });
  EXPECT_NE(message.find("'--nccl-memory'"), std::string::npos) << message;
  options = {};
  options.holdsInputs = true;
  message = failureOf(ExitCode::Usage, [&] { checkDevice(program, options); });
  EXPECT_NE(message.find("'--hold-batch'"), std::string::npos) << message;
  failureOf(ExitCode::Internal, [&] { checkDevice(other, {}); });
  EXPECT_EQ(parseMatmulPrecision("bf16"), MatmulPrecision::BF16);
  failureOf(ExitCode::Usage, [] { parseMatmulPrecision("f64"); });
}

TEST(HostDevice, spansBlocksOfAnyOrder) {
  const MeshcDim dims[] = {{"a", 4, 4, 1, 0, nullptr},
                           {"b", 3, 3, 5, 0, nullptr}};
  MeshcTensor tensor = {"t", MESHC_INPUT, MESHC_F32, 0, 2, dims, 0};
  EXPECT_EQ(blockSpan(tensor), 14);
  tensor.rank = 0;
  EXPECT_EQ(blockSpan(tensor), 1);
}
