//===- HostScatter.h - adding at computed places, on a CPU ----------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOSTSCATTER_H
#define MESHC_LIB_CODEGEN_HOST_HOSTSCATTER_H

#include "lib/Codegen/KernelLoops.h"
#include "lib/Codegen/ScatterShape.h"

namespace meshc::codegen {

/// Emits a kernel whose result is that of one scatter op. A unit of work is one
/// entry of the scattered dim: a thread zeroes its entries, walks all indices
/// in order and adds what falls to it, so that the order of sums does not
/// depend on the threads. Sums are kept in memory, in the result's type.
class HostScatter : KernelLoops {
public:
  HostScatter(const ScatterShape &shape, KernelEmitter &emitter);

  /// Code for entries [begin, end) (`index` values).
  void emit(mlir::Value begin, mlir::Value end);

private:
  void emitZeros(mlir::Value begin, mlir::Value end);
  void emitOuter(unsigned loop, nd::ElementIndex index);
  void emitUpdates(nd::ElementIndex index);
  void emitInner(unsigned loop, nd::ElementIndex index);
  void emitAdd(const nd::ElementIndex &index);

  ScatterShape shape;
  bool hasLanes;
  mlir::Value begin, end; ///< entries of this piece
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOSTSCATTER_H
