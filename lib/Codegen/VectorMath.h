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

/// Rewrites exp, log, log1p, tanh and erf of the math dialect on f32, scalars
/// and vectors alike, to arithmetic that vectorizes, so that an element's value
/// does not depend on whether it was computed in a vector. Infinities and NaN
/// are as in libm; errors are within a few units in the last place, which the
/// .cpp names and test/Codegen/VectorMathTest.cpp measures. Other functions
/// stay instructions or calls of libm. math.fma becomes llvm.intr.fmuladd, the
/// only thing that targets fuse. `scalesByPowers`: llvm.intr.ldexp is fast on
/// the target, and scales exponentials; results are the same to the bit.
void populateVectorMathPatterns(mlir::RewritePatternSet &patterns,
                                bool scalesByPowers);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_VECTORMATH_H
