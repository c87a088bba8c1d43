//===- Packed512.cpp - f32 matrix products by packed AVX-512 blocks -------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// All f32 products on CPUs with AVX-512. oneDNN is about as fast there, but
/// its packing buffers are its own and grow with the product. The kernel is in
/// Packed512Kernel.cpp, which alone is compiled for AVX-512.
///
//===----------------------------------------------------------------------===//
#include "runtime/Blas/InstructionSet.h"
#include "runtime/Blas/PackedProduct.h"

using namespace meshc::runtime;

static bool suitsPacked512(const MeshcGemm &) { return usesAvx512(); }

static bool runPacked512(const MeshcGemm &gemm, const void *a, const void *b,
                         void *c, const GemmScratch &scratch) {
  return suitsPacked512(gemm) &&
         runPackedProduct(avx512Kernel(), gemm, a, b, static_cast<float *>(c),
                          scratch);
}

const GemmImplementation meshc::runtime::packed512Implementation = {
    suitsPacked512, runPacked512};
