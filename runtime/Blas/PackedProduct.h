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

  PackedOperand from(int64_t i, int64_t p) const {
    return {data + (i * across + p * along) * elementBytes, across, along,
            elementBytes};
  }
};

/// The product of some rows of A with some columns of B over `depth` of k, into
/// a tile of C.
struct TileProduct {
  /// Row i of A at unit p of k: a[i * acrossA + p * alongA]. One stride is 1.
  const float *a;
  int64_t acrossA, alongA;
  /// Column j of B at unit p of k: b[j + p * alongB]. `packedB`: from a sliver,
  /// whose columns beyond those of C are zeros.
  const float *b;
  int64_t alongB;
  bool packedB;
  int64_t depth; ///< units of k
  float *c;
  int64_t rowStride, columnStride; ///< of C, in elements
  int64_t rows, columns;           ///< of C that are written
  bool adds;                       ///< to what C holds
};

/// What a kernel works on, and its functions. A unit of k is 4 bytes: one f32,
/// or two elements of 16 bits.
struct PackedKernel {
  int64_t maxRows, columns; ///< of a tile
  int64_t sliverRows;       ///< units from one k to the next in a sliver of A
  int64_t blockRows;        ///< of A for one thread, at most
  int64_t panelColumns;     ///< of B for all threads, at most
  int64_t depth;            ///< units of k in a block, at most; a multiple of 8
  int64_t unitElements;     ///< elements of k in a unit
  bool anyRows;             ///< slivers of 1 to maxRows rows, else of maxRows
  bool readsUnpacked;       ///< `multiply` takes operands as they lie
  bool rowsOutside;         ///< loop over the rows of A around columns of B

  /// Packs `width` rows over `count` elements of k into slivers of `rows`
  /// rows, `stride` units apart: sliver[unit * sliverRows + i]; absent rows
  /// and elements are zeros. May write up to 16 units beyond a sliver's
  /// content.
  void (*packA)(const PackedOperand &from, int64_t width, int64_t count,
                int64_t rows, float *target, int64_t stride);
  /// The same for columns of B, in slivers of `columns` columns.
  void (*packB)(const PackedOperand &from, int64_t width, int64_t count,
                float *target, int64_t stride);
  void (*multiply)(const TileProduct &tile);
};

/// Sums of f32 or 16-bit elements in registers of 256 or 512 bits.
const PackedKernel &avx2Kernel();
const PackedKernel &avx512Kernel();
const PackedKernel &avx512Bf16Kernel();

/// Runs a product whose C is f32 on the rank's threads. False, with C
/// untouched, if the scratch memory is too small.
bool runPackedProduct(const PackedKernel &kernel, const MeshcGemm &gemm,
                      const void *a, const void *b, float *c,
                      const GemmScratch &scratch);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_PACKEDPRODUCT_H
