//===- ProductBench.cpp - implementations of products, side by side -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints GFLOP/s of implementations of matrix products, the best of many runs
/// that take turns, as the table of docs/rationale/matrix-products.md. The
/// figure in parentheses is the median over the rounds of (time of the last
/// implementation / time of this one): it stays right while other programs
/// use the machine. A product of few rows takes another B each time if B is
/// large. So B comes from memory, as weights do when a token is generated. Its
/// GB/s are printed, too.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Base/Float16.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Blas/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace meshc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

struct Shape {
  int64_t m, n, k;
  bool transA, transB;
  int64_t batch = 1;
};

constexpr Shape shapes[] = {
    {512, 512, 784, false, false},
    {512, 512, 512, false, false},
    {784, 512, 512, true, false},
    {512, 512, 512, true, false},
    {512, 512, 512, false, true},
    {256, 512, 784, false, false},
    {256, 512, 512, false, false},
    {784, 512, 256, true, false},
    {512, 512, 256, true, false},
    {512, 256, 784, false, false},
    {512, 256, 512, true, false},
    {784, 256, 512, true, false},
    {256, 256, 512, true, false},
    {1024, 3072, 768, false, false},
    {512, 10, 512, false, false},
    {512, 10, 512, true, false},
    {512, 512, 10, false, true},
    {128, 128, 784, false, false},
    {64, 64, 64, false, false},
    {8, 512, 512, false, false},
    {8, 512, 512, false, true},
    {1, 768, 768, false, false},
    {100, 10, 64, true, false},
    {500, 16384, 784, false, false},
    {512, 512, 64, false, true, 24},
    {64, 64, 32, false, true, 96},
    // One row or a few, as in generation.
    {1, 64, 64, false, false},
    {2, 300, 8, false, true},
    {2, 8, 300, false, false},
    {1, 300, 64, false, true},
    {1, 64, 300, false, false},
    {8, 300, 64, false, true},
    {8, 64, 64, false, false},
    {12, 64, 12, true, false},
    {1, 64, 172, false, true},
    {1, 3072, 768, false, false},
    {1, 768, 3072, false, false},
    {1, 768, 3072, false, true},
    {2, 768, 3072, false, false},
    {4, 768, 3072, false, false},
    {1, 50304, 768, false, true},
    {1, 50304, 768, false, false},
    {2, 3072, 768, false, false},
    {4, 3072, 768, false, false},
    {8, 3072, 768, false, false},
    {8, 768, 3072, false, false},
    {16, 3072, 768, false, false},
    {16, 768, 3072, false, false},
    {16, 768, 3072, false, true},
    {8, 768, 3072, false, true},
    {12, 768, 3072, false, true},
    // Nano, 768 tokens: forward, gradients of inputs, of weights.
    {768, 128, 128, false, false},
    {768, 512, 128, false, false},
    {768, 128, 512, false, false},
    {768, 128, 128, false, true},
    {768, 512, 128, false, true},
    {768, 128, 512, false, true},
    {128, 128, 768, true, false},
    {128, 512, 768, true, false},
    {512, 128, 768, true, false},
    // GPT-2 124M with 256 tokens: forward, gradients of weights, of inputs.
    {256, 768, 768, false, false},
    {256, 3072, 768, false, false},
    {256, 768, 3072, false, false},
    {256, 50304, 768, false, true},
    {768, 768, 256, true, false},
    {768, 3072, 256, true, false},
    {3072, 768, 256, true, false},
    {50304, 768, 256, true, false},
    {256, 768, 768, false, true},
    {256, 3072, 768, false, true},
    {256, 768, 3072, false, true},
    {256, 768, 50304, false, false}};

/// Memory on cache lines, in huge pages where the system has them.
struct Memory {
  static constexpr int64_t hugePage = 1 << 21;

  explicit Memory(int64_t bytes)
      : data(static_cast<char *>(std::aligned_alloc(
                 hugePage, static_cast<size_t>(bytes / hugePage + 1) *
                               static_cast<size_t>(hugePage))),
             std::free) {
    madvise(data.get(), static_cast<size_t>(bytes), MADV_HUGEPAGE);
    std::memset(data.get(), 0, static_cast<size_t>(bytes));
  }
  std::unique_ptr<char, void (*)(void *)> data;
};

void fill(Memory &memory, uint8_t type, int64_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> values(-1, 1);
  for (int64_t i = 0; i < count; ++i)
    if (type == MESHC_F32)
      reinterpret_cast<float *>(memory.data.get())[i] = values(random);
    else
      reinterpret_cast<uint16_t *>(memory.data.get())[i] =
          bf16FromFloat(values(random));
}

/// Seconds of each run of each implementation, in rounds.
using Rounds = std::vector<std::vector<double>>;

std::string nameOf(const Shape &shape) {
  std::string name = std::to_string(shape.m) + " x " + std::to_string(shape.n) +
                     " x " + std::to_string(shape.k) + " " +
                     (shape.transA ? 't' : 'n') + (shape.transB ? 't' : 'n');
  return shape.batch > 1 ? name + " * " + std::to_string(shape.batch) : name;
}

