//===- CudaDeviceTest.cpp - the device, on a GPU that checks its use ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Device/CudaDevice.h"

#include "runtime/Comm/World.h"
#include "runtime/Device/CudaLibrary.h"
#include "runtime/Device/Recorder.h"
#include "test/runtime/Data/TestFiles.h"
#include "test/runtime/Device/Libraries/FakeImage.h"

#include <algorithm>
#include <cstring>
#include <functional>

using namespace meshc::runtime;
using namespace meshc::test;

namespace {

const MeshcAxis axes[] = {{"data", 2}};

/// y = x² + step.
void square(const MeshcContext *ctx, void *const *buffers, int64_t begin,
            int64_t end) {
  const auto *x = static_cast<const float *>(buffers[0]);
  auto *y = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] * x[i] + static_cast<float>(ctx->step);
}

/// loss = y[0].
void pick(const MeshcContext *, void *const *buffers, int64_t, int64_t) {
  std::memcpy(buffers[0], buffers[1], sizeof(float));
}

/// Halves a number; is there more than 1 left?
void halve(const MeshcContext *, void *const *buffers, int64_t, int64_t) {
  auto *x = static_cast<float *>(buffers[0]);
  *x *= 0.5f;
  *static_cast<uint8_t *>(buffers[1]) = *x > 1;
}

constexpr int64_t size = 1000, atX = 0, atY = 4032, atLoss = 8064, atZ = 8128,
                  atCondition = 12288;
const meshc::fake::Kernel code[] = {
    {"square", square, size, 2}, {"pick", pick, 1, 2}, {"halve", halve, 1, 2}};
const meshc::fake::Image fakeImage = {meshc::fake::Image::expectedMagic, 3,
                                      code};
const MeshcKernel kernels[] = {{"square", nullptr, 0, 0, 2, 8, 128, 0},
                               {"pick", nullptr, 0, 0, 2, 1, 32, 0},
                               {"halve", nullptr, 0, 0, 2, 1, 32, 0}};
const MeshcImage image = {MESHC_CUBIN, 90, sizeof(fakeImage), &fakeImage};

const MeshcDim dim = {"i", size, size, 1, 0, nullptr};
// Rows of 3 in steps of 5: the two elements between them are unused.
const MeshcDim gaps[] = {{"a", 4, 4, 5, 0, nullptr},
                         {"b", 3, 3, 1, 0, nullptr}};
const MeshcTensor tensors[] = {
    {"x", MESHC_INPUT, MESHC_F32, 0, 1, &dim, atX},
    {"y", MESHC_PARAMETER, MESHC_F32, 0, 1, &dim, atY},
    {"loss", MESHC_METRIC, MESHC_F32, 0, 0, nullptr, atLoss},
    {"z", MESHC_PARAMETER, MESHC_F32, 0, 2, gaps, atZ}};
// The 20 numbers that z lies in, without gaps.
const MeshcDim twenty = {"i", 20, 20, 1, 0, nullptr};
const MeshcTensor underZ = {"u", MESHC_PARAMETER, MESHC_F32, 0,
                            1,   &twenty,         atZ};

thread_local int calls = 0; ///< of trainStep, by this rank
thread_local std::function<void(MeshcContext *)> eager;
thread_local std::function<void(MeshcContext *)> more; ///< of trainStep

void trainStep(MeshcContext *ctx) {
  ++calls;
  void *squared[] = {ctx->arena + atX, ctx->arena + atY};
  meshc_launch(ctx, &kernels[0], squared);
  void *picked[] = {ctx->arena + atLoss, ctx->arena + atY};
  meshc_launch(ctx, &kernels[1], picked);
  if (more)
    more(ctx);
}

/// What is never captured.
void initialize(MeshcContext *ctx) { eager(ctx); }

MeshcProgram squares(uint32_t axisCount) {
  MeshcProgram program = {};
  program.abiVersion = MESHC_ABI_VERSION;
  program.axisCount = axisCount;
  program.axes = axes;
  program.name = "squares";
  program.tensorCount = 4;
  program.tensors = tensors;
  program.target = MESHC_CUDA;
  program.kernelCount = 3;
  program.kernels = kernels;
  program.imageCount = 1;
  program.images = &image;
  program.arenaBytes = 16384;
  program.initialize = initialize;
  program.trainStep = trainStep;
  return program;
}

