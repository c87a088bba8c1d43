//===- RoundEmitter.h - code for the pieces of rounds -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_DIALECTS_SPMD_OPS_ROUNDEMITTER_H
#define MESHC_DIALECTS_SPMD_OPS_ROUNDEMITTER_H

#include "dialects/Nd/Interfaces/ElementEmitter.h"
#include "meshc/CollectiveBlocks.h"

namespace meshc::spmd {

/// Emits where this rank's piece of a round lies.
class RoundEmitter {
public:
  /// A piece has `size` entries.
  RoundEmitter(MeshcRound round, int64_t size, nd::ElementEmitter &emitter)
      : round(round), size(size), emitter(emitter), builder(emitter.builder) {}

  /// The first entry that this rank sends of its block. `type`: any type whose
  /// dim the group's axes cut.
  mlir::Value emitSentLow(nd::TensorType type, llvm::StringRef dim);

  /// What this rank received, if it received anything.
  struct Received {
    mlir::Value first; ///< the entry of the operand, a global index
    /// Whether it received anything. Null if `first` lies before or behind the
    /// operand where it did not.
    mlir::Value exists;
  };
  Received emitReceived(nd::TensorType type, llvm::StringRef dim);

private:
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, int64_t b);
  mlir::Value multiply(mlir::Value a, int64_t b);
  mlir::Value emitNumber(nd::TensorType type, llvm::StringRef dim);
  mlir::Value emitLine(const RoundedLine &line, mlir::Value x);
  mlir::Value emitLow(mlir::Value sender, mlir::Value receiver);

  MeshcRound round;
  int64_t size;
  nd::ElementEmitter &emitter;
  mlir::OpBuilder &builder;
};

} // namespace meshc::spmd

#endif // MESHC_DIALECTS_SPMD_OPS_ROUNDEMITTER_H
