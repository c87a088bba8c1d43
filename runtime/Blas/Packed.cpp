//===- Packed.cpp - f32 matrix products by packed AVX2 blocks -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products on CPUs with AVX2 and without AVX-512, where oneDNN's choice of
/// kernel leaves up to a third of the peak on some shapes. The loops are those
/// of Goto and van de Geijn ("Anatomy of high-performance matrix
/// multiplication", 2008): a panel of B, packed for the L3 cache, is shared by
/// all threads; each packs its own blocks of A for the L2 cache, and a kernel
/// keeps 6 × 16 sums in registers.
///
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Gemm.h"
#include "runtime/Device/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <immintrin.h>
#include <memory>

using namespace meshc::runtime;

#define MESHC_AVX2 __attribute__((target("avx2,fma")))

namespace {

constexpr int64_t tileM = 6, tileN = 16; ///< sums in registers
constexpr int64_t blockM = 24 * tileM, blockK = 272, panelN = 1024;
/// Floats from one packed sliver to the next: one cache line more than its
/// content, so that slivers do not compete for the same cache sets and the last
/// vector of one may extend past its end.
constexpr int64_t sliverA = tileM * blockK + 16, sliverB = tileN * blockK + 16;

/// Memory of one thread, kept from product to product.
struct Buffer {
  float *get(int64_t floats) {
    if (!memory)
      memory.reset(static_cast<float *>(
          std::aligned_alloc(64, static_cast<size_t>(floats) * 4)));
    return memory.get();
  }
  struct Free {
    void operator()(float *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<float, Free> memory;
};

/// A matrix operand: element (i, p) of its sliver's width and of k is at
/// data[i * across + p * along]; one of the strides is 1.
struct Operand {
  const float *data;
  int64_t across, along;

  Operand from(int64_t i, int64_t p) const {
    return {data + i * across + p * along, across, along};
  }
};

/// Transposes an 8 × 8 block: out[p] has element p of each of the rows.
MESHC_AVX2 inline void transpose(const float *const rows[8], int64_t at,
                                 __m256 out[8]) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(rows[i] + at);
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
    out[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
  }
}

/// Packs one sliver of `width` ≤ tile rows that are contiguous along k, the
/// missing ones as zeros: target[p * tile + i].
template <int64_t tile>
MESHC_AVX2 void packAlong(const Operand &from, int64_t width, int64_t count,
                          float *target) {
  alignas(32) static const float zeros[blockK + 8] = {};
  for (int64_t group = 0; group < tile; group += 8) {
    const float *rows[8];
    for (int64_t i = 0; i < 8; ++i)
      rows[i] =
          group + i < width ? from.data + (group + i) * from.across : zeros;
    int64_t p = 0;
    for (; p + 8 <= count; p += 8) {
      __m256 columns[8];
      transpose(rows, p, columns);
      for (int64_t i = 0; i < 8; ++i)
        _mm256_storeu_ps(target + (p + i) * tile + group, columns[i]);
    }
    for (; p < count; ++p)
      for (int64_t i = 0; i < 8 && group + i < tile; ++i)
        target[p * tile + group + i] = rows[i][p];
  }
}

/// Packs `width` elements that are contiguous across, into slivers `stride`
/// apart, a row of k after the other.
template <int64_t tile>
MESHC_AVX2 void packAcross(const Operand &from, int64_t width, int64_t count,
                           float *target, int64_t stride) {
  int64_t whole = width / tile, rest = width % tile;
  for (int64_t p = 0; p < count; ++p) {
    const float *row = from.data + p * from.along;
    float *to = target + p * tile;
    for (int64_t j = 0; j < whole; ++j, to += stride, row += tile)
      std::memcpy(to, row, tile * sizeof(float));
    if (rest) {
      float last[tile] = {};
      std::memcpy(last, row, static_cast<size_t>(rest) * sizeof(float));
      std::memcpy(to, last, tile * sizeof(float));
    }
  }
}

template <int64_t tile>
MESHC_AVX2 void pack(const Operand &from, int64_t width, int64_t count,
                     float *target, int64_t stride) {
  if (from.across == 1)
    return packAcross<tile>(from, width, count, target, stride);
  for (int64_t i = 0; i < width; i += tile, target += stride)
    packAlong<tile>(from.from(i, 0), std::min(tile, width - i), count, target);
}

/// A tile of C: its address, its valid extent, and whether the sums are added
/// to its contents.
struct Tile {
  float *c;
  int64_t leading, rows, columns;
  bool adds;
};

MESHC_AVX2 inline void storeRow(float *c, __m256 low, __m256 high, bool adds) {
  if (adds) {
    low = _mm256_add_ps(low, _mm256_loadu_ps(c));
    high = _mm256_add_ps(high, _mm256_loadu_ps(c + 8));
  }
  _mm256_storeu_ps(c, low);
  _mm256_storeu_ps(c + 8, high);
}

/// Computes the sums of one tile over `count` of k, from packed slivers.
MESHC_AVX2 void multiply(const float *a, const float *b, int64_t count,
                         const Tile &tile) {
  __m256 sums[tileM][2];
  for (auto &row : sums)
    row[0] = row[1] = _mm256_setzero_ps();
  for (int64_t i = 0; i < tile.rows; ++i) // the kernel ends with these lines
    _mm_prefetch(reinterpret_cast<const char *>(tile.c + i * tile.leading),
                 _MM_HINT_T0);
#pragma clang loop unroll_count(4)
  for (int64_t p = 0; p < count; ++p, a += tileM, b += tileN) {
    __m256 low = _mm256_load_ps(b), high = _mm256_load_ps(b + 8);
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < tileM; ++i) {
      __m256 value = _mm256_broadcast_ss(a + i);
      sums[i][0] = _mm256_fmadd_ps(value, low, sums[i][0]);
      sums[i][1] = _mm256_fmadd_ps(value, high, sums[i][1]);
    }
  }
  if (tile.rows == tileM && tile.columns == tileN) {
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < tileM; ++i)
      storeRow(tile.c + i * tile.leading, sums[i][0], sums[i][1], tile.adds);
    return;
  }
  alignas(32) float rest[tileM * tileN];
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < tileM; ++i)
    storeRow(rest + i * tileN, sums[i][0], sums[i][1], false);
  for (int64_t i = 0; i < tile.rows; ++i)
    for (int64_t j = 0; j < tile.columns; ++j) {
      float &c = tile.c[i * tile.leading + j];
      c = rest[i * tileN + j] + (tile.adds ? c : 0.0f);
    }
}

