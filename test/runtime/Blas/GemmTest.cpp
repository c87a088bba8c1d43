//===- GemmTest.cpp - every implementation against the reference loop -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Gemm.h"

#include "meshc/GemmScratch.h"
#include "runtime/Base/Parallel.h"
#include "runtime/Base/ProcessorFeatures.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Blas/PackedProduct.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace meshc::runtime;

namespace {

/// Scratch memory as the compiler plans it, full of NaN, with bytes behind it
/// that nobody may touch.
struct ScratchMemory {
  static constexpr int64_t guard = 4096;
  std::vector<char> bytes;
  GemmScratch scratch;

  explicit ScratchMemory(int64_t size)
      : bytes(static_cast<size_t>(size + guard + 64), char(0xff)) {
    auto address = reinterpret_cast<uintptr_t>(bytes.data());
    scratch = {bytes.data() + (64 - address % 64) % 64, size};
  }
  bool isIntact() const {
    for (int64_t i = 0; i < guard; ++i)
      if (scratch.data[scratch.bytes + i] != char(0xff))
        return false;
    return true;
  }
};

/// A product on random matrices, with room between rows and batch entries that
/// nobody may touch.
struct Case {
  MeshcGemm gemm;
  std::vector<char> a, b, c;

  static size_t bytes(uint8_t type, int64_t count) {
    return static_cast<size_t>(count * (type == MESHC_F32 ? 4 : 2));
  }

  Case(const MeshcGemm &shape, std::mt19937 &random) : gemm(shape) {
    auto fill = [&](uint8_t type, int64_t count) {
      std::vector<char> array(bytes(type, count));
      std::uniform_real_distribution<float> values(-1, 1);
      for (int64_t i = 0; i < count; ++i)
        storeElement(type, array.data(), i, values(random));
      return array;
    };
    auto last = [&](int64_t stride) { return (gemm.batch - 1) * stride; };
    int64_t rowsA = gemm.transA ? gemm.k : gemm.m;
    int64_t rowsB = gemm.transB ? gemm.n : gemm.k;
    a = fill(gemm.type,
             last(gemm.strideA) + std::max(gemm.strideA, rowsA * gemm.lda));
    b = fill(gemm.type,
             last(gemm.strideB) + std::max(gemm.strideB, rowsB * gemm.ldb));
    c = fill(gemm.typeC,
             last(gemm.strideC) + std::max(gemm.strideC, gemm.m * gemm.ldc));
  }

  std::vector<char> run(const std::string &name) const {
    return run(name, meshcGemmScratchBytes(&gemm));
  }
  std::vector<char> run(const std::string &name, int64_t scratchBytes) const {
    std::vector<char> result = c;
    ScratchMemory memory(scratchBytes);
    gemmBy(name, gemm, a.data(), b.data(), result.data(), memory.scratch);
    EXPECT_TRUE(memory.isIntact())
        << name << " wrote behind its scratch memory";
    return result;
  }
};

MeshcGemm shape(int64_t m, int64_t n, int64_t k, bool transA, bool transB,
                int64_t batch, int64_t padding) {
  MeshcGemm gemm = {};
  gemm.m = m, gemm.n = n, gemm.k = k, gemm.batch = batch;
  gemm.transA = transA, gemm.transB = transB;
  gemm.lda = (transA ? m : k) + padding;
  gemm.ldb = (transB ? k : n) + padding;
  gemm.ldc = n + padding;
  gemm.strideA = (transA ? k : m) * gemm.lda + padding;
  gemm.strideB = (transB ? n : k) * gemm.ldb + padding;
  gemm.strideC = m * gemm.ldc + padding;
  return gemm;
}

/// Differences beyond the rounding of k products in f32, and of C's type.
void expectClose(const Case &test, const std::vector<char> &got,
                 const std::vector<char> &wanted, const std::string &name) {
  const MeshcGemm &gemm = test.gemm;
  double tolerance = 1e-6 * std::sqrt(double(gemm.k)) * 4 + 1e-6;
  double relative = gemm.typeC == MESHC_F32    ? 1e-6
                    : gemm.typeC == MESHC_BF16 ? 1.0 / 128
                                               : 1.0 / 1024;
  auto count = static_cast<int64_t>(wanted.size() / Case::bytes(gemm.typeC, 1));
  for (int64_t i = 0; i < count; ++i) {
    double x = loadElement(gemm.typeC, got.data(), i);
    double y = loadElement(gemm.typeC, wanted.data(), i);
    ASSERT_NEAR(x, y, tolerance + relative * std::abs(y))
        << name << " m " << gemm.m << " n " << gemm.n << " k " << gemm.k
        << " transA " << int(gemm.transA) << " transB " << int(gemm.transB)
        << " element " << i;
  }
}

/// Kernels for f32 that this machine can run.
std::vector<const PackedKernel *> packedKernels() {
  std::vector<const PackedKernel *> kernels = {&plainKernel()};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    kernels.push_back(&avx2Kernel());
  if (usesAvx512())
    kernels.push_back(&avx512Kernel());
  return kernels;
}

const char *const names[] = {"",       "packed", "packed512", "packedbf16",
                             "matmul", "sgemm",  "widened"};

void checkAll(const MeshcGemm &base, std::mt19937 &random) {
  for (bool accumulate : {false, true}) {
    MeshcGemm gemm = base;
    gemm.accumulate = accumulate;
    Case test(gemm, random);
    std::vector<char> wanted = test.run("reference");
    for (const char *name : names)
      expectClose(test, test.run(name), wanted, name);
  }
}

} // namespace

