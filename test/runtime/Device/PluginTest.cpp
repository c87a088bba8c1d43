//===- PluginTest.cpp - the CUDA plugin on fake libraries -----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tests the plugin's functions, and that the fake libraries end the process if
/// CUDA's rules are broken: only then does a test on them mean something.
///
//===----------------------------------------------------------------------===//
#include "test/runtime/Device/PluginRanks.h"

#include <cstring>

using namespace meshc::test;

namespace {

MeshcGemm square(int64_t size) {
  MeshcGemm gemm = {};
  gemm.m = gemm.n = gemm.k = size;
  gemm.lda = gemm.ldb = gemm.ldc = size;
  gemm.batch = 1;
  return gemm;
}

/// C = A · B of 2 x 2, and who computed it.
std::vector<float> multiply(Gpu &gpu, MeshcCudaWay &way) {
  float *a = gpu.make({1, 2, 3, 4}), *b = gpu.make({5, 6, 7, 8});
  float *c = gpu.allocate(4);
  MeshcGemm gemm = square(2);
  EXPECT_OK(
      plugin().multiply(gpu, &gemm, nullptr, MESHC_CUDA_EXACT, a, b, c, &way));
  return gpu.get(c, 4);
}

const std::vector<float> product = {19, 22, 43, 50};

} // namespace

TEST(Plugin, multipliesByCublas) {
  Gpu gpu;
  MeshcCudaWay way = MESHC_CUDA_NOBODY;
  EXPECT_EQ(multiply(gpu, way), product);
  EXPECT_EQ(way, MESHC_CUDA_CUBLAS);
}

/// Whether the heuristic or the call refuses: the plugin's own kernel does it.
TEST(Plugin, multipliesWhatCublasRefuses) {
  for (const char *refusal : {"heuristic", "value", "call"}) {
    setenv("FAKE_CUBLAS_REFUSES", refusal, 1);
    Gpu gpu;
    for (int time = 0; time < 2; ++time) {
      MeshcCudaWay way = MESHC_CUDA_NOBODY;
      EXPECT_EQ(multiply(gpu, way), product) << refusal;
      EXPECT_EQ(way, MESHC_CUDA_OWN_KERNEL) << refusal;
    }
  }
  unsetenv("FAKE_CUBLAS_REFUSES");
}

