//===- Gemm.h - implementations of matrix products --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix products by an ordered list of implementations. The first one that
/// suits a product's shape and can compute it is used; the reference loop is
/// last. docs/rationale/matrix-products.md has the measurements behind the
/// order.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_GEMM_H
#define MESHC_RUNTIME_BLAS_GEMM_H

#include "meshc/RuntimeAbi.h"

#include <string>

namespace meshc::runtime {

/// One way to compute a product. Every product given to `suits` and `run` has
/// m, n, k, batch ≥ 1.
struct GemmImplementation {
  const char *name;
  /// Whether this is the best choice for the product among itself and the
  /// entries that follow it.
  bool (*suits)(const MeshcGemm &gemm);
  /// Computes the product if it can. Returns false otherwise, and leaves C
  /// untouched.
  bool (*run)(const MeshcGemm &gemm, const void *a, const void *b, void *c);
};

extern const GemmImplementation packedImplementation;  ///< blocks for AVX2
extern const GemmImplementation sgemmImplementation;   ///< oneDNN's sgemm
extern const GemmImplementation matmulImplementation;  ///< oneDNN's primitive
extern const GemmImplementation widenedImplementation; ///< 16 bits through f32
extern const GemmImplementation referenceImplementation; ///< three loops; all

/// The implementation that the environment variable MESHC_GEMM forces, for
/// tests and measurements, or null. Throws Failure(Usage) for an unknown name;
/// a program asks once before its first product.
const GemmImplementation *forcedImplementation();

/// Runs the first implementation that suits, or the forced one.
void runGemm(const MeshcGemm &gemm, const void *a, const void *b, void *c);

/// Runs the first implementation that suits. If `only` is not empty, runs just
/// the one of that name, or the reference if that one cannot. An unknown name
/// throws Failure(Usage).
void gemmBy(const std::string &only, const MeshcGemm &gemm, const void *a,
            const void *b, void *c);

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_GEMM_H
