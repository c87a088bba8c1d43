//===- EpilogueMasks.h - masks of activations for their gradients -----===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_EPILOGUEMASKS_H
#define MESHC_LIB_KERNELS_EPILOGUEMASKS_H

#include "dialects/Exec/EpiloguePatterns.h"

namespace meshc::kernels {

/// The product that computes `value` by an epilogue that applies `function` and
/// may write a mask. It is in the same block, or in the body of another loop:
/// `value` is then an entry of that loop's stacked result. Null if there is
/// none.
exec::ProductOp findMaskWriter(mlir::Value value, Activation function);

/// The mask of that product, in the block of `value`: the product's last
/// result, or an entry of what its loop stacks. Adds the mask to the product
/// and the loops if they do not have it: a product or loop with a new result is
/// a new op. `matrix` is the product's result.
mlir::Value getMask(mlir::Value value, Activation function,
                    const exec::ResultMatrix &matrix);

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_EPILOGUEMASKS_H
