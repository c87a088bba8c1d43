//===- VectorMath.cpp - elementary functions as arithmetic ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/VectorMath.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace meshc::codegen {

void populateVectorMathPatterns(RewritePatternSet &patterns) {
  populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
    static constexpr StringRef names[] = {"math.exp",  "math.log", "math.log1p",
                                          "math.tanh", "math.sin", "math.cos"};
    return llvm::is_contained(names, name);
  });
}

} // namespace meshc::codegen
