//===- RoundedParts.h - partial sums of 16 bits -----------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accessors of `nd.rounded_parts` (NdDialect.td), a mark of ops whose results
/// are of 16 bits. If such a result is a partial sum, each rank's part is
/// rounded to the result's type before the parts are added, which halves the
/// bytes [L7.8]. Without the mark the parts are f32 [L2.7]. Set by
/// meshc-lower-precision, passed on to gradients, and removed by
/// meshc-partition-program.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_ROUNDEDPARTS_H
#define MESHC_DIALECTS_ND_ROUNDEDPARTS_H

#include "mlir/IR/Operation.h"

namespace meshc::nd {

inline constexpr llvm::StringLiteral roundedPartsAttrName = "nd.rounded_parts";

bool hasRoundedParts(mlir::Operation *op);
void setRoundedParts(mlir::Operation *op);
void removeRoundedParts(mlir::Operation *op);
/// Gives `to` the mark if `from` has it.
void copyRoundedParts(mlir::Operation *from, mlir::Operation *to);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_ROUNDEDPARTS_H
