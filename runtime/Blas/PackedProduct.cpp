//===- PackedProduct.cpp - matrix products by packed blocks ---------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/PackedProduct.h"

#include "meshc/GemmScratch.h"
#include "runtime/Base/Parallel.h"

#include <algorithm>
#include <atomic>

using namespace meshc::runtime;

namespace {

constexpr int64_t pageBytes = 4096;

int64_t divideUp(int64_t x, int64_t y) { return (x + y - 1) / y; }

/// One matrix product, as the loops below see it.
struct Matrices {
  PackedOperand a, b;
  float *c;
  int64_t rowStride, columnStride; ///< of C
  int64_t m, n, k;
  bool accumulate;
  bool readsA = false, readsB = false; ///< as they lie, unpacked
  /// B comes from memory, and C has too few rows to hide that.
  bool waitsForB = false;

  /// The transposed product: C' = B' A'.
  void swap() {
    std::swap(a, b);
    std::swap(rowStride, columnStride);
    std::swap(m, n);
  }
  /// Keeps part `part` of `parts` of C's columns, or of its rows if it has more
  /// of them. A part consists of whole tiles and may be empty.
  void cut(const PackedKernel &kernel, int64_t part, int64_t parts);
  /// Chooses which matrices are read as they lie. For thin products this is the
  /// larger one, as packing it would take as long as the product.
  /// isOne: no other products are computed beside this one.
  void chooseForms(const PackedKernel &kernel, bool isOne);
};

/// How a product is cut into blocks that fit the scratch memory.
struct Blocks {
  int64_t rows;         ///< of a sliver of A
  int64_t stepK;        ///< elements of k in a block
  int64_t tilesA;       ///< slivers of A for one thread
  int64_t sliversB;     ///< of a panel of B
  int64_t buffers;      ///< panels of B
  int64_t sizeA, sizeB; ///< units from one sliver to the next
  int64_t workers;      ///< threads that take tasks

  int64_t unitsA() const { return tilesA * sizeA; }
  int64_t unitsB() const { return buffers * sliversB * sizeB; }
  bool fit(int64_t bytes) const {
    return 4 * (workers * unitsA() + unitsB()) <= bytes;
  }
  static Blocks choose(const PackedKernel &kernel, const Matrices &matrices,
                       int64_t team, int64_t bytes);
};

/// One product in the making, shared by the threads of a team. The panels of B
/// are cut along k into blocks; all threads pack a block, wait for each other,
/// and take tasks of it. A block's packed memory is that of the one before the
/// last, so that one wait per block is enough. One thread computes each sum, in
/// one order: results do not depend on which thread it is.
class Product {
public:
  Product(const PackedKernel &kernel, const Matrices &matrices, int64_t team,
          const GemmScratch &scratch);

  /// Whether the scratch memory suffices.
  bool fits() const { return blocks.workers > 0; }
  /// What thread `thread` of `count` does; all do it.
  void run(int64_t thread, int64_t count);

private:
  /// A block of B: which columns and which part of k.
  struct Block {
    int64_t firstN, slivers, firstK, countK;
    float *packed;
  };
  Block block(int64_t number) const;
  void packB(const Block &block, int64_t begin, int64_t end) const;
  void planTasks();
  void runTask(const Block &block, int64_t task, float *packedA) const;
  void multiply(const Block &block, const PackedOperand &rows,
                const float *packedA, int64_t firstM, int64_t row,
                int64_t sliver, int64_t slivers) const;

  const PackedKernel &kernel;
  Matrices matrices;
  Blocks blocks;
  float *packedB, *packedA;
  int64_t blocksN, blocksK;      ///< of B
  int64_t rowTasks, columnTasks; ///< of a block
  std::atomic<int64_t> nextTask{0};
  TeamBarrier barrier;
};

} // namespace

void Matrices::cut(const PackedKernel &kernel, int64_t part, int64_t parts) {
  bool cutsColumns = n >= m;
  int64_t &size = cutsColumns ? n : m;
  PackedOperand &operand = cutsColumns ? b : a;
  int64_t tile = cutsColumns ? kernel.columns : kernel.maxRows;
  int64_t tiles = divideUp(size, tile);
  int64_t begin = std::min(tiles * part / parts * tile, size);
  int64_t end = std::min(tiles * (part + 1) / parts * tile, size);
  operand = operand.from(begin, 0);
  c += begin * (cutsColumns ? columnStride : rowStride);
  size = end - begin;
}

/// A walk along k whose steps are pages meets the same few places of the first
/// cache.
static bool meets(int64_t stride, const PackedKernel &kernel) {
  return stride * kernel.elementBytes % pageBytes == 0;
}

