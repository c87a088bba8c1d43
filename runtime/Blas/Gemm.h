//===- Gemm.h - implementations of matrix products --------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix products by an ordered list of implementations (meshc/Products.def).
/// The first one that accepts and suits a product and can compute it is used;
/// the reference loop is last. docs/rationale/matrix-products.md has the
/// measurements behind the order.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_RUNTIME_BLAS_GEMM_H
#define MESHC_RUNTIME_BLAS_GEMM_H

#include "meshc/RuntimeAbi.h"

#include <string>

namespace meshc::runtime {

/// Memory that a product may use while it runs: `bytes` bytes, 64-byte aligned.
/// The compiler plans it in the arena (meshc/GemmScratch.h).
struct GemmScratch {
  char *data = nullptr;
  int64_t bytes = 0;

  /// One of `count` equal parts, 64-byte aligned.
  GemmScratch part(int64_t index, int64_t count) const {
    int64_t size = bytes / count / 64 * 64;
    return {data + index * size, size};
  }
  /// What remains behind the first `used` bytes, rounded up to 64.
  GemmScratch after(int64_t used) const {
    int64_t begin = (used + 63) / 64 * 64;
    return begin < bytes ? GemmScratch{data + begin, bytes - begin}
                         : GemmScratch{};
  }
};

/// One way to compute a product. Every product given to `suits` and `run` has
/// m, n, k, batch ≥ 1 and is accepted by the implementation's row of
/// Products.def.
struct GemmImplementation {
  /// Whether this is the best choice for the product among itself and the
  /// entries that follow it.
  bool (*suits)(const MeshcGemm &gemm);
  /// Computes the product if it can. Returns false otherwise, for example if
  /// the scratch memory is too small, and leaves C untouched.
  bool (*run)(const MeshcGemm &gemm, const void *a, const void *b, void *c,
              const GemmScratch &scratch);
};

// packedImplementation, packed512Implementation …
#define MESHC_HOST_PRODUCT(symbol, name, accepts, scratchBytes)                \
  extern const GemmImplementation symbol##Implementation;
#include "meshc/Products.def"

/// Throws Failure(Usage) if the environment variable MESHC_GEMM, which forces
/// an implementation for tests and measurements, has an unknown name; a program
/// asks once before its first product.
void checkForcedImplementation();

/// Runs the first implementation that suits, or the forced one.
void runGemm(const MeshcGemm &gemm, const void *a, const void *b, void *c,
             const GemmScratch &scratch = {});

/// Runs the first implementation that suits. If `only` is not empty, runs just
/// the one of that name, or the reference if that one cannot. An unknown name
/// throws Failure(Usage).
void gemmBy(const std::string &only, const MeshcGemm &gemm, const void *a,
            const void *b, void *c, const GemmScratch &scratch = {});

} // namespace meshc::runtime

#endif // MESHC_RUNTIME_BLAS_GEMM_H