TEST(Plugin, writesEveryCallWithItsArguments) {
  std::string path = testing::TempDir() + "calls.log";
  EXPECT_EXIT(
      {
        setenv("FAKE_CUDA_LOG", path.c_str(), 1);
        {
          Gpu gpu;
          MeshcCudaWay way = MESHC_CUDA_NOBODY;
          multiply(gpu, way);
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::string log;
  if (std::FILE *file = std::fopen(path.c_str(), "r")) {
    char part[4096];
    while (size_t count = std::fread(part, 1, sizeof(part), file))
      log.append(part, count);
    std::fclose(file);
  }
  for (const char *line :
       {"cudaSetDevice(0)\n", "cudaMalloc(bytes=1048576)\n",
        "cublasLtMatrixLayoutCreate(type=0, rows=2, cols=2, ld=2)\n",
        "cublasLtMatmul(m=2, n=2, epilogue=1, A="})
    EXPECT_NE(log.find(line), std::string::npos) << line << " in\n" << log;
}

//===----------------------------------------------------------------------===//
// Memory and order
//===----------------------------------------------------------------------===//

namespace {
void combine(Gpu &gpu, const void *from, void *to) {
  MeshcCudaCombine order = {};
  order.sourceCount = order.destinationCount = 1;
  order.count = 4;
  order.sources[0] = {const_cast<void *>(from), INT64_MAX, 0};
  order.destinations[0] = {to, INT64_MAX, 0};
  EXPECT_OK(plugin().combine(gpu, MESHC_CUDA_COMPUTE, &order));
  gpu.finish(MESHC_CUDA_COMPUTE);
}
} // namespace

TEST(PluginDeathTest, memoriesAreNotMixed) {
  static float plain[4];
  EXPECT_VIOLATION(combine(gpu, gpu.host(), gpu.allocate(4)),
                   "memory of the host where that of a GPU is needed");
  EXPECT_VIOLATION(plugin().copy(gpu, MESHC_CUDA_COPY, gpu.allocate(4), plain,
                                 sizeof(plain)),
                   "neither of a GPU nor of pinned memory|in no memory");
  EXPECT_VIOLATION(combine(gpu, gpu.allocate(3), gpu.allocate(4)),
                   "an access of 16 bytes is in no memory");
  EXPECT_VIOLATION(
      {
        void *memory = nullptr;
        EXPECT_OK(plugin().allocate(gpu, 16, &memory));
        plugin().zero(gpu, MESHC_CUDA_COMPUTE, memory, 16);
        plugin().release(gpu, memory);
        gpu.finish(MESHC_CUDA_COMPUTE);
      },
      "in no memory|neither of a GPU");
}

TEST(PluginDeathTest, hostCannotFollowAddressesOfGpus) {
  EXPECT_DEATH(
      {
        Gpu gpu;
        *static_cast<volatile float *>(gpu.allocate(1)) = 1;
      },
      "");
}

TEST(PluginDeathTest, eventsAndGraphsLive) {
  EXPECT_VIOLATION(
      {
        void *event = nullptr;
        EXPECT_OK(plugin().newEvent(gpu, &event));
        plugin().dropEvent(gpu, event);
        plugin().record(gpu, event, MESHC_CUDA_COMPUTE);
      },
      "an event is used that does not exist");
  EXPECT_VIOLATION(
      {
        void *event = nullptr;
        EXPECT_OK(plugin().newEvent(gpu, &event));
      },
      "are held at the end");
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// A graph does its work each time, with the addresses and values of the
/// capture, and nothing at the capture.
TEST(Plugin, replaysAGraph) {
  Gpu gpu;
  float *from = gpu.make({1, 2, 3, 4}), *to = gpu.make({0, 0, 0, 0});
  combine(gpu, from, to); // the first use
  EXPECT_OK(plugin().zero(gpu, MESHC_CUDA_COMPUTE, to, 16));
  gpu.finish(MESHC_CUDA_COMPUTE);
  EXPECT_OK(plugin().beginCapture(gpu));
  MeshcCudaCombine order = {};
  order.sourceCount = order.destinationCount = 1;
  order.count = 4;
  order.sources[0] = {from, INT64_MAX, 0};
  order.destinations[0] = {to, INT64_MAX, 0};
  EXPECT_OK(plugin().combine(gpu, MESHC_CUDA_COMPUTE, &order));
  order = {};
  void *graph = nullptr;
  EXPECT_OK(plugin().endCapture(gpu, &graph));
  EXPECT_EQ(gpu.get(to, 4), std::vector<float>(4, 0));
  for (int time = 0; time < 2; ++time) {
    EXPECT_OK(plugin().zero(gpu, MESHC_CUDA_COMPUTE, to, 16));
    EXPECT_OK(plugin().launchGraph(gpu, graph));
    EXPECT_EQ(gpu.get(to, 4), (std::vector<float>{1, 2, 3, 4}));
  }
  plugin().dropGraph(gpu, graph);
}

namespace {
/// `call` is made within a capture, with two arrays of 16 numbers.
using Captured = void (*)(Gpu &gpu, float *a, float *b);
void capture(Captured call) {
  Gpu gpu;
  float *a = gpu.make(std::vector<float>(16, 1));
  float *b = gpu.make(std::vector<float>(16, 1));
  EXPECT_OK(plugin().beginCapture(gpu));
  call(gpu, a, b);
}
void expectForbidden(Captured call, const std::string &rule) {
  EXPECT_DEATH(capture(call), rule);
}
} // namespace

TEST(PluginDeathTest, capturesOnlyOrderWork) {
  expectForbidden(
      [](Gpu &gpu, float *, float *) {
        int done = 0;
        plugin().query(gpu, gpu.anEvent(), &done);
      },
      "cudaEventQuery during a capture");
  expectForbidden([](Gpu &gpu, float *, float *) { gpu.allocate(4); },
                  "cudaMalloc during a capture");
  expectForbidden([](Gpu &gpu, float *a, float *) { plugin().release(gpu, a); },
                  "cudaFree during a capture");
  expectForbidden([](Gpu &gpu, float *,
                     float *) { plugin().dropEvent(gpu, gpu.anEvent()); },
                  "cudaEventDestroy during a capture");
  expectForbidden(
      [](Gpu &gpu, float *, float *) {
        uint64_t bytes = 0;
        plugin().freeMemory(gpu, &bytes);
      },
      "cudaMemGetInfo during a capture");
  expectForbidden(
      [](Gpu &gpu, float *a, float *b) {
        MeshcGemm gemm = square(4);
        MeshcCudaWay way = MESHC_CUDA_NOBODY;
        plugin().multiply(gpu, &gemm, nullptr, MESHC_CUDA_EXACT, a, a, b, &way);
      },
      "cublasLt is made during a capture");
  expectForbidden([](Gpu &gpu, float *a, float *b) { combine(gpu, a, b); },
                  "cudaLibraryGetKernel during a capture");
  expectForbidden(
      [](Gpu &gpu, float *a, float *) {
        plugin().zero(gpu, MESHC_CUDA_COMMUNICATION, a, 16);
      },
      "a stream gets work that does not belong to it");
  expectForbidden(
      [](Gpu &gpu, float *, float *) { plugin().beginCapture(gpu); },
      "begins within another");
}
