//===- Widened.cpp - 16-bit matrix products through f32 -------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Products of bf16 or f16 matrices, or into them, on CPUs without such
/// instructions: block by block in f32. The blocks lie in the scratch memory
/// that the compiler planned.
///
//===----------------------------------------------------------------------===//
#include "meshc/GemmScratch.h"
#include "runtime/Blas/Element.h"
#include "runtime/Blas/Gemm.h"

#include <algorithm>

using namespace meshc::runtime;

namespace {

constexpr int64_t blockSize = MESHC_WIDENED_BLOCK;

/// Three blocks of f32, of A, of B and of C, and what remains of the scratch
/// memory for their product.
struct WidenedBlocks {
  float *a, *b, *c;
  GemmScratch rest;

  WidenedBlocks(const MeshcGemm &gemm, const GemmScratch &scratch) {
    int64_t m = std::min(gemm.m, blockSize), n = std::min(gemm.n, blockSize),
            k = std::min(gemm.k, blockSize);
    auto roundUp = [](int64_t floats) { return (floats + 15) / 16 * 16; };
    a = reinterpret_cast<float *>(scratch.data);
    b = a + roundUp(m * k);
    c = b + roundUp(k * n);
    rest = scratch.after(meshcWidenedBytes(gemm.m, gemm.n, gemm.k));
  }
};

/// Copies `rows` × `columns` elements, as stored, to f32.
void widen(uint8_t type, const void *from, int64_t offset, int64_t leading,
           int64_t rows, int64_t columns, float *to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * columns + j] = loadElement(type, from, offset + i * leading + j);
}

/// One block of C: `m` × `n` starting at row `i`, column `j`.
void runBlock(const MeshcGemm &gemm, const void *a, const void *b, void *c,
              int64_t i, int64_t j, int64_t m, int64_t n,
              WidenedBlocks &blocks) {
  bool adds = gemm.accumulate;
  if (adds)
    widen(gemm.typeC, c, i * gemm.ldc + j, gemm.ldc, m, n, blocks.c);
  for (int64_t p = 0; p < gemm.k; p += blockSize) {
    int64_t k = std::min(blockSize, gemm.k - p);
    int64_t rowsA = gemm.transA ? k : m, columnsA = gemm.transA ? m : k;
    int64_t rowsB = gemm.transB ? n : k, columnsB = gemm.transB ? k : n;
    widen(gemm.type, a, gemm.transA ? p * gemm.lda + i : i * gemm.lda + p,
          gemm.lda, rowsA, columnsA, blocks.a);
    widen(gemm.type, b, gemm.transB ? j * gemm.ldb + p : p * gemm.ldb + j,
          gemm.ldb, rowsB, columnsB, blocks.b);
    MeshcGemm wide = {};
    wide.m = m, wide.n = n, wide.k = k;
    wide.lda = columnsA, wide.ldb = columnsB, wide.ldc = n;
    wide.batch = 1;
    wide.type = wide.typeC = MESHC_F32;
    wide.transA = gemm.transA, wide.transB = gemm.transB;
    wide.accumulate = adds;
    gemmBy("", wide, blocks.a, blocks.b, blocks.c, blocks.rest);
    adds = true;
  }
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column)
      storeElement(gemm.typeC, c, (i + row) * gemm.ldc + j + column,
                   blocks.c[row * n + column]);
}

} // namespace

static bool runWidened(const MeshcGemm &gemm, const void *a, const void *b,
                       void *c, const GemmScratch &scratch) {
  if (scratch.bytes < meshcWidenedBytes(gemm.m, gemm.n, gemm.k))
    return false;
  WidenedBlocks blocks(gemm, scratch);
  for (int64_t entry = 0; entry < gemm.batch; ++entry) {
    const void *entryA = elementAt(gemm.type, a, entry * gemm.strideA);
    const void *entryB = elementAt(gemm.type, b, entry * gemm.strideB);
    void *entryC = elementAt(gemm.typeC, c, entry * gemm.strideC);
    for (int64_t i = 0; i < gemm.m; i += blockSize)
      for (int64_t j = 0; j < gemm.n; j += blockSize)
        runBlock(gemm, entryA, entryB, entryC, i, j,
                 std::min(blockSize, gemm.m - i),
                 std::min(blockSize, gemm.n - j), blocks);
  }
  return true;
}

const GemmImplementation meshc::runtime::widenedImplementation = {
    [](const MeshcGemm &) { return true; }, runWidened};
