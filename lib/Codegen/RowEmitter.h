//===- RowEmitter.h - kernels whose rows are units of work ------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels of one op that works along rows of its result have in common,
/// on every target. Rows are independent, and each is a unit of work.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_ROWEMITTER_H
#define MESHC_LIB_CODEGEN_ROWEMITTER_H

#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// The rows of a kernel's result along one dim.
struct Rows {
  int64_t entries = 1; ///< local, of a row
  /// Loops over the dims that tell rows apart, in memory order.
  llvm::SmallVector<Loop> loops;
  /// Entries of the last of these loops, if neighbouring rows are neighbours in
  /// memory; else 1.
  int64_t laneExtent = 1;

  /// Of the kernel's only output along `dim`.
  static Rows of(exec::KernelOp kernel, mlir::StringAttr dim);
  /// The largest power of two that divides `laneExtent`: all vectors are whole.
  int64_t getWidestLanes() const { return laneExtent & -laneExtent; }
};

/// Emits such a kernel. A unit of work is a row, or a vector of rows.
class RowEmitter : protected LoopEmitter {
public:
  RowEmitter(const Rows &rows, KernelElements &emitter)
      : LoopEmitter(emitter), rows(rows) {}
  virtual ~RowEmitter() = default;

  int64_t getUnits() const;
  /// Code for units [begin, end) (`index` values), one after another.
  void emitUnits(mlir::Value begin, mlir::Value end);
  /// Code for one unit. `mayBeBeyond`: a number from getUnits() on does
  /// nothing.
  void emitUnit(mlir::Value number, bool mayBeBeyond);

protected:
  /// Code for the row of that index.
  virtual void emitRow(const nd::ElementIndex &row) = 0;

  Rows rows;

private:
  void emitNumber(mlir::Value number);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_ROWEMITTER_H
