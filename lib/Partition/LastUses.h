//===- LastUses.h - how long the values of a block are used -----*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PARTITION_LASTUSES_H
#define MESHC_LIB_PARTITION_LASTUSES_H

#include "lib/Partition/BlockPlanner.h"

namespace meshc::partition {

/// The values that nothing uses after an op, by the ops: what `ops` use or
/// make, which follow one another in a block. A value is used as long as those
/// that may be copied from it (CopySource).
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>
findLastUses(llvm::ArrayRef<mlir::Operation *> ops);

/// What `ops` make for others than themselves: ops that follow them in the
/// block, loops and updates included, and stacks that ops use after the loop
/// around them. Constants and the like are not in it.
llvm::SmallVector<mlir::Value>
findOutgoing(BlockPlanner &block, llvm::ArrayRef<mlir::Operation *> ops);

/// The value that the only user of `value` makes, if it is linear in it; null
/// otherwise.
mlir::Value followLinearUse(mlir::Value value);

} // namespace meshc::partition

#endif // MESHC_LIB_PARTITION_LASTUSES_H
