//===- Residence.h - where results stay, and what may share a buffer ------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_SCHEDULE_RESIDENCE_H
#define MESHC_LIB_SCHEDULE_RESIDENCE_H

#include "dialects/Exec/Exec.h"
#include "dialects/Nd/Ops/LoopOps.h"
#include "dialects/Spmd/SpmdOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace meshc::schedule {

/// The argument of the block that its terminator's operand `index` replaces: in
/// the body of a loop the carried value's argument, in a step function that of
/// the same name and role. An entry of a stacked result replaces that of a
/// stacked operand if the result replaces the operand in the block around the
/// loop, and the loop has that operand once. Null for metrics, results of
/// initialize and other stacked results.
mlir::BlockArgument getReplacedArgument(mlir::Block &block, unsigned index);

/// Whether result `result` of the op may overwrite operand `operand`. Both need
/// the same size and memory order, every element must be read only at the point
/// that writes it, and the op must use the operand once. A loop overwrites the
/// initial values of what it carries, and the entries that its results replace.
bool canWriteOver(mlir::Operation *op, unsigned operand, unsigned result);

/// Whether the fusion is the update of parameters or of their state: each
/// result, which nothing else uses, replaces an operand at the end of the
/// block, and nothing is reduced.
bool isUpdate(exec::FusionOp fusion);

/// Whether the collective of a loop's body may begin in the iteration before
/// its own: it sends nothing but entries of stacked operands, which exist
/// before the loop, and what it receives stays in the body.
bool canBeginAhead(spmd::CollectiveOpInterface collective);

/// Whether the collective of a loop's body may go on into the next iteration,
/// as far as its results are concerned: all of them are entries of stacked
/// results.
bool canGoOn(spmd::CollectiveOpInterface collective);

/// The initial values of what the op carries, if it is a loop: it takes over
/// their memory.
mlir::ValueRange getTakenOver(mlir::Operation *op);

/// Order of execution beyond data dependences: the ops of a block that must run
/// before the op that computes the terminator's operand `index`. They are all
/// other readers of the argument that the operand replaces. Empty if it
/// replaces no argument or is the argument.
llvm::SmallVector<mlir::Operation *> getReadersBefore(mlir::Block &block,
                                                      unsigned index);
/// Likewise before a loop: the other readers of a value that it takes over.
llvm::SmallVector<mlir::Operation *> getReadersBefore(nd::ScanOp scan,
                                                      mlir::Value takenOver);

/// The op of the block that overwrites a value: the one that computes what
/// replaces an argument, or the loop that takes over an initial value.
llvm::DenseMap<mlir::Value, mlir::Operation *>
findOverwriting(mlir::Block &block);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_RESIDENCE_H
