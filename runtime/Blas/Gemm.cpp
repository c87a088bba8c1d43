//===- Gemm.cpp - implementations of matrix products ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Gemm.h"

#include "runtime/Base/Failure.h"

#include <cstdlib>

using namespace meshc::runtime;

static const GemmImplementation *const implementations[] = {
    &packedImplementation,     &packed512Implementation,
    &packedBf16Implementation, &matmulImplementation,
    &sgemmImplementation,      &widenedImplementation,
    &referenceImplementation};

static const GemmImplementation &findImplementation(const std::string &name) {
  std::string names;
  for (const GemmImplementation *entry : implementations) {
    if (name == entry->name)
      return *entry;
    names += (names.empty() ? "'" : ", '") + std::string(entry->name) + "'";
  }
  throw Failure(ExitCode::Usage,
                "MESHC_GEMM is '" + name + "'; expected one of " + names);
}

static void run(const GemmImplementation *only, const MeshcGemm &gemm,
                const void *a, const void *b, void *c,
                const GemmScratch &scratch) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.batch <= 0)
    return;
  if (gemm.k > 0) {
    if (only && only->run(gemm, a, b, c, scratch))
      return;
    if (!only)
      for (const GemmImplementation *entry : implementations)
        if (entry->suits(gemm) && entry->run(gemm, a, b, c, scratch))
          return;
  }
  referenceImplementation.run(gemm, a, b, c, scratch);
}

void meshc::runtime::gemmBy(const std::string &only, const MeshcGemm &gemm,
                            const void *a, const void *b, void *c,
                            const GemmScratch &scratch) {
  run(only.empty() ? nullptr : &findImplementation(only), gemm, a, b, c,
      scratch);
}

const GemmImplementation *meshc::runtime::forcedImplementation() {
  static const GemmImplementation *const forced = [] {
    const char *name = std::getenv("MESHC_GEMM");
    return name && *name ? &findImplementation(name) : nullptr;
  }();
  return forced;
}

void meshc::runtime::runGemm(const MeshcGemm &gemm, const void *a,
                             const void *b, void *c,
                             const GemmScratch &scratch) {
  run(forcedImplementation(), gemm, a, b, c, scratch);
}