/// Calls `action(device)` on each rank of a program.
void onDevice(const MeshcProgram &program,
              const std::function<void(Device &)> &action,
              const DeviceOptions &deviceOptions = {}) {
  WorldOptions options;
  std::vector<int64_t> sizes;
  if (program.axisCount) {
    options.ranks = 2;
    sizes = {2};
  }
  auto world = openWorld(options);
  world->run([&](Communicator &communicator) {
    Rank rank(program, communicator, MeshView(sizes, communicator.rank()), 1);
    action(*makeDevice(rank, deviceOptions));
  });
  world->finish(0);
}

void fill(char *block, float value) {
  for (int64_t i = 0; i < size; ++i)
    std::memcpy(block + 4 * i, &value, sizeof(value));
}

float numberAt(const char *block, int64_t index) {
  float value;
  std::memcpy(&value, block + 4 * index, sizeof(value));
  return value;
}

} // namespace

/// The host fills a batch while a step is in progress, and every step gets its
/// own; the function is called for its first run and for two captures.
TEST(CudaDevice, isAStepAheadAndReplaysAGraph) {
  onDevice(squares(0), [](Device &device) {
    ASSERT_EQ(device.runsAhead(), 1);
    calls = 0;
    std::vector<float> metrics;
    for (int step = 0; step < 40; ++step) {
      fill(device.stage(tensors[0]), static_cast<float>(step));
      device.context().step = step;
      device.run(StepFunction::Train);
      if (step == 0)
        continue;
      device.readMetrics(metrics);
      auto before = static_cast<float>(step - 1);
      ASSERT_EQ(metrics, std::vector<float>{before * before + before});
    }
    device.readMetrics(metrics);
    ASSERT_EQ(metrics, std::vector<float>{39 * 39 + 39});
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(numberAt(device.read(tensors[1]), size - 1), 39 * 39 + 39);
  });
}

/// The host reads the condition of each iteration when the GPU has computed it.
/// A graph could not, so the function is called for each step.
TEST(CudaDevice, endsLoopsByTheirConditions) {
  onDevice(squares(0), [](Device &device) {
    calls = 0;
    int iterations = 0;
    more = [&](MeshcContext *ctx) {
      static const MeshcLoop loop = {1, 0, 0, 0};
      void *condition = ctx->arena + atCondition;
      void *halved[] = {ctx->arena + atLoss, condition};
      int64_t left = 6;
      do {
        ++iterations;
        meshc_launch(ctx, &kernels[2], halved);
      } while (meshc_goes_on(ctx, &loop, condition, left--));
    };
    std::vector<float> metrics;
    for (int step = 0; step < 16; ++step) {
      fill(device.stage(tensors[0]), static_cast<float>(step));
      device.context().step = step;
      iterations = 0;
      device.run(StepFunction::Train);
      device.readMetrics(metrics);
      auto loss = static_cast<float>(step * step + step);
      int wanted = 0;
      do {
        loss *= 0.5f;
        ++wanted;
      } while (loss > 1 && wanted < 7);
      EXPECT_EQ(metrics, std::vector<float>{loss});
      EXPECT_EQ(iterations, wanted);
    }
    EXPECT_EQ(calls, 16);
    more = nullptr;
  });
}

/// A run without staged inputs uses those of its slot's last run.
TEST(CudaDevice, keepsInputsThatAreNotStagedAnew) {
  onDevice(squares(0), [](Device &device) {
    std::vector<float> metrics;
    for (int step = 0; step < 9; ++step) {
      if (step < 2 || step == 6)
        fill(device.stage(tensors[0]), static_cast<float>(step + 2));
      device.context().step = step;
      device.run(StepFunction::Train);
      device.readMetrics(metrics);
      float x = step % 2 ? 3.0f : step < 6 ? 2.0f : 8.0f;
      ASSERT_EQ(metrics, std::vector<float>{x * x + static_cast<float>(step)});
    }
  });
}