TEST(Gemm, allImplementationsAgreeInF32) {
  std::mt19937 random(1);
  const int64_t shapes[][3] = {
      {1, 1, 1},    {5, 3, 7},    {16, 10, 33}, {64, 64, 64},  {33, 65, 130},
      {130, 1, 40}, {1, 130, 40}, {7, 200, 1},  {96, 48, 300}, {150, 160, 10},
      {14, 33, 17}, {29, 16, 31}, {200, 9, 65}, {13, 250, 47}, {1, 1, 300},
      {40, 17, 1},  {2, 2, 1000}};
  for (const auto &size : shapes)
    for (bool transA : {false, true})
      for (bool transB : {false, true})
        checkAll(shape(size[0], size[1], size[2], transA, transB, 1,
                       transA == transB ? 0 : 3),
                 random);
}

TEST(Gemm, allImplementationsAgreeOnBlockEdges) {
  std::mt19937 random(2);
  checkAll(shape(149, 259, 600, false, false, 1, 0), random);
  checkAll(shape(259, 133, 513, true, true, 1, 0), random);
  checkAll(shape(170, 1090, 260, false, true, 1, 1), random);
}

/// Thin products read the other matrix as it lies: along k or across.
TEST(Gemm, thinProducts) {
  std::mt19937 random(8);
  for (const char *name : {"packed", "packed512", "packedbf16"})
    for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 14})
      for (bool isWide : {false, true})
        for (bool trans : {false, true})
          for (bool along : {false, true}) {
            // With k = 1100, sums are added to C in two parts.
            int64_t k = rows == 14 || rows == 3 ? 1100 : 61 * rows;
            MeshcGemm gemm =
                isWide ? shape(rows, rows % 2 ? 35 : 77, k, trans, along, 1, 1)
                       : shape(35, rows, k, !along, trans, 1, 1);
            gemm.type =
                name == std::string("packedbf16") ? MESHC_BF16 : MESHC_F32;
            gemm.accumulate = trans != isWide;
            Case test(gemm, random);
            std::vector<char> got = test.run(name);
            expectClose(test, got, test.run("reference"), name);
            setThreads(3);
            EXPECT_EQ(test.run(name), got) << name << ", 3 threads";
            setThreads(1);
          }
}

/// Matrices that exceed the caches are read as one stream if they have no gaps.
/// Threads share k then, always in the same number of parts.
TEST(Gemm, thinProductsFromMemory) {
  std::mt19937 random(9);
  const int64_t sizes[][2] = {{1100, 500}, {4500, 150}, {301, 2300},
                              {260, 4200}, {9000, 70},  {5300, 60}};
  for (auto [wide, k] : sizes)
    for (int64_t rows : {1, 2, 4})
      for (int64_t padding : {0, 1})
        for (bool along : {false, true})
          for (bool isWide : {false, true}) {
            MeshcGemm gemm =
                isWide ? shape(rows, wide, k, rows == 2, along, 1, padding)
                       : shape(wide, rows, k, !along, padding == 0, 1, padding);
            gemm.accumulate = (isWide == along) != (rows == 2);
            for (const char *name : {"packed", "packed512", "packedbf16"}) {
              gemm.type =
                  name == std::string("packedbf16") ? MESHC_BF16 : MESHC_F32;
              Case test(gemm, random);
              std::vector<char> wanted = test.run("reference");
              std::vector<char> got = test.run(name);
              expectClose(test, got, wanted, name);
              expectClose(test, test.run(name, 4096), wanted, name);
              for (int count : {2, 3, 9}) {
                setThreads(count);
                EXPECT_EQ(test.run(name), got) << name << ", " << count;
              }
              setThreads(1);
            }
          }
}

