//===- PackedProduct.h - matrix products by packed blocks ------*- C++ -*--===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The loops of Goto and van de Geijn ("Anatomy of high-performance matrix
/// multiplication", 2008) around a kernel that keeps a tile of sums in
/// registers: a panel of B is packed once and shared by all threads; each
/// thread packs its own blocks of A. All memory comes from the caller.
///
/// The kernels are in files of their own, which may be compiled for processors
/// that this one is not. They hold nothing but loops over numbers.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_PACKEDPRODUCT_H
#define MESHC_RUNTIME_BLAS_PACKEDPRODUCT_H

#include "runtime/Blas/Gemm.h"

#include <cstdint>

namespace meshc::runtime {

/// A matrix operand. Element (i, p), where i counts rows of A or columns of B
/// and p counts k, is number i * across + p * along. One stride is 1.
struct PackedOperand {
  const char *data;
  int64_t across, along;
  int64_t elementBytes;

  /// The operand from an element on. Always inline, so that no file holds a
  /// copy that the linker could choose for all processors.
  __attribute__((always_inline)) PackedOperand from(int64_t i,
                                                    int64_t p) const {
    return {data + (i * across + p * along) * elementBytes, across, along,
            elementBytes};
  }
};

/// The product of some rows of A with some columns of B over `depth` of k, into
/// a tile of C, or into a strip of tiles beside each other.
struct TileProduct {
  /// Row i of A at unit p of k: a[i * acrossA + p * alongA]. One stride is 1.
  const float *a;
  int64_t acrossA, alongA;
  /// Columns of a tile of B at unit p of k: from b + p * alongB bytes on. The
  /// next tile's columns begin `stepB` bytes further.
  const char *b;
  int64_t alongB, stepB;
  bool packedB;
  int64_t depth; ///< units of k
  float *c;
  int64_t rowStride, columnStride; ///< of C, in elements
  int64_t rows, columns;           ///< of C that are written
  bool adds;                       ///< to what C holds
};

/// Sums over k of all rows of a thin matrix, times some rows of a large one.
struct ThinSums {
  const float *thin; ///< `thinRows` rows along k, `thinStride` apart
  int64_t thinRows, thinStride;
  /// Element p of row l begins l * largeStride + p * alongStride bytes further.
  const char *large;
  int64_t largeRows, largeStride, alongStride;
  int64_t depth; ///< of k
  /// The sum for rows t and l is c[t * thinStep + l * largeStep].
  float *c;
  int64_t thinStep, largeStep;
  bool adds; ///< to what C holds
  /// How many rows of the large matrix, as it lies in memory, are read side by
  /// side. For dot products 1 means one at a time; otherwise the kernel
  /// chooses.
  int64_t rowsAtOnce;
};

/// What a kernel works on, and its functions. A unit of k is 4 bytes once it is
/// packed: one element in f32, or two elements of 16 bits.
struct PackedKernel {
  int64_t maxRows, columns; ///< of a tile
  int64_t sliverRows;       ///< units from one k to the next in a sliver of A
  int64_t blockRows;        ///< of A for one thread, at most
  int64_t panelColumns;     ///< of B for all threads, at most
  int64_t depth;            ///< units of k in a block, at most; a multiple of 8
  int64_t unitElements;     ///< elements of k in a unit
  int64_t elementBytes;     ///< of A and B
  bool anyRows;             ///< slivers of 1 to maxRows rows, else of maxRows
  /// `multiply` takes the operand as it lies. Products choose between both
  /// forms of A only with kernels that read B as it lies.
  bool readsA, readsB;
  bool takesStrips; ///< `multiply` takes all columns of a block of B

  /// Packs `width` rows over `count` elements of k into slivers of `rows`
  /// rows, `stride` units apart: sliver[unit * sliverRows + i]. Zeros take
  /// the place of absent rows, and of the second element of a last unit that
  /// has only one. May write up to 16 units beyond a sliver's content.
  void (*packA)(const PackedOperand &from, int64_t width, int64_t count,
                int64_t rows, float *target, int64_t stride);
  /// The same for columns of B, in slivers of `columns` columns.
  void (*packB)(const PackedOperand &from, int64_t width, int64_t count,
                float *target, int64_t stride);
  void (*multiply)(const TileProduct &tile);
  /// Computes thin sums with vectors along k, in which the large matrix is
  /// contiguous. Null: not provided.
  void (*multiplyDots)(const ThinSums &sums);
  /// As how many elements of k it costs to add up the lanes of such a vector.
  int64_t lanesCost;
  /// Thin sums of at most 4 thin rows with vectors across k, where both the
  /// large matrix and C have their rows l side by side. Null: not provided.
  void (*multiplyAcross)(const ThinSums &sums);
};

/// Sums of f32 or 16-bit elements in registers of 128, 256 or 512 bits.
const PackedKernel &plainKernel();
const PackedKernel &avx2Kernel();
const PackedKernel &avx512Kernel();
const PackedKernel &avx512Bf16Kernel();    ///< multiplies pairs of bf16
const PackedKernel &avx512WidenedKernel(); ///< converts bf16 to f32

/// The kernel for f32 that this processor runs best: the first of those for
/// AVX-512 and AVX2 that it has, or the plain one.
const PackedKernel &f32Kernel();

/// A matrix of more bytes comes from memory, not from the caches of a core.
constexpr int64_t cachesOfCore = 1 << 20;

/// Runs a product whose C is f32 on the rank's threads. False, with C
/// untouched, if the scratch memory is too small.
bool runPackedProduct(const PackedKernel &kernel, const MeshcGemm &gemm,
                      const void *a, const void *b, float *c,
                      const GemmScratch &scratch);

/// Whether `kernel` has a function for the product as one of a thin matrix and
/// a large one, which is then read once and as it lies. Packing it would take
/// as long as the product.
bool suitsThinProduct(const PackedKernel &kernel, const MeshcGemm &gemm);

/// Runs such a product. False, with C untouched, if the product is another one,
/// or if the scratch memory is too small. runPackedProduct() tries it first;
/// others call that.
bool runThinProduct(const PackedKernel &kernel, const MeshcGemm &gemm,
                    const void *a, const void *b, float *c,
                    const GemmScratch &scratch);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_PACKEDPRODUCT_H
