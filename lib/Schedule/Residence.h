//===- Residence.h - where results stay, and what may share a buffer ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_RESIDENCE_H
#define MESHC_LIB_SCHEDULE_RESIDENCE_H

#include "dialects/Exec/Exec.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::schedule {

/// The argument that result `index` of a step function replaces: that of the
/// same name and role; null for metrics and results of initialize.
mlir::BlockArgument getReplacedArgument(mlir::func::FuncOp function,
                                        unsigned index);

/// Whether result `result` of the op may overwrite operand `operand`. Both need
/// the same size and memory order, every element must be read only at the point
/// that writes it, and the op must use the operand once.
bool canWriteOver(mlir::Operation *op, unsigned operand, unsigned result);

/// Execution order of a step function beyond its data dependences: the op that
/// computes result `index` must wait for all other readers of the argument that
/// the result replaces. Empty if it replaces no argument or is the argument.
llvm::SmallVector<mlir::Operation *>
getReadersBefore(mlir::func::FuncOp function, unsigned index);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_RESIDENCE_H