/// With less scratch memory, products use smaller blocks or another
/// implementation; the values are the same.
TEST(Gemm, anySizeOfScratchMemory) {
  std::mt19937 random(6);
  for (int count : {1, 3}) {
    setThreads(count);
    for (const auto &size : {shape(100, 300, 280, false, true, 1, 0),
                             shape(30, 40, 20, true, false, 7, 0)}) {
      Case test(size, random);
      std::vector<char> wanted = test.run("reference");
      for (int64_t bytes : {int64_t(0), int64_t(64), int64_t(20000),
                            int64_t(60000), int64_t(300000)})
        for (const char *name : names)
          expectClose(test, test.run(name, bytes), wanted, name);
    }
  }
  setThreads(1);
}

/// The bound that the compiler plans is enough for any number of threads: no
/// packed kernel refuses.
TEST(Gemm, plannedScratchSuffices) {
  std::mt19937 random(7);
  for (int count : {1, 2, 5, 40}) {
    setThreads(count);
    for (const auto &size : {shape(1, 1, 1, false, false, 1, 0),
                             shape(13, 1000, 7, true, true, 1, 0),
                             shape(169, 33, 513, false, false, 1, 0),
                             shape(15, 17, 400, false, true, 90, 0)}) {
      Case test(size, random);
      ScratchMemory memory(meshcGemmScratchBytes(&test.gemm));
      for (const PackedKernel *kernel : packedKernels()) {
        std::vector<char> c = test.c;
        EXPECT_TRUE(runPackedProduct(
            *kernel, test.gemm, test.a.data(), test.b.data(),
            reinterpret_cast<float *>(c.data()), memory.scratch))
            << count << " threads, m " << test.gemm.m;
      }
    }
  }
  setThreads(1);
}

/// Attention gives kernels a left factor that is not packed, along its rows or
/// its columns, and tiles of any size.
TEST(Gemm, tilesOfAnUnpackedFactor) {
  std::mt19937 random(10);
  std::normal_distribution<float> normal;
  constexpr int64_t step = 50; // between rows or columns of A, and rows of C
  std::vector<float> a(step * step), b(step * step), c(step * step);
  for (std::vector<float> *values : {&a, &b, &c})
    for (float &value : *values)
      value = normal(random);
  for (const PackedKernel *kernel : packedKernels())
    for (int64_t rows = 1; rows <= kernel->maxRows; ++rows)
      for (int64_t columns : {int64_t(1), int64_t(7), kernel->columns})
        for (int64_t depth : {0, 1, 5, 37})
          for (bool along : {false, true}) {
            alignas(64) float packed[64 * 64];
            kernel->packB(
                {reinterpret_cast<const char *>(b.data()), 1, step, 4}, columns,
                depth, packed, kernel->columns * depth + 16);
            TileProduct tile{};
            tile.a = a.data();
            tile.acrossA = along ? step : 1, tile.alongA = along ? 1 : step;
            tile.b = reinterpret_cast<const char *>(packed);
            tile.alongB = 4 * kernel->columns;
            tile.packedB = true;
            tile.depth = depth;
            std::vector<float> got = c;
            tile.c = got.data();
            tile.rowStride = step, tile.columnStride = 1;
            tile.rows = rows, tile.columns = columns;
            tile.adds = depth != 5;
            kernel->multiply(tile);
            for (int64_t i = 0; i < step * step; ++i) {
              int64_t row = i / step, column = i % step;
              double wanted = c[i];
              if (row < rows && column < columns) {
                wanted = tile.adds ? c[i] : 0;
                for (int64_t p = 0; p < depth; ++p)
                  wanted += double(a[row * tile.acrossA + p * tile.alongA]) *
                            b[p * step + column];
              }
              ASSERT_NEAR(got[i], wanted, 1e-5)
                  << rows << " rows, " << columns << " columns, depth " << depth
                  << ", row " << row << ", column " << column;
            }
          }
}

TEST(Gemm, batchesAndThreads) {
  std::mt19937 random(3);
  for (int count : {1, 2, 3}) {
    setThreads(count);
    for (int64_t batch : {2, 5}) {
      checkAll(shape(20, 30, 40, false, true, batch, 0), random);
      checkAll(shape(21, 17, 9, true, false, batch, 2), random);
    }
    checkAll(shape(200, 100, 300, false, false, 1, 0), random);
    checkAll(shape(10, 700, 50, true, false, 1, 0), random);
  }
  setThreads(1);
}

/// One factor for all entries of the batch, whose results lie side by side in
/// the rows of C: some tokens times the weights of each expert. The larger ones
/// have enough elements for threads to share an entry as a thin product
/// (MESHC_PACKED_FEW_SUMS).
TEST(Gemm, repeatedFactors) {
  std::mt19937 random(5);
  setThreads(2);
  for (uint8_t type : {MESHC_F32, MESHC_BF16})
    for (bool transB : {false, true})
      for (int64_t m : {1, 3, 40})
        for (auto [n, k] :
             {std::pair<int64_t, int64_t>(33, 20), {2048, 70}, {90, 1500}}) {
          MeshcGemm gemm = shape(m, n, k, false, transB, 3, 0);
          gemm.type = gemm.typeC = type;
          gemm.strideA = 0;
          gemm.strideC = n;
          gemm.ldc = 3 * n;
          checkAll(gemm, random);
          // The same with the factors in each other's place.
          MeshcGemm swapped = shape(n, m, k, !transB, true, 3, 0);
          swapped.type = swapped.typeC = type;
          swapped.strideB = 0;
          checkAll(swapped, random);
        }
  setThreads(1);
}

