//===- Divisibility.h - what an index is a multiple of --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_DIVISIBILITY_H
#define MESHC_LIB_CODEGEN_DIVISIBILITY_H

#include "mlir/IR/Value.h"

namespace meshc::codegen {

/// The largest power of two up to `divisorLimit` that is known to divide the
/// index, from the ops that compute it; 1 if nothing is known.
int64_t getKnownDivisor(mlir::Value index);

inline constexpr int64_t divisorLimit = 64;

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_DIVISIBILITY_H
