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
class ModuleOp;
class OpPassManager;
} // namespace mlir

namespace meshc {

class Compilation;
struct CompileOptions;
enum class ExitCode;

/// One phase of the compiler, implemented in lib/<Folder>.
struct Phase {
  llvm::StringLiteral name;    ///< as in --stop-after
  llvm::StringLiteral promise; ///< the phase's postcondition
  /// Runs the phase.
  ExitCode (Compilation::*run)(const Phase &phase);
  /// The passes of a phase that runs passes on the module; otherwise null.
  void (*addPasses)(mlir::OpPassManager &passes,
                    const CompileOptions &options) = nullptr;
  /// Passes that may reject the model, by argument. A failure of any other pass
  /// or of a verifier is a defect of meshc.
  llvm::ArrayRef<llvm::StringLiteral> judges = {};
  /// Adds the last of these passes, which checks the promise; null for a phase
  /// without one. Dumps that were edited are checked with it.
  void (*addVerifier)(mlir::OpPassManager &passes) = nullptr;
  /// Tells the passes, by attributes of the module, what depends on the target
  /// or on options that a dump keeps; null for a phase for which nothing does.
  void (*describeOptions)(mlir::ModuleOp program,
                          const CompileOptions &options) = nullptr;
  /// What --verify does after the phase; null: nothing.
  ExitCode (Compilation::*verify)() = nullptr;
  /// What --shapes does after the phase; null: nothing.
  ExitCode (Compilation::*listShapes)() = nullptr;
  /// What --explain does after the phase; null: nothing.
  ExitCode (Compilation::*explain)() = nullptr;
};

/// All phases in order, from the model's text to the executable.
llvm::ArrayRef<Phase> getPhases();

/// The number of a phase in getPhases(); the number of phases if there is none
/// of that name.
size_t getPhaseNumber(llvm::StringRef name);

/// Registers the dialects of all phases.
void registerDialects(mlir::DialectRegistry &registry);

/// Registers the passes of all phases, for mesh-opt.
void registerPasses();

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_PIPELINE_H
