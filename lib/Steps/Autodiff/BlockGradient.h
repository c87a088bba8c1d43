//===- BlockGradient.h - reverse mode through one block ---------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_STEPS_AUTODIFF_BLOCKGRADIENT_H
#define MESHC_LIB_STEPS_AUTODIFF_BLOCKGRADIENT_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

namespace meshc::steps {

/// A value of a block and its known gradient, from which reverse mode starts.
struct Seed {
  mlir::Value value, gradient;
};

/// A loop and the loop that computes its gradient. Until storeResiduals has run
/// on them, the body of `backward` uses values of the body of `forward`.
struct ScanPair {
  nd::ScanOp forward, backward;
};

/// The variables, which are values of the block, and all values of the block
/// that are computed from them.
llvm::DenseSet<mlir::Value> findDependent(mlir::Block &block,
                                          mlir::ValueRange variables);

/// Builds the gradients with respect to `variables`, values of `block`, at the
/// builder's insertion point, which may be in another block: the new ops use
/// values of `block`. Returns one entry per variable; null if no seed depends
/// on it. Appends the loops that it meets to `scans`, inner ones before the one
/// around them. Fails with an error on an op that cannot be differentiated.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
differentiateBlock(mlir::OpBuilder &builder, mlir::Block &block,
                   llvm::ArrayRef<Seed> seeds, mlir::ValueRange variables,
                   llvm::SmallVectorImpl<ScanPair> &scans);

} // namespace meshc::steps

#endif // MESHC_LIB_STEPS_AUTODIFF_BLOCKGRADIENT_H
