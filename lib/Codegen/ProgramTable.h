//===- ProgramTable.h - the descriptor of a compiled program --------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_PROGRAMTABLE_H
#define MESHC_LIB_CODEGEN_PROGRAMTABLE_H

#include "dialects/Nd/StepNames.h"
#include "lib/Codegen/AbiTypes.h"
#include <array>

namespace meshc::codegen {

/// Contents of the program's table besides tensors, mesh and arena.
struct ProgramParts {
  llvm::StringRef name, manifest;
  llvm::StringRef features; ///< of the host's code, as MeshcProgram::features
  llvm::ArrayRef<llvm::Constant *> sites;
  MeshcTarget target = MESHC_HOST;
  llvm::Constant *kernels = nullptr; ///< address of the array of MeshcKernel
  size_t kernelCount = 0;
  llvm::ArrayRef<llvm::Constant *> images; ///< each a MeshcImage
  /// By nd::Step; null if the program has no such function. Step::Initialize
  /// and Step::Eval are always there.
  std::array<llvm::Function *, std::size(nd::allSteps)> steps = {};
  int64_t positions = 0;        ///< of a generated text
  llvm::StringRef wholeBatches; ///< as MeshcProgram::wholeBatches
};

/// Defines `meshc_program` (RuntimeAbi.h) in `target` from an exec module.
/// Reports what the table cannot represent.
llvm::LogicalResult defineProgram(mlir::ModuleOp module,
                                  const ProgramParts &parts,
                                  llvm::Module &target, const AbiTypes &types,
                                  ConstantTable &constants);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_PROGRAMTABLE_H
