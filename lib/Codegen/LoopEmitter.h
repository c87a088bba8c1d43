//===- LoopEmitter.h - loops over scalars and vectors ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_LOOPEMITTER_H
#define MESHC_LIB_CODEGEN_LOOPEMITTER_H

#include "lib/Codegen/KernelElements.h"
#include "lib/Codegen/LoopNest.h"

namespace meshc::codegen {

/// Emits single loops at an emitter's insertion point. Elements that a loop's
/// body computes are forgotten after the loop.
class LoopEmitter {
public:
  using Values = llvm::SmallVector<mlir::Value, 8>;
  /// The body of a loop: takes the induction variable and the carried values
  /// and returns the next carried values.
  using Body =
      llvm::function_ref<Values(mlir::Value, llvm::ArrayRef<mlir::Value>)>;
  /// Code for vectors at the bases, or for one scalar.
  using LaneBody = llvm::function_ref<Values(
      llvm::ArrayRef<mlir::Value> bases, bool isVector,
      llvm::ArrayRef<mlir::Value> carried)>;

  explicit LoopEmitter(KernelElements &emitter)
      : emitter(emitter), builder(emitter.builder), loc(emitter.loc) {}

  /// A loop over [low, high); returns the values carried out of it.
  Values emitFor(mlir::Value low, mlir::Value high, int64_t step,
                 llvm::ArrayRef<mlir::Value> carried, Body body);
  /// Emits [low, high) of a loop of `size` entries in blocks of `unroll`
  /// vectors, then single vectors, then scalars. `low` is a multiple of a
  /// block; `high` is a multiple of a block or `size`.
  Values emitLanes(mlir::Value low, mlir::Value high, int64_t size,
                   int64_t unroll, llvm::ArrayRef<mlir::Value> carried,
                   LaneBody body);
  /// Sets the index of the loop's dims.
  void setIndex(nd::ElementIndex &index, const Loop &loop, mlir::Value base,
                bool hasLanes);
  /// Splits `number` into the loops' indices, the last one fastest. It counts
  /// vectors if the lanes run along the last loop.
  void setIndices(nd::ElementIndex &index, llvm::ArrayRef<Loop> loops,
                  mlir::Value number, bool hasLanes);
  /// Moves the insertion point to code for where the only output does not lie
  /// in the buffer of the input.
  void enterIfElsewhere(unsigned input);
  /// Loops over those entries of the tensor that exist on the rank, along the
  /// dims of `loops`, and calls `body` with their indices.
  void emitEntries(llvm::ArrayRef<Loop> loops, nd::TensorType tensor,
                   const nd::ElementIndex &index,
                   llvm::function_ref<void(const nd::ElementIndex &)> body);
  /// Returns `number` modulo `size` and divides `number` by `size`.
  mlir::Value takeOff(mlir::Value &number, int64_t size);

protected:
  KernelElements &emitter;
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_LOOPEMITTER_H