void Matrices::chooseForms(const PackedKernel &kernel, bool isOne) {
  const int64_t maxRows = kernel.maxRows, bytes = kernel.elementBytes;
  bool fewColumns = n <= 16 && m > n, fewRows = m <= maxRows && n > m;
  if ((fewColumns && a.along != 1) || (fewRows && b.across != 1)) {
    swap();
    std::swap(fewColumns, fewRows);
  }
  // Steps beyond two pages meet a new page each time.
  auto isDense = [&](int64_t stride) {
    return !meets(stride, kernel) && stride * bytes <= 2 * pageBytes;
  };
  // The kernel fetches ahead what it reads as it lies, so packing pays only
  // for other walks, although each tile of columns reads all of A again.
  readsA =
      kernel.readsA && (a.along == 1 ? fewColumns || !meets(a.across, kernel)
                                     : n <= 32 || isDense(a.along));
  // A kernel that converts B would do so again for each tile of rows.
  int64_t rowsPerB = kernel.readsA ? 10 * maxRows : 2 * maxRows;
  waitsForB = false;
  if (n * k * bytes > cachesOfCore) {
    // Short walks along k hide that B comes from memory.
    const bool isFar = meets(b.along, kernel);
    waitsForB = isOne && kernel.readsA && b.across == 1 &&
                m <= (isFar ? 4 : 2) * maxRows;
    if (isFar)
      rowsPerB = 2 * maxRows;
  }
  readsB = b.across == 1 && (waitsForB || m <= rowsPerB ||
                             (kernel.readsA && m <= 1024 && isDense(b.along)));
}

Blocks Blocks::choose(const PackedKernel &kernel, const Matrices &matrices,
                      int64_t team, int64_t bytes) {
  Blocks blocks;
  // Tiles of equal height.
  int64_t tiles = divideUp(matrices.m, kernel.maxRows);
  blocks.rows = kernel.anyRows ? divideUp(matrices.m, tiles) : kernel.maxRows;
  tiles = divideUp(matrices.m, blocks.rows);
  int64_t units = divideUp(matrices.k, kernel.unitElements);
  // The processor fetches short walks along k better, and C stays in the caches
  // between them.
  int64_t depth = matrices.waitsForB ? 16 : kernel.depth;
  int64_t panelColumns = matrices.waitsForB ? 1024 : kernel.panelColumns;
  int64_t step = divideUp(divideUp(units, divideUp(units, depth)), 8) * 8;
  blocks.stepK = step * kernel.unitElements;
  // A cache line more than the content: slivers do not meet in the same cache
  // sets, and the last vector of one may run over its end.
  blocks.sizeA = kernel.sliverRows * step + 16;
  blocks.sizeB = kernel.columns * step + 16;
  blocks.tilesA = std::min(tiles, kernel.blockRows / blocks.rows);
  blocks.sliversB =
      divideUp(std::min(matrices.n, panelColumns), kernel.columns);
  blocks.buffers = team > 1 ? 2 : 1;
  blocks.workers = team;
  if (matrices.readsA)
    blocks.sizeA = 0;
  if (matrices.readsB)
    blocks.sizeB = 0;
  // Smaller blocks where that is too much: first of A, as long as a thread
  // still has several tiles to do with a sliver of B.
  while (!blocks.fit(bytes) && blocks.tilesA > 4)
    --blocks.tilesA;
  while (!blocks.fit(bytes) && blocks.sliversB > 4)
    --blocks.sliversB;
  while (!blocks.fit(bytes) && blocks.tilesA > 1)
    --blocks.tilesA;
  while (!blocks.fit(bytes) && blocks.sliversB > 1)
    --blocks.sliversB;
  while (!blocks.fit(bytes) && blocks.workers > 0)
    --blocks.workers;
  return blocks;
}

Product::Product(const PackedKernel &kernel, const Matrices &matrices,
                 int64_t team, const GemmScratch &scratch)
    : kernel(kernel), matrices(matrices),
      blocks(Blocks::choose(kernel, matrices, team, scratch.bytes)),
      packedB(reinterpret_cast<float *>(scratch.data)),
      packedA(packedB + blocks.unitsB()),
      blocksN(divideUp(matrices.n, blocks.sliversB * kernel.columns)),
      blocksK(divideUp(matrices.k, blocks.stepK)) {
  if (fits())
    planTasks();
}

