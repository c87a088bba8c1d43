//===- VectorMath.h - elementary functions as arithmetic ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_VECTORMATH_H
#define MESHC_LIB_CODEGEN_VECTORMATH_H

#include "mlir/IR/PatternMatch.h"

namespace meshc::codegen {

/// Rewrites f32 functions of the math dialect, on scalars and vectors alike, to
/// arithmetic that vectorizes, so that an element's value does not depend on
/// whether it was computed in a vector. Infinities and NaN are as in libm.
/// Largest errors, over all of f32 unless said otherwise
/// (test/lib/Codegen/VectorMathTest.cpp measures them), in units in the last
/// place: see the .cpp. What has no pattern stays a call of libm.
void populateVectorMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_VECTORMATH_H