/// One product in progress, shared by the threads of a rank. The panels of B
/// are cut along k into blocks; all threads pack a block, wait for each other,
/// and take its tasks. Packed blocks alternate between two buffers, so that one
/// wait per block is enough. A single thread computes each sum in a fixed
/// order, whichever thread it is: results do not depend on scheduling.
class Product {
public:
  Product(const MeshcGemm &gemm, const float *a, const float *b, float *c,
          float *packedB);

  /// The work of thread `thread` of `count`; all threads call it.
  void run(int64_t thread, int64_t count);

private:
  /// A block of B: its columns and its part of k.
  struct Block {
    int64_t firstN, slivers, firstK, countK;
    float *packed;
  };
  Block block(int64_t number) const;
  void packB(const Block &block, int64_t begin, int64_t end) const;
  void runTask(const Block &block, int64_t task) const;
  void planTasks(int64_t threadCount);

  Operand a, b;
  float *c, *packedB;
  int64_t ldc, m, n, k;
  bool accumulate;
  int64_t blocksN, blocksK, stepK; ///< of B
  int64_t rowTasks, columnTasks;   ///< of a block
  std::atomic<int64_t> nextTask{0};
  TeamBarrier barrier;
};

int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

} // namespace

Product::Product(const MeshcGemm &gemm, const float *a, const float *b,
                 float *c, float *packedB)
    : a{a, gemm.transA ? 1 : gemm.lda, gemm.transA ? gemm.lda : 1},
      b{b, gemm.transB ? gemm.ldb : 1, gemm.transB ? 1 : gemm.ldb}, c(c),
      packedB(packedB), ldc(gemm.ldc), m(gemm.m), n(gemm.n), k(gemm.k),
      accumulate(gemm.accumulate), blocksN(divideUp(n, panelN)),
      blocksK(divideUp(k, blockK)),
      stepK(std::min(blockK, divideUp(divideUp(k, blocksK), 8) * 8)) {
  planTasks(threads());
}

