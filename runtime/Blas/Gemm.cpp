//===- Gemm.cpp - implementations of matrix products ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/Blas/Gemm.h"

#include "meshc/GemmScratch.h"
#include "runtime/Base/Failure.h"

#include <cstdlib>

using namespace meshc::runtime;

namespace {
/// A row of the table, with its function.
struct Row {
  const char *name;
  bool (*accepts)(const MeshcGemm &gemm);
  const GemmImplementation *implementation;
};
} // namespace

static const Row rows[] = {
#define MESHC_HOST_PRODUCT(symbol, name, accepts, scratchBytes)                \
  {name, [](const MeshcGemm &gemm) { return bool(accepts); },                  \
   &symbol##Implementation},
#include "meshc/Products.def"
};

static const Row &findRow(const std::string &name) {
  std::string names;
  for (const Row &row : rows) {
    if (name == row.name)
      return row;
    names += (names.empty() ? "'" : ", '") + std::string(row.name) + "'";
  }
  throw Failure(ExitCode::Usage,
                "MESHC_GEMM is '" + name + "'; expected one of " + names);
}

static void run(const Row *only, const MeshcGemm &gemm, const void *a,
                const void *b, void *c, const GemmScratch &scratch) {
  if (gemm.m <= 0 || gemm.n <= 0 || gemm.batch <= 0)
    return;
  for (const Row &row : rows) {
    const GemmImplementation &implementation = *row.implementation;
    if (gemm.k > 0 && row.accepts(gemm) &&
        (only ? only == &row : implementation.suits(gemm)) &&
        implementation.run(gemm, a, b, c, scratch))
      return;
  }
  referenceImplementation.run(gemm, a, b, c, scratch);
}

void meshc::runtime::gemmBy(const std::string &only, const MeshcGemm &gemm,
                            const void *a, const void *b, void *c,
                            const GemmScratch &scratch) {
  run(only.empty() ? nullptr : &findRow(only), gemm, a, b, c, scratch);
}

/// The row that the environment forces, or null.
static const Row *findForced() {
  static const Row *const forced = [] {
    const char *name = std::getenv("MESHC_GEMM");
    return name && *name ? &findRow(name) : nullptr;
  }();
  return forced;
}

void meshc::runtime::checkForcedImplementation() { findForced(); }

void meshc::runtime::runGemm(const MeshcGemm &gemm, const void *a,
                             const void *b, void *c,
                             const GemmScratch &scratch) {
  run(findForced(), gemm, a, b, c, scratch);
}
