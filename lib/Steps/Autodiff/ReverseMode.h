//===- ReverseMode.h - gradients of one value -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_REVERSEMODE_H
#define MESHC_LIB_STEPS_AUTODIFF_REVERSEMODE_H

#include "mlir/IR/Builders.h"

namespace meshc::steps {

/// Builds the gradients of `factor` times the scalar `loss` with respect to
/// `variables` before the terminator of its block. The variables and the
/// factor, a scalar f32, are in the same block. Returns one entry per variable;
/// null if the loss does not depend on it. Reverse mode: every op between a
/// variable and the loss is visited once, last first, through
/// NamedOpInterface::buildGradient; the gradient of a loop is a loop in the
/// opposite direction (ScanGradient.h). Loops may be replaced by ones with more
/// stacked results. Fails with an error on an op that cannot be differentiated.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::OpBuilder &builder, mlir::Value loss,
               mlir::ValueRange variables, mlir::Value factor);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_REVERSEMODE_H
