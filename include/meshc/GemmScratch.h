//===- GemmScratch.h - scratch memory of matrix products -------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How much scratch memory the compiler plans for a matrix product of the host.
/// The compiler and the runtime share this bound. It holds for each
/// implementation of runtime/Blas and any number of threads: an implementation
/// chooses smaller blocks where its threads would need more, and refuses a
/// product if even that does not suffice.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_GEMMSCRATCH_H
#define MESHC_GEMMSCRATCH_H

#include "meshc/RuntimeAbi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Blocks of a packed product: at most this many rows of A for each thread,
/// columns of B for all threads, and units of 4 bytes along k.
#define MESHC_AVX2_ROWS 144
#define MESHC_AVX2_COLUMNS 1024
#define MESHC_AVX2_DEPTH 272
#define MESHC_AVX512_ROWS 168
#define MESHC_AVX512_COLUMNS 512
#define MESHC_AVX512_DEPTH 384
/// The number of threads whose blocks of A are full-sized.
#define MESHC_PACKED_THREADS 4
/// Up to this many multiply-adds a product runs on one thread.
#define MESHC_PACKED_FEW_SUMS (1 << 17)
/// At most this many bytes for the batch entries that run at the same time.
#define MESHC_PACKED_BATCH_BYTES (6 << 20)
/// Side of the square blocks in which 16-bit matrices are converted to f32.
#define MESHC_WIDENED_BLOCK 512

static inline int64_t meshcSmaller(int64_t x, int64_t y) {
  return x < y ? x : y;
}

/// Bytes of `threads` blocks of A and `buffers` blocks of B as the kernel for
/// AVX2 packs them: in slivers of 6 rows or 16 columns and 16 unused units.
static inline int64_t meshcAvx2Bytes(int64_t m, int64_t n, int64_t k,
                                     int64_t threads, int64_t buffers) {
  int64_t depth = meshcSmaller(k + 7, MESHC_AVX2_DEPTH);
  int64_t rows = (meshcSmaller(m, MESHC_AVX2_ROWS) + 5) / 6;
  int64_t columns = (meshcSmaller(n, MESHC_AVX2_COLUMNS) + 15) / 16;
  return 4 * (threads * rows * (6 * depth + 16) +
              buffers * columns * (16 * depth + 16));
}

/// The same for AVX-512: slivers of up to 14 rows, in room for 16, or of 32
/// columns. Tiles are of equal height, so a block may have one row more for
/// each of its tiles than A.
static inline int64_t meshcAvx512Bytes(int64_t m, int64_t n, int64_t k,
                                       int64_t threads, int64_t buffers) {
  int64_t depth = meshcSmaller(k + 15, MESHC_AVX512_DEPTH);
  int64_t rows = meshcSmaller((m + 13) / 14, MESHC_AVX512_ROWS / 14);
  int64_t columns = (meshcSmaller(n, MESHC_AVX512_COLUMNS) + 31) / 32;
  return 4 * (threads * rows * (16 * depth + 16) +
              buffers * columns * (32 * depth + 16));
}

/// Bytes for a product of f32 by one of the two kernels.
typedef int64_t MeshcPackedBytes(int64_t m, int64_t n, int64_t k,
                                 int64_t threads, int64_t buffers);
static inline int64_t meshcF32ScratchBytes(MeshcPackedBytes *packed, int64_t m,
                                           int64_t n, int64_t k,
                                           int64_t batch) {
  int64_t single = packed(m, n, k, 1, 1);
  int64_t one = packed(m, n, k, MESHC_PACKED_THREADS, 2);
  int64_t many = meshcSmaller(batch, MESHC_PACKED_THREADS) * single;
  if ((double)m * (double)n * (double)k * (double)batch <=
      MESHC_PACKED_FEW_SUMS)
    return (single + 63) / 64 * 64;
  many = meshcSmaller(many, MESHC_PACKED_BATCH_BYTES);
  return ((batch > 1 && many > one ? many : one) + 63) / 64 * 64;
}

/// Bytes of one f32 block of each of A, B and C, for 16-bit matrices.
static inline int64_t meshcWidenedBytes(int64_t m, int64_t n, int64_t k) {
  int64_t rows = meshcSmaller(m, MESHC_WIDENED_BLOCK);
  int64_t columns = meshcSmaller(n, MESHC_WIDENED_BLOCK);
  int64_t depth = meshcSmaller(k, MESHC_WIDENED_BLOCK);
  return 4 * (rows * depth + depth * columns + rows * columns) + 3 * 64;
}

/// Whether all three matrices are of f32.
static inline int meshcIsF32(const MeshcGemm *gemm) {
  return gemm->type == MESHC_F32 && gemm->typeC == MESHC_F32;
}

/// Bytes for any product by one of the two kernels; a multiple of 64. Products
/// of 16 bits go through blocks of f32.
static inline int64_t meshcPackedScratchBytes(MeshcPackedBytes *packed,
                                              const MeshcGemm *gemm) {
  int64_t bytes;
  if (meshcIsF32(gemm))
    return meshcF32ScratchBytes(packed, gemm->m, gemm->n, gemm->k, gemm->batch);
  bytes = meshcWidenedBytes(gemm->m, gemm->n, gemm->k) +
          meshcF32ScratchBytes(
              packed, meshcSmaller(gemm->m, MESHC_WIDENED_BLOCK),
              meshcSmaller(gemm->n, MESHC_WIDENED_BLOCK), gemm->k, gemm->batch);
  return (bytes + 63) / 64 * 64;
}

// What the rows of Products.def need.
static inline int64_t meshcAvx2ScratchBytes(const MeshcGemm *gemm) {
  return meshcPackedScratchBytes(meshcAvx2Bytes, gemm);
}
static inline int64_t meshcAvx512ScratchBytes(const MeshcGemm *gemm) {
  return meshcPackedScratchBytes(meshcAvx512Bytes, gemm);
}
static inline int64_t meshcWidenedScratchBytes(const MeshcGemm *gemm) {
  int64_t avx2 = meshcAvx2ScratchBytes(gemm);
  int64_t avx512 = meshcAvx512ScratchBytes(gemm);
  return avx2 > avx512 ? avx2 : avx512;
}

/// The scratch memory that the compiler plans for a product of the host, in
/// bytes: the largest need of all implementations that accept it. A multiple of
/// 64, and a function of m, n, k, batch, type and typeC alone.
static inline int64_t meshcGemmScratchBytes(const MeshcGemm *described) {
  const MeshcGemm gemm = *described;
  int64_t most = 0, bytes;
#define MESHC_HOST_PRODUCT(symbol, name, accepts, scratchBytes)                \
  bytes = (accepts) ? (scratchBytes) : 0;                                      \
  most = bytes > most ? bytes : most;
#include "meshc/Products.def"
  return most;
}

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_GEMMSCRATCH_H
