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

/// The largest power of two, of those up to `kDivisorLimit`, of which the index
/// is a multiple as far as the ops that compute it tell; 1 where they do not.
int64_t getKnownDivisor(mlir::Value index);

inline constexpr int64_t kDivisorLimit = 64;

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_DIVISIBILITY_H
