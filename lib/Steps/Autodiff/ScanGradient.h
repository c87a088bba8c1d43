//===- ScanGradient.h - the gradient of a loop ------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_SCANGRADIENT_H
#define MESHC_LIB_STEPS_AUTODIFF_SCANGRADIENT_H

#include "lib/Steps/Autodiff/BlockGradient.h"
#include "llvm/ADT/BitVector.h"

namespace meshc::steps {

/// Builds the gradient of a loop: a loop in the opposite direction.
///
/// - It carries the gradients of carried values, from that of the result to
///   that of the initial value. A carried value has none if it does not depend
///   on a variable, is an integer, or has no influence on what has a gradient.
/// - The gradients of stacked results are stacked operands, those of stacked
///   operands are stacked results.
/// - The gradients of whole operands are sums over the iterations: carried,
/// zero
///   at first. The last op on them adds the gradient of one iteration.
///
/// `resultGrads` has one entry per result, null without influence. `depends`
/// says which operands depend on a variable; only these get a gradient in
/// `operandGrads`, which is all null on entry. Appends the loops to `scans` as
/// differentiateBlock does. Fails with an error on an op of the body that
/// cannot be differentiated.
llvm::LogicalResult
buildScanGradient(mlir::OpBuilder &builder, nd::ScanOp scan,
                  llvm::ArrayRef<mlir::Value> resultGrads,
                  const llvm::BitVector &depends,
                  llvm::SmallVectorImpl<mlir::Value> &operandGrads,
                  llvm::SmallVectorImpl<ScanPair> &scans);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_SCANGRADIENT_H
