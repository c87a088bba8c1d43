//===- ClipGradients.h - a bound for the norm of all gradients ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_CLIPGRADIENTS_H
#define MESHC_LIB_STEPS_CLIPGRADIENTS_H

#include "dialects/Nd/NdInterfaces.h"

namespace meshc::steps {

/// Multiplies the gradients by min(1, bound / (norm + 1e-6)), in f32, and
/// returns the norm, a scalar f32. `gradients` may have null entries, which
/// stay; `parameters` are the names of what they are gradients of. `bound` is a
/// scalar f32. The method is that of Pascanu et al. (arXiv 1211.5063), with the
/// 1e-6 of PyTorch's clip_grad_norm_.
mlir::Value clipGradients(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::MutableArrayRef<mlir::Value> gradients,
                          llvm::ArrayRef<mlir::StringAttr> parameters,
                          mlir::Value bound);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_CLIPGRADIENTS_H
