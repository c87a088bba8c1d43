//===- Predicates.h - what comparisons ask ----------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_OPS_PREDICATES_H
#define MESHC_DIALECTS_ND_OPS_PREDICATES_H

#include "dialects/Nd/NdTypes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace meshc::nd {

/// Whether a PREDICATE b; of NaN, only `ne` does.
bool holds(Predicate predicate, double a, double b);

/// The predicate for the operands in the other order.
Predicate flip(Predicate predicate);
/// The predicate that holds where this one does not. Of floats only without
/// NaN.
Predicate invert(Predicate predicate);

mlir::arith::CmpFPredicate getFloatPredicate(Predicate predicate);
mlir::arith::CmpIPredicate getIntegerPredicate(Predicate predicate,
                                               bool isSigned = true);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_OPS_PREDICATES_H