/// Divides C into tasks. A task has about as many rows of C as a thread packs
/// at once. If there are enough rows, the number of tasks is a multiple of the
/// number of threads; otherwise the columns are divided, too.
void Product::planTasks() {
  int64_t tiles = divideUp(matrices.m, blocks.rows), team = blocks.workers;
  rowTasks = divideUp(tiles, blocks.tilesA);
  columnTasks = 1;
  if (team == 1)
    return;
  if (tiles >= 4 * team)
    rowTasks = divideUp(rowTasks, team) * team;
  else
    columnTasks = divideUp(2 * team, rowTasks);
}

Product::Block Product::block(int64_t number) const {
  Block block;
  int64_t panel = blocks.sliversB * kernel.columns;
  block.firstN = number / blocksK * panel;
  block.slivers =
      divideUp(std::min(panel, matrices.n - block.firstN), kernel.columns);
  block.firstK = number % blocksK * blocks.stepK;
  block.countK = std::min(blocks.stepK, matrices.k - block.firstK);
  block.packed =
      packedB + number % blocks.buffers * blocks.sliversB * blocks.sizeB;
  return block;
}

void Product::packB(const Block &block, int64_t begin, int64_t end) const {
  if (begin >= end || matrices.readsB)
    return;
  int64_t first = block.firstN + begin * kernel.columns;
  int64_t last = std::min(block.firstN + end * kernel.columns, matrices.n);
  kernel.packB(matrices.b.from(first, block.firstK), last - first, block.countK,
               block.packed + begin * blocks.sizeB, blocks.sizeB);
}

/// A strip of tiles: rows from `firstM + row` on, and the columns of `slivers`
/// slivers.
void Product::multiply(const Block &block, const PackedOperand &rows,
                       const float *packed, int64_t firstM, int64_t row,
                       int64_t sliver, int64_t slivers) const {
  int64_t i = firstM + row, j = block.firstN + sliver * kernel.columns;
  TileProduct tile;
  tile.packedB = !matrices.readsB;
  if (matrices.readsA) {
    tile.a = reinterpret_cast<const float *>(rows.from(row, 0).data);
    tile.acrossA = rows.across, tile.alongA = rows.along;
  } else {
    tile.a = packed + row / blocks.rows * blocks.sizeA;
    tile.acrossA = 1, tile.alongA = kernel.sliverRows;
  }
  if (matrices.readsB) {
    PackedOperand columns = matrices.b.from(j, block.firstK);
    tile.b = columns.data;
    tile.alongB = columns.along * kernel.elementBytes;
    tile.stepB = kernel.columns * kernel.elementBytes;
  } else {
    tile.b =
        reinterpret_cast<const char *>(block.packed + sliver * blocks.sizeB);
    tile.alongB = 4 * kernel.columns, tile.stepB = 4 * blocks.sizeB;
  }
  tile.depth = divideUp(block.countK, kernel.unitElements);
  tile.c = matrices.c + i * matrices.rowStride + j * matrices.columnStride;
  tile.rowStride = matrices.rowStride;
  tile.columnStride = matrices.columnStride;
  tile.rows = std::min(blocks.rows, matrices.m - i);
  tile.columns = std::min(slivers * kernel.columns, matrices.n - j);
  tile.adds = matrices.accumulate || block.firstK > 0;
  kernel.multiply(tile);
}

void Product::runTask(const Block &block, int64_t task, float *packed) const {
  int64_t tiles = divideUp(matrices.m, blocks.rows), row = task % rowTasks;
  int64_t firstM = tiles * row / rowTasks * blocks.rows;
  int64_t rows =
      std::min(tiles * (row + 1) / rowTasks * blocks.rows, matrices.m) - firstM;
  if (rows <= 0)
    return;
  PackedOperand from = matrices.a.from(firstM, block.firstK);
  if (!matrices.readsA)
    kernel.packA(from, rows, block.countK, blocks.rows, packed, blocks.sizeA);
  int64_t part = task / rowTasks;
  int64_t begin = block.slivers * part / columnTasks;
  int64_t end = block.slivers * (part + 1) / columnTasks;
  int64_t step = kernel.takesStrips ? end - begin : 1;
  for (int64_t sliver = begin; sliver < end; sliver += step)
    for (int64_t i = 0; i < rows; i += blocks.rows)
      multiply(block, from, packed, firstM, i, sliver, step);
}

void Product::run(int64_t thread, int64_t count) {
  const int64_t tasks = rowTasks * columnTasks;
  const bool takesTasks = thread < blocks.workers;
  int64_t task = takesTasks ? nextTask++ : 0; // numbered through all blocks
  for (int64_t number = 0; number < blocksN * blocksK; ++number) {
    Block current = block(number);
    packB(current, current.slivers * thread / count,
          current.slivers * (thread + 1) / count);
    barrier.wait(count);
    if (!takesTasks)
      continue;
    for (; task < (number + 1) * tasks; task = nextTask++)
      runTask(current, task - number * tasks,
              packedA + thread * blocks.unitsA());
  }
}

