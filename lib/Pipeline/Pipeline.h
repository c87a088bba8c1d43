//===- Pipeline.h - the phases of the compiler ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_PIPELINE_H
#define MESHC_LIB_PIPELINE_PIPELINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace meshc {

/// One phase of the compiler, implemented in lib/<Folder>.
struct Phase {
  llvm::StringLiteral name;    ///< as in --stop-after
  llvm::StringLiteral promise; ///< the phase's postcondition
  void (*addPasses)(mlir::OpPassManager &passes);
  /// Passes that may reject the model, by argument. A failure of any other pass
  /// or of a verifier is a defect of meshc.
  llvm::ArrayRef<llvm::StringLiteral> judges = {};
};

/// The phases between the front end and code generation, in order.
llvm::ArrayRef<Phase> getPhases();

/// Registers the dialects of all phases.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes of all phases, for mesh-opt.
void registerPasses();

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_PIPELINE_H
