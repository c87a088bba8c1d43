//===- ProductAbi.h - matrix products of a program --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of RuntimeAbi.h, which includes it, about matrix products. C99
/// and C++17.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_PRODUCTABI_H
#define MESHC_PRODUCTABI_H

#include "meshc/KernelAbi.h"
#include "meshc/TensorAbi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// C[m,n] = A[m,k] · B[k,n] (row-major; `transA`: A is stored [k,m], `transB`:
/// B is stored [n,k]), repeated `batch` times at the given strides. The
/// products are summed in f32 or better. `accumulate` adds the result to C. On
/// the host the call may overwrite the `scratchBytes` bytes of the arena at
/// `scratchOffset`, which contain nothing else while it runs; GemmScratch.h
/// says how many suffice. With fewer, or none, the call is slower.
///
/// `cut` is null, or the outermost of the dims along which k runs, if its
/// blocks may have padding (MeshcDim): k / cut->localSize elements along k
/// belong to each of its entries. Only those of entries that exist on the rank
/// count, the first ones. Without any, the product is 0.
typedef struct MeshcGemm {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;             ///< elements between rows as stored
  int64_t batch;                     ///< ≥ 1
  int64_t strideA, strideB, strideC; ///< elements between batch entries
  uint8_t type;                      ///< MeshcType of A and B: F32, BF16, F16
  uint8_t typeC;                     ///< MeshcType of C
  uint8_t transA, transB;
  uint8_t accumulate;
  int64_t scratchOffset, scratchBytes; ///< in the arena; multiples of 64
  const MeshcDim *cut;
} MeshcGemm;

/// The runtime chooses the implementation by shape from an ordered list
/// (runtime/Blas) that ends with the reference loop.
void meshc_gemm(MeshcContext *ctx, const MeshcGemm *gemm, const void *a,
                const void *b, void *c);

/// What a call may compute in addition to a product C = A·B of one batch:
/// MESHC_BIAS, MESHC_RELU_GRADIENT … (Epilogues.def, which also says what each
/// kind reads and computes, and the buffers of its kernel).
typedef enum MeshcEpilogueKind {
#define MESHC_EPILOGUE(CONSTANT, Kind, name, number, Operand, Function,        \
                       Result, Mask, Kept, text)                               \
  MESHC_##CONSTANT = number,
#include "meshc/Epilogues.def"
} MeshcEpilogueKind;

/// A bias has n elements. C and all tensors of its shape are dense. All tensors
/// have the type of A and B. C is scratch space: it shares its buffer with D
/// or, if the kernel stores the argument of a function, with that. With sums of
/// a factor C is a result of its own.
typedef struct MeshcEpilogue {
  uint32_t kind; ///< MeshcEpilogueKind
  uint32_t reserved;
  const MeshcKernel *kernel; ///< computes the same from a finished C
} MeshcEpilogue;

/// Runs meshc_gemm and the epilogue: in one library call if the runtime has
/// one, otherwise with the epilogue's kernel. `buffers` are those of the
/// kernel. `mask` is null or m rows of ⌈n / 128⌉·16 bytes. Kinds that write a
/// mask may record there where D is positive; those that read one get the mask
/// of the call that computed X. Only these two calls access the mask.
void meshc_gemm_epilogue(MeshcContext *ctx, const MeshcGemm *gemm,
                         const MeshcEpilogue *epilogue, const void *a,
                         const void *b, void *c, void *const *buffers,
                         void *mask);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MESHC_PRODUCTABI_H
