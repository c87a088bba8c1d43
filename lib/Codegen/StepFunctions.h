//===- StepFunctions.h - step functions as calls of the runtime -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_STEPFUNCTIONS_H
#define MESHC_LIB_CODEGEN_HOST_STEPFUNCTIONS_H

#include "lib/Codegen/Host/AbiTypes.h"
#include "lib/Codegen/Host/HostKernel.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"

namespace meshc::codegen {

/// "gpt.mesh:14:13" of a location, however it is wrapped; empty where there is
/// no place in a file.
std::string getSourceText(mlir::Location location);

/// Writes step functions into a module that holds their kernels.
class StepFunctions {
public:
  /// `launches`: of each kernel, by name.
  StepFunctions(llvm::Module &module, const AbiTypes &types,
                ConstantTable &constants,
                const llvm::StringMap<HostLaunch> &launches);

  /// One call of the runtime for each op, in order, in an internal function of
  /// that name: void (MeshcContext *).
  llvm::Function *emit(exec::FuncOp function);
  /// Sites of the collectives so far.
  llvm::ArrayRef<llvm::Constant *> getSites() const { return sites; }

private:
  void emitLaunch(exec::LaunchOp launch);
  void emitGemm(exec::GemmOp gemm);
  void emitCollective(exec::CollectiveOp collective);
  llvm::Value *getBuffer(mlir::Value buffer);
  /// Fills the function's array number `which` with the buffers' addresses.
  llvm::Value *fillArray(unsigned which, mlir::ValueRange buffers);
  void call(llvm::StringRef name, llvm::ArrayRef<llvm::Value *> arguments);

  llvm::Module &module;
  const AbiTypes &types;
  ConstantTable &constants;
  const llvm::StringMap<HostLaunch> &launches;
  llvm::IRBuilder<> builder;
  llvm::SmallVector<llvm::Constant *> sites;
  // Of the function at hand.
  llvm::Value *context = nullptr, *arena = nullptr;
  std::array<llvm::AllocaInst *, 2> arrays = {};
  std::array<unsigned, 2> arraySizes = {};
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_STEPFUNCTIONS_H
