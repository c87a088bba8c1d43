//===- PrefixEmitter.h - sums along rows, entry by entry ------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that return the result of one prefix op, on every target: each row
/// is walked once, and its sum so far is stored at each entry. Rows are
/// independent.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_PREFIXEMITTER_H
#define MESHC_LIB_CODEGEN_PREFIXEMITTER_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// The kernel's prefix op, or null.
nd::PrefixOpInterface getPrefix(exec::KernelOp kernel);

/// The loops of such a kernel.
struct PrefixShape {
  nd::PrefixOpInterface op;
  int64_t entries = 1; ///< of a row
  /// Loops over the dims that tell rows apart, in memory order.
  llvm::SmallVector<Loop> rows;
  /// Entries of the last of these loops, if the results of neighbouring rows
  /// are neighbours in memory; else 1.
  int64_t laneExtent = 1;

  /// The largest power of two that divides `laneExtent`: all vectors are whole.
  int64_t getWidestLanes() const { return laneExtent & -laneExtent; }

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<PrefixShape> of(exec::KernelOp kernel);
};

/// Emits such a kernel. A unit of work is a row, or a vector of rows.
class PrefixEmitter : LoopEmitter {
public:
  PrefixEmitter(const PrefixShape &shape, KernelElements &emitter)
      : LoopEmitter(emitter), shape(shape) {}

  int64_t getUnits() const;
  /// Code for units [begin, end) (`index` values), one after another.
  void emitUnits(mlir::Value begin, mlir::Value end);
  /// Code for one unit. `mayBeBeyond`: a number from getUnits() on does
  /// nothing.
  void emitUnit(mlir::Value number, bool mayBeBeyond);

private:
  void emitRow(mlir::Value number);
  Values emitEntries(const nd::ElementIndex &row, mlir::Value first,
                     int64_t count, mlir::Value sum);

  PrefixShape shape;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_PREFIXEMITTER_H
