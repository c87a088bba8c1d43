//===- HostScatterEmitter.h - adding at computed places, on a CPU
//----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTSCATTEREMITTER_H
#define MESHC_LIB_CODEGEN_HOST_HOSTSCATTEREMITTER_H

#include "lib/Codegen/LoopEmitter.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits a kernel that returns the result of one scatter op. A unit of work is
/// one entry of the scattered dim: a thread takes its entries from the table
/// (zeros without one), walks all indices in order and adds the updates of its
/// entries, so that the order of sums does not depend on the threads. A kernel
/// whose result lies where its table does touches the entries that the indices
/// give alone. Sums have the type in which elements are computed. They are kept
/// in the result's memory if it has that type, otherwise on the stack, for as
/// many entries at a time as fit.
class HostScatterEmitter : LoopEmitter {
public:
  /// Emits shared values at the top of the function.
  HostScatterEmitter(const ScatterShape &shape, KernelElements &emitter);

  /// Code for entries [begin, end) (`index` values).
  void emit(mlir::Value begin, mlir::Value end);

private:
  using IndexBody = llvm::function_ref<void(const nd::ElementIndex &)>;
  /// Code for elements of an update, whose entry (by number) is among those of
  /// a piece (by number, from its first).
  using UpdateBody = llvm::function_ref<void(
      nd::ElementIndex, mlir::Value entry, mlir::Value fromFirst)>;

  void makeStrip();
  void emitStrips(mlir::Value begin, mlir::Value end,
                  const nd::ElementIndex &index);
  void emitZeros(mlir::Value begin, mlir::Value end);
  void emitTable(mlir::Value begin, mlir::Value end);
  void clear(mlir::Value address, mlir::Value count, int64_t bytes);
  void emitUpdates(const nd::ElementIndex &index, mlir::Value begin,
                   mlir::Value end, UpdateBody body);
  void emitAdd(nd::ElementIndex index, mlir::Value entry);
  void emitStore(nd::ElementIndex index, mlir::Value entry,
                 mlir::Value fromFirst);
  /// Loops around `body`; `hasLanes`: the last one in vectors.
  void emitLoops(llvm::ArrayRef<Loop> loops, const nd::ElementIndex &index,
                 bool hasLanes, IndexBody body);

  ScatterShape shape;
  BufferView sums;
  int64_t stripEntries = 0; ///< that fit on the stack; 0: sums are the result
  /// The outermost loops, and those over an update's elements that are summed
  /// on the stack at once.
  llvm::SmallVector<Loop> around, within;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTSCATTEREMITTER_H