/// Tasks are rows of C, about as many as a thread packs at once. Their number
/// is a multiple of the threads if there are enough rows; otherwise columns are
/// split too.
void Product::planTasks(int64_t threadCount) {
  int64_t tiles = divideUp(m, tileM);
  rowTasks = divideUp(tiles, blockM / tileM);
  columnTasks = 1;
  if (tiles >= 4 * threadCount)
    rowTasks = divideUp(rowTasks, threadCount) * threadCount;
  else
    columnTasks = divideUp(2 * threadCount, rowTasks);
}

Product::Block Product::block(int64_t number) const {
  Block block;
  block.firstN = number / blocksK * panelN;
  block.slivers = divideUp(std::min(panelN, n - block.firstN), tileN);
  block.firstK = number % blocksK * stepK;
  block.countK = std::min(stepK, k - block.firstK);
  block.packed = packedB + number % 2 * (panelN / tileN * sliverB);
  return block;
}

void Product::packB(const Block &block, int64_t begin, int64_t end) const {
  if (begin < end)
    pack<tileN>(b.from(block.firstN + begin * tileN, block.firstK),
                std::min(end * tileN, n - block.firstN) - begin * tileN,
                block.countK, block.packed + begin * sliverB, sliverB);
}

void Product::runTask(const Block &block, int64_t task) const {
  thread_local Buffer buffer;
  float *packedA = buffer.get(blockM / tileM * sliverA);
  int64_t tiles = divideUp(m, tileM), row = task % rowTasks;
  int64_t firstM = tiles * row / rowTasks * tileM;
  int64_t rows = std::min(tiles * (row + 1) / rowTasks * tileM, m) - firstM;
  if (rows <= 0)
    return;
  pack<tileM>(a.from(firstM, block.firstK), rows, block.countK, packedA,
              sliverA);
  int64_t part = task / rowTasks;
  int64_t begin = block.slivers * part / columnTasks;
  int64_t end = block.slivers * (part + 1) / columnTasks;
  for (int64_t sliver = begin; sliver < end; ++sliver) {
    int64_t j = block.firstN + sliver * tileN;
    for (int64_t i = 0; i < rows; i += tileM)
      multiply(packedA + i / tileM * sliverA, block.packed + sliver * sliverB,
               block.countK,
               {c + (firstM + i) * ldc + j, ldc, std::min(tileM, rows - i),
                std::min(tileN, n - j), accumulate || block.firstK > 0});
  }
}

void Product::run(int64_t thread, int64_t count) {
  const int64_t tasks = rowTasks * columnTasks;
  int64_t task = nextTask++; // numbered across all blocks
  for (int64_t number = 0; number < blocksN * blocksK; ++number) {
    Block current = block(number);
    packB(current, current.slivers * thread / count,
          current.slivers * (thread + 1) / count);
    barrier.wait(count);
    for (; task < (number + 1) * tasks; task = nextTask++)
      runTask(current, task - number * tasks);
  }
}

static void runEntry(const MeshcGemm &gemm, const float *a, const float *b,
                     float *c) {
  thread_local Buffer buffer;
  Product product(gemm, a, b, c, buffer.get(2 * (panelN / tileN) * sliverB));
  parallelTeam(
      [&](int64_t thread, int64_t count) { product.run(thread, count); });
}

static bool canRun(const MeshcGemm &gemm) {
  return gemm.type == MESHC_F32 && gemm.typeC == MESHC_F32 &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool runPacked(const MeshcGemm &gemm, const void *a, const void *b,
                      void *c) {
  if (!canRun(gemm))
    return false;
  for (int64_t entry = 0; entry < gemm.batch; ++entry)
    runEntry(gemm, static_cast<const float *>(a) + entry * gemm.strideA,
             static_cast<const float *>(b) + entry * gemm.strideB,
             static_cast<float *>(c) + entry * gemm.strideC);
  return true;
}

/// Excludes thin products, for which packing takes too large a share.
static bool suitsPacked(const MeshcGemm &gemm) {
  return canRun(gemm) && !__builtin_cpu_supports("avx512f") &&
         std::min(gemm.m, gemm.n) >= 128 && std::max(gemm.m, gemm.n) >= 256;
}

const GemmImplementation meshc::runtime::packedImplementation = {
    "packed", suitsPacked, runPacked};