TEST(CudaDevice, isAtMostAStepAhead) {
  onDevice(squares(0), [](Device &device) {
    for (int step = 0; step < 2; ++step) {
      fill(device.stage(tensors[0]), 1);
      device.run(StepFunction::Train);
    }
    failureOf(ExitCode::Internal, [&] { device.run(StepFunction::Train); });
    std::vector<float> metrics;
    device.readMetrics(metrics);
    device.readMetrics(metrics);
    failureOf(ExitCode::Internal, [&] { device.readMetrics(metrics); });
    failureOf(ExitCode::Internal, [&] { device.stage(tensors[1]); });
  });
}

TEST(CudaDevice, beginsWithZerosAndKeepsWhatIsBetween) {
  onDevice(squares(0), [](Device &device) {
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(numberAt(device.read(underZ), i), 0);
    device.write(underZ, [](char *block) {
      for (int i = 0; i < 20; ++i) {
        auto value = static_cast<float>(i);
        std::memcpy(block + 4 * i, &value, sizeof(value));
      }
    });
    device.write(tensors[3], [](char *block) {
      float value = -1;
      for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 3; ++column)
          std::memcpy(block + 4 * (row * 5 + column), &value, sizeof(value));
    });
    const char *block = device.read(underZ);
    for (int i = 0; i < 20; ++i)
      EXPECT_EQ(numberAt(block, i), i % 5 < 3 ? -1 : static_cast<float>(i));
  });
}

TEST(CudaDevice, sumsWhatItMultiplies) {
  onDevice(squares(0), [](Device &device) {
    device.write(tensors[0], [](char *block) { fill(block, 2); });
    eager = [](MeshcContext *ctx) {
      MeshcGemm gemm = {};
      gemm.m = gemm.n = 4, gemm.k = 8;
      gemm.lda = 8, gemm.ldb = gemm.ldc = 4;
      gemm.batch = 1;
      meshc_gemm(ctx, &gemm, ctx->arena + atX, ctx->arena + atX,
                 ctx->arena + atY);
      gemm.accumulate = 1;
      meshc_gemm(ctx, &gemm, ctx->arena + atX, ctx->arena + atX,
                 ctx->arena + atY);
    };
    device.run(StepFunction::Initialize);
    EXPECT_EQ(numberAt(device.read(tensors[1]), 15), 64);
  });
}

// Products of 4 × 8 and 8 × 8 whose epilogues' kernel is `square`, so that one
// sees who did it: 2 · 2 summed over 8 is 32 by a call, 32² by the kernel.

const MeshcKernel finishers[] = {{"square", nullptr, 0, 0, 2, 8, 128, 0},
                                 {"square", nullptr, 0, 0, 3, 8, 128, 0}};
constexpr int64_t atMask = 12288;

void multiplyThenRelu(MeshcContext *ctx, uint8_t type) {
  MeshcGemm gemm = {};
  gemm.m = 4, gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 8;
  gemm.batch = 1, gemm.type = gemm.typeC = type;
  MeshcEpilogue relu = {MESHC_RELU, 0, &finishers[0]};
  void *y = ctx->arena + atY, *buffers[] = {y, y};
  meshc_gemm_epilogue(ctx, &gemm, &relu, ctx->arena + atX, ctx->arena + atX, y,
                      buffers, ctx->arena + atMask);
}

/// Its kernel writes x, where it is run.
void multiplyForGradient(MeshcContext *ctx, int64_t mask) {
  MeshcGemm gemm = {};
  gemm.m = 4, gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 8;
  gemm.batch = 1;
  MeshcEpilogue gradient = {MESHC_RELU_GRADIENT, 0, &finishers[1]};
  void *x = ctx->arena + atX, *y = ctx->arena + atY, *buffers[] = {y, x, y};
  meshc_gemm_epilogue(ctx, &gemm, &gradient, x, x, y, buffers,
                      ctx->arena + mask);
}

