//===- EmitLoop.h - loops over a dim ----------------------------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_FRONTEND_EMITLOOP_H
#define MESHC_FRONTEND_EMITLOOP_H

#include "lib/Frontend/OpEmitter.h"

namespace meshc::frontend {

class Emitter;

/// Emits loops, with or without a condition, and blocks of them that gradients
/// compute again.
class LoopEmitter {
public:
  explicit LoopEmitter(Emitter &emitter) : emitter(emitter) {}

  static constexpr unsigned maxLoopDepth = 16; ///< [L4.5]

  /// A loop at the current place. [L4.6]
  void emit(const syntax::Statement &statement);
  /// The statements of a block `recompute { … }`. [L4.11]
  void emitRecompute(const syntax::Statement &statement);
  /// Drops what no value of a finished model, or of the settings of a training,
  /// uses of loops. [L4.7]
  void finish();

private:
  /// The name of each result of a loop and the value that the body yields for
  /// it; null after an error.
  using LoopResults = llvm::SmallVector<std::pair<syntax::Name, mlir::Value>>;

  // EmitLoop.cpp
  nd::DimAttr checkLoop(const syntax::Statement &statement);
  void carryValues(Loop &loop);
  mlir::Value findNext(const Loop &loop, unsigned index);
  LoopResults emitYield(Loop &loop, mlir::Value condition);
  void emitScan(Loop &loop, const LoopResults &results);

  // EmitCondition.cpp
  void carryCondition(Loop &loop);
  mlir::Value emitCondition(const Loop &loop);
  mlir::Value carryNumber(Loop &loop);
  mlir::Value maskEntries(const Loop &loop, mlir::Value last,
                          mlir::Value stacked);
  void dropUnusedMasks();

  Emitter &emitter;
  unsigned recomputeCount = 0; ///< blocks `recompute { … }`
  /// What sets the entries of iterations to 0 that did not run. [L4.16]
  llvm::SmallVector<mlir::Operation *> masks;
};

/// Calls `visit` with each assignment of the statements, nested loops included.
void visitAssigned(
    llvm::ArrayRef<syntax::Statement> statements,
    llvm::function_ref<void(const syntax::Name &, bool isParam)> visit);

} // namespace meshc::frontend

#endif // MESHC_FRONTEND_EMITLOOP_H