/// A large B whose rows are pages apart: few rows of A take it in short walks
/// along k, more of them pack it.
TEST(Gemm, rowsPagesApart) {
  std::mt19937 random(6);
  for (int threads : {1, 2}) {
    setThreads(threads);
    for (int64_t m : {15, 29, 32, 56, 57, 70})
      checkAll(shape(m, 1024, 300, false, false, 1, 0), random);
  }
  setThreads(1);
}

TEST(Gemm, sixteenBits) {
  std::mt19937 random(4);
  for (uint8_t type : {MESHC_BF16, MESHC_F16})
    for (uint8_t typeC : {uint8_t(MESHC_F32), type})
      for (bool transA : {false, true})
        for (bool transB : {false, true}) {
          MeshcGemm gemm = shape(37, 29, 600, transA, transB, 2, 1);
          gemm.type = type;
          gemm.typeC = typeC;
          checkAll(gemm, random);
        }
}

/// Whichever of them this CPU prefers for bf16.
TEST(Gemm, kernelsForBf16) {
  if (!usesAvx512())
    GTEST_SKIP() << "needs AVX-512";
  std::vector<const PackedKernel *> kernels{&avx512WidenedKernel()};
  if (hasProcessorFeature("avx512bf16"))
    kernels.push_back(&avx512Bf16Kernel());
  std::mt19937 random(9);
  const int64_t sizes[][3] = {
      {50, 70, 401}, {10, 200, 33}, {200, 10, 33}, {3, 40, 300}, {30, 48, 1}};
  for (const auto &size : sizes)
    for (int trans : {0, 1, 2, 3}) {
      MeshcGemm gemm =
          shape(size[0], size[1], size[2], trans & 1, trans & 2, 1, 1);
      gemm.type = MESHC_BF16;
      Case test(gemm, random);
      std::vector<char> wanted = test.run("reference");
      ScratchMemory memory(meshcGemmScratchBytes(&gemm));
      for (const PackedKernel *kernel : kernels) {
        std::vector<char> c = test.c;
        ASSERT_TRUE(runPackedProduct(
            *kernel, gemm, test.a.data(), test.b.data(),
            reinterpret_cast<float *>(c.data()), memory.scratch));
        expectClose(test, c, wanted, "kernel for bf16");
      }
    }
}

/// The order of a sum does not depend on the number of threads.
TEST(Gemm, bitsDoNotDependOnThreads) {
  std::mt19937 random(10);
  for (uint8_t type : {MESHC_F32, MESHC_BF16})
    for (const char *name : {"packed", "packed512", "packedbf16"})
      for (MeshcGemm gemm : {shape(300, 200, 700, true, false, 1, 0),
                             shape(150, 270, 280, false, false, 1, 1),
                             shape(8, 190, 1100, false, true, 1, 0),
                             // Few rows times a matrix from memory.
                             shape(9, 1100, 300, false, false, 1, 0),
                             shape(400, 10, 900, true, true, 1, 3),
                             shape(15, 40, 9000, false, false, 1, 1),
                             shape(190, 10, 300, false, false, 1, 0),
                             shape(100, 120, 10, false, true, 1, 0),
                             shape(60, 50, 70, false, true, 9, 0)}) {
        gemm.type = type;
        Case test(gemm, random);
        std::vector<char> first = test.run(name);
        for (int count : {2, 3, 5, 9}) {
          setThreads(count);
          EXPECT_EQ(test.run(name), first) << name << ", " << count;
        }
        setThreads(1);
      }
}

TEST(Gemm, emptySumsAreZero) {
  MeshcGemm gemm = shape(2, 2, 0, false, false, 1, 0);
  gemm.lda = 1;
  float c[] = {1, 2, 3, 4};
  gemmBy("", gemm, c, c, c);
  for (float value : c)
    EXPECT_EQ(value, 0);
}

/// One product, twice on the same data, gives the same bits: a run resumes to
/// the bit.
TEST(Gemm, isDeterministic) {
  std::mt19937 random(5);
  setThreads(2);
  for (const auto &size : {shape(300, 200, 700, true, false, 1, 0),
                           shape(512, 10, 512, false, false, 1, 0)}) {
    Case test(size, random);
    std::vector<char> first = test.run("");
    for (int i = 0; i < 5; ++i)
      EXPECT_EQ(test.run(""), first);
  }
  setThreads(1);
}
