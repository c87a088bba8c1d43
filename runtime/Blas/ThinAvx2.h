//===- ThinAvx2.h - sums with few rows, in AVX2 registers -------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Private to this folder: functions of kernels (PackedKernel) for AVX2. Those
/// for AVX-512 take some of them, too.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_THINAVX2_H
#define MESHC_RUNTIME_BLAS_THINAVX2_H

#include "runtime/Blas/PackedProduct.h"

/// Compiles a function for processors that this one may not be.
#define MESHC_AVX2 __attribute__((target("avx2,fma")))

namespace meshc::runtime {

/// PackedKernel::multiplyDots and ::multiplyAcross. The large matrix of sums
/// across is of f32 or of bf16. Kernels for AVX-512 take these, too: memory or
/// the stores of C are the limit. The order in which a sum is added does not
/// depend on which rows are computed together.
MESHC_AVX2 void multiplyDotsAvx2(const ThinSums &sums);
MESHC_AVX2 void multiplyAcrossAvx2(const ThinSums &sums);
MESHC_AVX2 void multiplyAcrossBf16Avx2(const ThinSums &sums);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_THINAVX2_H
