//===- ReluMasks.h - masks that a relu keeps for its gradient -------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_KERNELS_RELUMASKS_H
#define MESHC_LIB_KERNELS_RELUMASKS_H

#include "lib/Kernels/EpiloguePatterns.h"

namespace meshc::kernels {

/// The product that computes `value` with a relu as its epilogue. It is in the
/// same block, or in the body of another loop: `value` is then an entry of that
/// loop's stacked result. Null if there is none.
exec::ProductOp findRelu(mlir::Value value);

/// The mask of that product's relu, in the block of `value`: the product's last
/// result, or an entry of what its loop stacks. Product and loops get what they
/// lack for it. A product with a new result and a loop with a new result are
/// new ops. `matrix` is the product's result.
mlir::Value getReluMask(mlir::Value value, const ResultMatrix &matrix);

} // namespace meshc::kernels

#endif // MESHC_LIB_KERNELS_RELUMASKS_H
