//===- BuildOp.h - one op on blocks -----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_BUILDOP_H
#define MESHC_LIB_PARTITION_BUILDOP_H

#include "lib/Partition/FactorChoice.h"

namespace meshc::partition {

/// The factors of the op's rule, with its alternatives.
size_t countFactors(mlir::Operation *op);

/// Whether ranks exchange entries of their blocks for the op, where these axes
/// cut its factors (FactorChoice::axesOfFactor).
bool isExchanged(mlir::Operation &op, llvm::ArrayRef<spmd::AxisList> axes,
                 nd::MeshAttr mesh);

/// The op on blocks, with what it exchanges along its factors. The values have
/// the types that the choice says for its results, or are these values in f32.
/// Empty if the op cannot be cut so, as the choice of findFactorChoices can.
llvm::SmallVector<mlir::Value> buildOp(mlir::Operation &op,
                                       const FactorChoice &choice,
                                       llvm::ArrayRef<mlir::Value> blocks,
                                       mlir::OpBuilder &builder,
                                       nd::MeshAttr mesh);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_BUILDOP_H
