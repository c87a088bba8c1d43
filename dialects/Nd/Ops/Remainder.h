//===- Remainder.h - the exact remainder of a division --------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_REMAINDER_H
#define MESHC_DIALECTS_ND_OPS_REMAINDER_H

#include "dialects/Nd/Ops/Pointwise.h"

namespace meshc::nd {

/// The remainder of a / b with the sign of b, as NumPy's `mod` and Python's
/// `%`: fmod(a, b), which is exact, plus b where the signs differ; that sum is
/// rounded once. A remainder of 0 has the sign of b. NaN if b is 0 or a is
/// infinite; b is the remainder's bound if it is infinite.
double computeRemainder(double a, double b);

/// The same of f32 elements, scalars or vectors of equal shape, to the bit.
mlir::Value emitRemainder(ElementCode &code, mlir::Value a, mlir::Value b);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_REMAINDER_H