TEST(CudaDevice, multipliesWithEpilogues) {
  onDevice(squares(0), [](Device &device) {
    device.write(tensors[0], [](char *block) { fill(block, 2); });
    auto run = [&](const std::function<void(MeshcContext *)> &orders) {
      eager = orders;
      device.run(StepFunction::Initialize);
    };
    auto y = [&] { return numberAt(device.read(tensors[1]), 31); };
    run([](MeshcContext *ctx) { multiplyThenRelu(ctx, MESHC_F32); });
    EXPECT_EQ(y(), 32);
    run([](MeshcContext *ctx) { multiplyForGradient(ctx, atMask); });
    EXPECT_EQ(y(), 32);
    EXPECT_EQ(numberAt(device.read(tensors[0]), 0), 2);
    const auto &counts = dynamic_cast<CudaDevice &>(device).productCounts();
    EXPECT_EQ(counts.epilogues, 2);
    EXPECT_EQ(counts.cublas, 2);
    // A mask that no call wrote says nothing.
    run([](MeshcContext *ctx) { multiplyForGradient(ctx, atMask + 256); });
    EXPECT_EQ(numberAt(device.read(tensors[0]), 0), 1024);
    EXPECT_EQ(counts.epilogues, 2);
    EXPECT_EQ(counts.cublas, 3);
  });
}

TEST(CudaDevice, doesEpiloguesByKernelsWhereTheLibraryHasNone) {
  onDevice(squares(0), [](Device &device) {
    device.write(tensors[0], [](char *block) { fill(block, 2); });
    eager = [](MeshcContext *ctx) { multiplyThenRelu(ctx, MESHC_F16); };
    device.run(StepFunction::Initialize);
    // The mask was not written: neither is it read.
    eager = [](MeshcContext *ctx) { multiplyForGradient(ctx, atMask); };
    device.run(StepFunction::Initialize);
    EXPECT_EQ(numberAt(device.read(tensors[0]), 0), 1024);
    EXPECT_EQ(dynamic_cast<CudaDevice &>(device).productCounts().epilogues, 0);
  });
}

/// A product with relu in its call, and one whose relu is a kernel.
TEST(CudaDevice, recordsEpilogues) {
  if (!HAS_CUPTI)
    GTEST_SKIP() << "there was no CUDA toolkit with CUPTI at the build";
  auto record = [](Device &device) {
    more = [](MeshcContext *ctx) {
      multiplyThenRelu(ctx, MESHC_F32);
      multiplyThenRelu(ctx, MESHC_F16);
    };
    auto runStep = [&device] {
      std::vector<float> metrics;
      fill(device.stage(tensors[0]), 1);
      device.run(StepFunction::Train);
      device.readMetrics(metrics);
    };
    for (int i = 0; i < 3; ++i) // in order, and two captures
      runStep();
    Recorder &recorder = *device.recorder();
    recorder.start();
    runStep();
    runStep();
    recorder.stop();
    recorder.finish();
    runStep();
    more = nullptr;
    const Recording &recording = recorder.recording();
    EXPECT_EQ(recording.stepCount, 2);
    EXPECT_EQ(recording.steps.size(), 2u);
    const char *const names[] = {"square", "pick", "4 x 8 x 8 f32 + relu",
                                 "4 x 8 x 8 f16", "square"};
    const int activities[] = {2, 2, 2, 4, 2};
    ASSERT_GE(recording.calls.size(), std::size(names));
    for (size_t i = 0; i < std::size(names); ++i) {
      EXPECT_EQ(recording.calls[i].name, names[i]);
      EXPECT_EQ(std::count_if(
                    recording.activities.begin(), recording.activities.end(),
                    [&](const auto &activity) { return activity.call == i; }),
                activities[i])
          << names[i];
    }
    EXPECT_EQ(recording.calls[2].number, 0u);
    EXPECT_EQ(recording.calls[3].number, 1u);
  };
  DeviceOptions options;
  options.trace = true;
  onDevice(squares(0), record, options);
}

TEST(CudaDevice, leavesEpiloguesToKernelsOnDemand) {
  DeviceOptions options;
  options.epilogues = false;
  onDevice(
      squares(0),
      [](Device &device) {
        device.write(tensors[0], [](char *block) { fill(block, 2); });
        eager = [](MeshcContext *ctx) { multiplyThenRelu(ctx, MESHC_F32); };
        device.run(StepFunction::Initialize);
        EXPECT_EQ(numberAt(device.read(tensors[1]), 31), 1024);
      },
      options);
}

