//===- KernelLoops.h - loops over scalars and vectors ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_KERNELLOOPS_H
#define MESHC_LIB_CODEGEN_KERNELLOOPS_H

#include "lib/Codegen/KernelEmitter.h"
#include "lib/Codegen/KernelShape.h"

namespace meshc::codegen {

/// Emits single loops at an emitter's builder. Elements that are computed in a
/// loop's body are forgotten after it.
class KernelLoops {
public:
  using Values = llvm::SmallVector<mlir::Value, 8>;
  /// The body of a loop: takes the induction variable and the carried values,
  /// gives the next carried values.
  using Body =
      llvm::function_ref<Values(mlir::Value, llvm::ArrayRef<mlir::Value>)>;
  /// Code for vectors at the bases, or for one scalar.
  using LaneBody = llvm::function_ref<Values(
      llvm::ArrayRef<mlir::Value> bases, bool isVector,
      llvm::ArrayRef<mlir::Value> carried)>;

  explicit KernelLoops(KernelEmitter &emitter)
      : emitter(emitter), builder(emitter.builder), loc(emitter.loc) {}

  /// A loop over [low, high); gives the values carried out of it.
  Values emitFor(mlir::Value low, mlir::Value high, int64_t step,
                 llvm::ArrayRef<mlir::Value> carried, Body body);
  /// [low, high) of a loop of `size` entries by blocks of `unroll` vectors,
  /// single vectors, scalars. `low` is a multiple of a block, `high` is too or
  /// is `size`.
  Values emitLanes(mlir::Value low, mlir::Value high, int64_t size,
                   int64_t unroll, llvm::ArrayRef<mlir::Value> carried,
                   LaneBody body);
  /// Puts the index of the loop's dims.
  void setIndex(nd::ElementIndex &index, const Loop &loop, mlir::Value base,
                bool hasLanes);
  /// Takes `number` apart into the loops' indices, the last one fastest; it
  /// counts vectors where the lanes run along the last loop.
  void setIndices(nd::ElementIndex &index, llvm::ArrayRef<Loop> loops,
                  mlir::Value number, bool hasLanes);
  /// The rest of `number` divided by `size`; leaves the quotient.
  mlir::Value takeOff(mlir::Value &number, int64_t size);

protected:
  KernelEmitter &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_KERNELLOOPS_H