bool isThin(const Shape &shape) { return shape.m <= 16; }

void print(const Shape &shape, int64_t bytesOfB, const Rounds &rounds) {
  double flops = 2.0 * static_cast<double>(shape.m * shape.n) *
                 static_cast<double>(shape.k * shape.batch);
  std::printf("| %s", nameOf(shape).c_str());
  for (size_t i = 0; i < rounds[0].size(); ++i) {
    double best = rounds[0][i];
    std::vector<double> ratios;
    for (const std::vector<double> &times : rounds) {
      best = std::min(best, times[i]);
      ratios.push_back(times.back() / times[i]);
    }
    std::sort(ratios.begin(), ratios.end());
    std::printf(" | %.0f (%.2f)", flops / best / 1e9,
                ratios[ratios.size() / 2]);
    if (isThin(shape))
      std::printf(" %.1f GB/s", static_cast<double>(bytesOfB) / best / 1e9);
  }
  std::printf(" |\n");
  std::fflush(stdout);
}

void measure(const Shape &shape, uint8_t type,
             const std::vector<std::string> &names, double seconds) {
  MeshcGemm gemm = {};
  gemm.m = shape.m, gemm.n = shape.n, gemm.k = shape.k;
  gemm.lda = shape.transA ? shape.m : shape.k;
  gemm.ldb = shape.transB ? shape.k : shape.n;
  gemm.ldc = shape.n;
  gemm.batch = shape.batch;
  gemm.strideA = shape.m * shape.k, gemm.strideB = shape.k * shape.n;
  gemm.strideC = shape.m * shape.n;
  gemm.type = type, gemm.typeC = MESHC_F32;
  gemm.transA = shape.transA, gemm.transB = shape.transB;
  // Copies of each matrix that the runs take in turn, so that it comes from
  // memory.
  constexpr int64_t beyondCaches = 1 << 28;
  const char *coldNames = std::getenv("MESHC_BENCH_COLD");
  auto isCold = [&](char matrix) {
    return coldNames && std::strchr(coldNames, matrix);
  };
  auto copiesOf = [&](int64_t bytes, bool isCold) {
    return isCold ? std::max<int64_t>(1, beyondCaches / bytes) : 1;
  };
  const int64_t element = type == MESHC_F32 ? 4 : 2;
  const int64_t countA = gemm.strideA * gemm.batch;
  const int64_t countB = gemm.strideB * gemm.batch;
  const int64_t bytesA = countA * element, bytesB = countB * element;
  const int64_t bytesC = 4 * gemm.strideC * gemm.batch;
  const int64_t copiesA = copiesOf(bytesA, isCold('a'));
  const int64_t copiesB =
      copiesOf(bytesB, isCold('b') || (isThin(shape) && bytesB >= 1 << 20));
  const int64_t copiesC = copiesOf(bytesC, isCold('c'));
  Memory a(bytesA * copiesA), b(bytesB * copiesB), c(bytesC * copiesC);
  fill(a, type, countA * copiesA);
  fill(b, type, countB * copiesB);
  int64_t bytes = meshcGemmScratchBytes(&gemm);
  Memory scratch(bytes);
  Rounds rounds;
  int64_t run = 0;
  auto end = Clock::now() + std::chrono::duration<double>(
                                seconds * static_cast<double>(names.size()));
  do {
    rounds.emplace_back();
    for (const std::string &name : names) {
      const char *copyOfA = a.data.get() + run % copiesA * bytesA;
      const char *copyOfB = b.data.get() + run % copiesB * bytesB;
      char *copyOfC = c.data.get() + run % copiesC * bytesC;
      ++run;
      auto start = Clock::now();
      gemmBy(name == "chosen" ? "" : name, gemm, copyOfA, copyOfB, copyOfC,
             {scratch.data.get(), bytes});
      rounds.back().push_back(
          std::chrono::duration<double>(Clock::now() - start).count());
    }
  } while (Clock::now() < end);
  print(shape, bytesB, rounds);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: product_bench f32|bf16 THREADS SECONDS "
                         "IMPLEMENTATION... ('chosen': as a program does)\n"
                         "MESHC_BENCH_SHAPES=TEXT: only shapes with that "
                         "text, for example '512 x 10 '\n"
                         "MESHC_BENCH_COLD=abc: these matrices come from "
                         "memory\n");
    return 2;
  }
  uint8_t type = std::string(argv[1]) == "bf16" ? MESHC_BF16 : MESHC_F32;
  setThreads(std::atoi(argv[2]));
  double seconds = std::atof(argv[3]);
  std::vector<std::string> names(argv + 4, argv + argc);
  std::printf("| m x n x k, A B");
  for (const std::string &name : names)
    std::printf(" | %s", name.c_str());
  std::printf(" |\n");
  const char *only = std::getenv("MESHC_BENCH_SHAPES");
  for (const Shape &shape : shapes)
    if (!only || nameOf(shape).find(only) != std::string::npos)
      measure(shape, type, names, seconds);
  return 0;
}
