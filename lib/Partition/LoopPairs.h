//===- LoopPairs.h - loops before and after the phase -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LOOPPAIRS_H
#define MESHC_LIB_PARTITION_LOOPPAIRS_H

#include "dialects/Nd/Ops/LoopOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::partition {

/// A loop of a program before the phase partition, and what the phase has made
/// of it. Its results come first; copies that it keeps for later loops follow.
struct LoopPair {
  nd::ScanOp before, after;
};

/// All loops, in the order of the program; none if `partitioned` was made from
/// another program.
llvm::SmallVector<LoopPair> findLoopPairs(mlir::ModuleOp layout,
                                          mlir::ModuleOp partitioned);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LOOPPAIRS_H
