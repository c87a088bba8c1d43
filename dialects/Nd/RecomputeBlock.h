//===- RecomputeBlock.h - what gradients compute again ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Accessors of `nd.recompute` (NdDialect.td), an attribute of ops in the body
/// of a loop: the number of the block `recompute { … }` of the text that has
/// the op. The gradient of the loop computes the op's results again from the
/// values that ops of the block take from outside of it. Set by the front end,
/// removed by the pass meshc-choose-residuals.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_ND_RECOMPUTEBLOCK_H
#define MESHC_DIALECTS_ND_RECOMPUTEBLOCK_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace meshc::nd {

inline constexpr llvm::StringLiteral recomputeAttrName = "nd.recompute";

/// The number of the block, at least 0; nothing if the op is in none.
std::optional<int64_t> getRecomputeBlock(mlir::Operation *op);
void setRecomputeBlock(mlir::Operation *op, int64_t number);
void removeRecomputeBlock(mlir::Operation *op);

} // namespace meshc::nd

#endif // MESHC_DIALECTS_ND_RECOMPUTEBLOCK_H