static Matrices describe(const PackedKernel &kernel, const MeshcGemm &gemm,
                         const void *a, const void *b, float *c,
                         int64_t entry) {
  int64_t bytes = kernel.elementBytes;
  Matrices matrices{
      {static_cast<const char *>(a) + entry * gemm.strideA * bytes,
       gemm.transA ? 1 : gemm.lda, gemm.transA ? gemm.lda : 1, bytes},
      {static_cast<const char *>(b) + entry * gemm.strideB * bytes,
       gemm.transB ? gemm.ldb : 1, gemm.transB ? 1 : gemm.ldb, bytes},
      c + entry * gemm.strideC,
      gemm.ldc,
      1,
      gemm.m,
      gemm.n,
      gemm.k,
      gemm.accumulate != 0};
  if (kernel.readsB)
    matrices.chooseForms(kernel, gemm.batch == 1);
  return matrices;
}

namespace {
/// One call of runPackedProduct(), and the ways in which threads share it.
struct PackedCall {
  const PackedKernel &kernel;
  const MeshcGemm &gemm;
  const void *a, *b;
  float *c;
  const GemmScratch &scratch;

  Matrices entry(int64_t number) const {
    return describe(kernel, gemm, a, b, c, number);
  }
  /// Whether `parts` products at a time, each on `team` threads, have enough
  /// scratch memory.
  bool fits(int64_t team, int64_t parts) const {
    return Product(kernel, entry(0), team, scratch.part(0, parts)).fits();
  }
  /// Each thread computes some of the batch's entries.
  void shareEntries() const;
  /// Each thread computes a part of C, and packs what it needs.
  void shareParts() const;
  /// All threads compute each entry, and share the panels of B.
  void sharePanels(int64_t team) const;
};
} // namespace

void PackedCall::shareEntries() const {
  parallelTeam([&](int64_t thread, int64_t count) {
    for (int64_t number = gemm.batch * thread / count;
         number < gemm.batch * (thread + 1) / count; ++number)
      Product(kernel, entry(number), 1, scratch.part(thread, count)).run(0, 1);
  });
}

void PackedCall::shareParts() const {
  parallelTeam([&](int64_t thread, int64_t count) {
    Matrices part = entry(0);
    part.cut(kernel, thread, count);
    if (part.m > 0 && part.n > 0)
      Product(kernel, part, 1, scratch.part(thread, count)).run(0, 1);
  });
}

void PackedCall::sharePanels(int64_t team) const {
  for (int64_t number = 0; number < gemm.batch; ++number) {
    Product product(kernel, entry(number), team, scratch);
    if (team == 1)
      product.run(0, 1);
    else
      parallelTeam(
          [&](int64_t thread, int64_t count) { product.run(thread, count); });
  }
}

/// Batch entries up to this many multiply-adds are done by one thread each.
static constexpr int64_t manySums = 1 << 27;
/// The fewest columns, or rows, of a thread's part of C: packing the other
/// matrix once per thread then costs less than waiting for other threads.
static constexpr int64_t partColumns = 64;

bool meshc::runtime::runPackedProduct(const PackedKernel &kernel,
                                      const MeshcGemm &gemm, const void *a,
                                      const void *b, float *c,
                                      const GemmScratch &scratch) {
  if (runThinProduct(kernel, gemm, a, b, c, scratch))
    return true;
  PackedCall call{kernel, gemm, a, b, c, scratch};
  int64_t sums = gemm.m * gemm.n * gemm.k, team = threads();
  if (sums * gemm.batch <= MESHC_PACKED_FEW_SUMS)
    team = 1;
  if (gemm.batch >= 2 * team && team > 1 && sums <= manySums &&
      call.fits(1, team)) {
    call.shareEntries();
    return true;
  }
  // Each thread's part needs scratch memory of its own, which is planned for a
  // few threads. A product that waits for B packs none of it, and its blocks
  // are too short to wait for each other.
  bool suitsParts = team <= MESHC_PACKED_THREADS &&
                    std::max(gemm.m, gemm.n) >= team * partColumns;
  if (gemm.batch == 1 && team > 1 && (suitsParts || call.entry(0).waitsForB) &&
      call.fits(1, team)) {
    call.shareParts();
    return true;
  }
  if (!call.fits(team, 1))
    return false;
  call.sharePanels(team);
  return true;
}