/// Two collectives are started; work after the wait for the first sees its
/// result, and the second is done at the function's end, whether or not it was
/// waited for. Before it is started, a collective has nothing to wait for.
TEST(CudaDevice, waitsForTheCollectivesThatWereBegun) {
  onDevice(squares(1), [](Device &device) {
    device.write(tensors[0], [](char *block) { fill(block, 3); });
    eager = [](MeshcContext *ctx) {
      static const MeshcCollectiveItem item = {1, 100, 1, 1, 100, 1};
      static const MeshcCollective first = {
          MESHC_ALL_REDUCE, MESHC_SUM, MESHC_F32, 0, 1, 0, 1, &item, nullptr};
      static const MeshcCollective second = first;
      void *x = ctx->arena + atX, *y = ctx->arena + atY,
           *z = ctx->arena + atY + 1000;
      meshc_wait(ctx, &second);
      meshc_collective(ctx, &first, &x, &y);
      meshc_collective(ctx, &second, &x, &z);
      meshc_wait(ctx, &first);
      void *picked[] = {ctx->arena + atLoss, y};
      meshc_launch(ctx, &kernels[1], picked);
    };
    device.run(StepFunction::Initialize);
    EXPECT_EQ(numberAt(device.read(tensors[2]), 0), 6);
    EXPECT_EQ(numberAt(device.read(tensors[1]), 250), 6);
  });
}

/// The second collective wants more room for its blocks than there is. It is
/// taken when the first is done on all GPUs, as it might wait for them.
TEST(CudaDevice, takesRoomWhileNoCollectiveIsUnderWay) {
  onDevice(squares(1), [](Device &device) {
    device.write(tensors[0], [](char *block) { fill(block, 3); });
    eager = [](MeshcContext *ctx) {
      static const MeshcCollectiveItem items[] = {{4, 2, 3, 4, 2, 3},
                                                  {100, 2, 4, 100, 2, 4}};
      static const MeshcCollective first = {
          MESHC_ALL_GATHER, 0, MESHC_F32, 0, 1, 0, 1, &items[0], nullptr};
      static const MeshcCollective second = {
          MESHC_ALL_GATHER, 0, MESHC_F32, 0, 1, 0, 1, &items[1], nullptr};
      void *x = ctx->arena + atX, *y = ctx->arena + atY,
           *z = ctx->arena + atY + 200;
      meshc_collective(ctx, &first, &x, &y);
      meshc_collective(ctx, &second, &x, &z);
    };
    device.run(StepFunction::Initialize);
    EXPECT_EQ(numberAt(device.read(tensors[1]), 23), 3);
    EXPECT_EQ(numberAt(device.read(tensors[1]), 849), 3);
  });
}

TEST(CudaDevice, choosesTheCodeOfItsChip) {
  const MeshcImage images[] = {{MESHC_CUBIN, 80, 1, "a"},
                               {MESHC_CUBIN, 86, 1, "b"},
                               {MESHC_CUBIN, 90, 1, "c"},
                               {MESHC_PTX, 75, 1, "d"},
                               {MESHC_PTX, 90, 1, "e"}};
  MeshcProgram program = squares(0);
  program.images = images;
  program.imageCount = 5;
  auto chosen = [&](uint32_t chip) {
    return *static_cast<const char *>(chooseImage(program, chip).data);
  };
  EXPECT_EQ(chosen(80), 'a');
  EXPECT_EQ(chosen(87), 'b'); // 8.6 runs on 8.7
  EXPECT_EQ(chosen(90), 'c');
  EXPECT_EQ(chosen(75), 'd');
  EXPECT_EQ(chosen(100), 'e');
  std::string message =
      failureOf(ExitCode::Device, [&] { chooseImage(program, 70); });
  EXPECT_NE(message.find("sm_70, and the program holds code for sm_80, sm_86, "
                         "sm_90, sm_75 (PTX), sm_90 (PTX)"),
            std::string::npos)
      << message;
}

/// The same on GPUs of their own: the whole suite again.
int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  int code = 0;
  for (const char *gpus : {"1", "2"})
    for (const char *seed : {"1", "2", "3", "4", "5"}) {
      setenv("FAKE_CUDA_GPUS", gpus, 1);
      setenv("FAKE_CUDA_SEED", seed, 1);
      code |= RUN_ALL_TESTS();
    }
  return code;
}
