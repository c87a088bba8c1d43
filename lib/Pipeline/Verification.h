//===- Verification.h - what --verify does --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// `meshc --verify`: a step with `accumulate` against one of the whole batch,
/// and the partitioned program against the program on one device, in the
/// interpreter; then the compiled program against the interpreter.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_VERIFICATION_H
#define MESHC_LIB_PIPELINE_VERIFICATION_H

#include "lib/Pipeline/Compile.h"
#include "lib/Reference/CompareProgram.h"
#include "mlir/IR/OwningOpRef.h"

namespace meshc {

/// Keeps copies of the program while the phases go on. `options` outlives it.
class Verification {
public:
  explicit Verification(const CompileOptions &options) : options(options) {
    compare.seed = options.verifySeed.value_or(0);
  }

  /// The program before the phase `steps`: its step functions, without
  /// simplification, are what a compiled program has to compute. Training steps
  /// are without loops, too, unless means of batches depend on the loops.
  /// `wholeBatch` is the same model with `accumulate 1`; null if it has no
  /// `accumulate`.
  ExitCode keepModel(mlir::ModuleOp model, mlir::ModuleOp wholeBatch);
  /// The program after the phase `layout`: of primitive ops already, whose
  /// constants are those of the partitioned program to the bit.
  void keepWhole(mlir::ModuleOp program);

  /// Runs every function once on virtual ranks and on one device and prints
  /// the largest difference of each result. To be called after the phase
  /// `collectives`. Mismatch if they differ, Memory if the values do not fit
  /// into memory.
  ExitCode comparePartitioned(mlir::ModuleOp program);

  /// Links the object file's bytes into a temporary program, runs it, and
  /// prints how its results differ from the interpreter's. Mismatch where
  /// rounding does not explain it.
  ExitCode compareCompiled(llvm::ArrayRef<char> object);

private:
  ExitCode checkMemory(mlir::ModuleOp sequential, mlir::ModuleOp program,
                       int64_t ranks);
  void keepAccumulated(mlir::ModuleOp looped, mlir::ModuleOp wholeBatch);
  ExitCode compareAccumulated();
  ExitCode print(llvm::ArrayRef<reference::OutputDifference> differences,
                 llvm::StringRef compared, llvm::StringRef reference);
  std::string countRanks(llvm::StringRef what) const;
  ExitCode print(llvm::ArrayRef<reference::ProgramDifference> differences);

  const CompileOptions &options;
  reference::CompareOptions compare;
  mlir::OwningOpRef<mlir::ModuleOp> steps, whole;
  /// The training step with `accumulate`, and that of the whole batch; null if
  /// they are not to be compared.
  mlir::OwningOpRef<mlir::ModuleOp> accumulated, wholeStep;
  int64_t microBatches = 1;
  nd::MeshAttr mesh;
  reference::ShardedTypes types; ///< of the training step's results
  bool hasLoops = false;         ///< the model, not `steps`
};

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_VERIFICATION_H
