//===- SortEmitter.h - the order of entries along rows ----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels that return the result of one sort op. An entry is compared by a
/// number of 64 bits, which is unique in its row: its value, and behind it its
/// index. Rows are independent.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_SORTEMITTER_H
#define MESHC_LIB_CODEGEN_SORTEMITTER_H

#include "dialects/Nd/NdInterfaces.h"
#include "lib/Codegen/LoopEmitter.h"

namespace meshc::codegen {

/// The loops of such a kernel.
struct SortShape {
  nd::SortOpInterface op;
  int64_t entries = 1; ///< of a row of the operand
  int64_t chosen = 1;  ///< of a row of the result
  /// Loops over the dims that tell rows apart, and over all entries of the
  /// operand, in the memory order of the result.
  llvm::SmallVector<Loop> rows, points;

  /// Reports an error if the kernel's body has another form.
  static llvm::FailureOr<SortShape> of(exec::KernelOp kernel);
};

/// Emits such a kernel, without lanes.
class SortEmitter : protected LoopEmitter {
public:
  SortEmitter(const SortShape &shape, KernelElements &emitter)
      : LoopEmitter(emitter), shape(shape) {}

  /// Rows, and entries of all rows.
  int64_t getRows() const { return count(shape.rows); }
  int64_t getPoints() const { return count(shape.points); }

  /// Code for rows [begin, end) (`index` values), one after another. The result
  /// is a heap of the entries that come first, whose root comes last of them;
  /// then the heap is sorted in place (heapsort, J. W. J. Williams, 1964):
  /// n log k steps for the first k of n entries.
  void emitRows(mlir::Value begin, mlir::Value end);
  /// Code for one entry: counts those of its row that come before it, and
  /// stores its index there. `mayBeBeyond`: a number from getPoints() on does
  /// nothing.
  void emitPoint(mlir::Value number, bool mayBeBeyond);

protected:
  nd::ElementIndex makeRow(llvm::ArrayRef<Loop> loops, mlir::Value number);
  mlir::Value getOrdered(mlir::Value entry);
  void storeEntry(mlir::Value slot, mlir::Value entry);
  mlir::Value isBelow(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value constant(mlir::Type type, int64_t value);
  /// `then` under the condition.
  void emitIf(mlir::Value condition, llvm::function_ref<void()> then);

  SortShape shape;
  nd::ElementIndex row; ///< of the code that is being emitted

private:
  static int64_t count(llvm::ArrayRef<Loop> loops);
  mlir::Value getKey(mlir::Value entry);
  mlir::Value orderFloat(mlir::Value element);
  mlir::Value loadEntry(mlir::Value slot);
  void emitRow();
  void emitCount();
  void sink(mlir::Value slot, mlir::Value end, mlir::Value entry);
  Values chooseChild(mlir::Value slot, mlir::Value end, mlir::Value key);
  mlir::Value isBefore(mlir::Value a, mlir::Value b);
  /// The values of one of both.
  Values emitIf(mlir::Value condition, mlir::TypeRange types,
                llvm::function_ref<Values()> then,
                llvm::function_ref<Values()> otherwise);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_SORTEMITTER_H
