//===- MaskExamples.h - padding of incomplete batches -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_STATISTICS_MASKEXAMPLES_H
#define MESHC_LIB_STEPS_STATISTICS_MASKEXAMPLES_H

#include "lib/Steps/Statistics/ExampleDims.h"

namespace meshc::steps {

/// Changes a function so that padding reaches none of its reductions: a batch
/// of `count` examples, a scalar i32 of its block that is at most the size of
/// the dims `counting`, gives what it would give alone. Each op that combines
/// entries of several examples takes, in place of padding, what changes
/// nothing: 0 in sums, -inf in maxima. A mean divides by the number of real
/// entries; of no entries, it is NaN.
///
/// Returns an op for which this is impossible, such as a slice of the examples,
/// with the function's results unchanged; null otherwise. `count` may be null:
/// then the function is only searched for such an op.
mlir::Operation *maskExamples(mlir::func::FuncOp function,
                              llvm::ArrayRef<mlir::StringAttr> counting,
                              mlir::Value count);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_STATISTICS_MASKEXAMPLES_H
