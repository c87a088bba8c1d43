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

/// Whether result `result` of the op may be written over operand `operand`: of
/// one size and memory order, and every element is read only where it is
/// written; the op has the operand once.
bool canWriteOver(mlir::Operation *op, unsigned operand, unsigned result);

/// The same for outputs and inputs of a kernel's block. Orders are known to be
/// equal.
bool canWriteOver(mlir::Block &kernel, unsigned input, unsigned output,
                  exec::PlanAttr plan, nd::MeshAttr mesh);

/// A step function's order of execution beyond that of values: the op that
/// makes result `index` waits for all other readers of the argument that it
/// replaces. Empty where the result replaces none, or is it.
llvm::SmallVector<mlir::Operation *>
getReadersBefore(mlir::func::FuncOp function, unsigned index);

/// Buffers that an op of an exec.func reads and writes.
struct BufferAccess {
  llvm::SmallVector<mlir::Value> reads, writes;
  static BufferAccess of(mlir::Operation *op);
};

/// A piece of the arena: [begin, end) in bytes.
struct ArenaPiece {
  int64_t begin = 0, end = 0;

  /// Where the buffer (a result of exec.buffer) lies.
  static ArenaPiece of(mlir::Value buffer, nd::MeshAttr mesh);
  bool overlaps(const ArenaPiece &other) const {
    return begin < other.end && other.begin < end;
  }
  bool operator==(const ArenaPiece &other) const {
    return begin == other.begin && end == other.end;
  }
};

/// Whether the op does what a collective that runs forbids: it touches what is
/// received, or writes what is sent.
bool disturbs(mlir::Operation *op, exec::CollectiveOp running,
              nd::MeshAttr mesh);

} // namespace meshc::schedule

#endif // MESHC_LIB_SCHEDULE_RESIDENCE_H
