//===- ReductionKinds.h - what each kind of reduction computes ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The reductions of meshc/Reductions.def on elements as the interpreter holds
/// them: numbers in double precision.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_INTERFACES_REDUCTIONKINDS_H
#define MESHC_DIALECTS_ND_INTERFACES_REDUCTIONKINDS_H

#include "dialects/Nd/NdTypes.h"

namespace meshc::nd {

/// How two elements become one. Floats are not rounded, i32 wraps around, i1 is
/// 0 or 1. A maximum or minimum with NaN is NaN.
using Combination = double (*)(double a, double b);

/// The combination of elements of `elementType`.
Combination getCombination(ReductionKind kind, mlir::Type elementType);

/// The element of `elementType` that changes nothing.
double getIdentity(ReductionKind kind, mlir::Type elementType);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_INTERFACES_REDUCTIONKINDS_H
