//===- StepFunctions.h - step functions as calls of the runtime -----------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_STEPFUNCTIONS_H
#define MESHC_LIB_CODEGEN_STEPFUNCTIONS_H

#include "lib/Codegen/AbiTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"

namespace meshc::codegen {

/// "gpt.mesh:14:13" for a location, however it is wrapped; empty if it has no
/// place in a file.
std::string getSourceText(mlir::Location location);

/// How a kernel is launched: the target's fields of MeshcKernel.
struct KernelLaunch {
  int64_t extent = 0, grain = 0;                     ///< on the host
  uint32_t blocks = 0, threads = 0, sharedBytes = 0; ///< on a device
};

/// The kernels of a program, in program order.
using KernelLaunches =
    llvm::SmallVector<std::pair<exec::KernelOp, KernelLaunch>, 0>;

/// Writes step functions into a module. Kernels whose functions are in the
/// module, by name, run on the host.
class StepFunctions : exec::CallEmitter {
public:
  /// Writes the table of kernels. `kernels` holds each kernel with its launch,
  /// in program order.
  StepFunctions(
      llvm::Module &module, const AbiTypes &types, ConstantTable &constants,
      llvm::ArrayRef<std::pair<exec::KernelOp, KernelLaunch>> kernels);

  /// Emits an internal function of that name, void (MeshcContext *), with the
  /// calls of its ops, in order.
  llvm::Function *emit(exec::FuncOp function);
  /// Sites of the collectives so far.
  llvm::ArrayRef<llvm::Constant *> getSites() const { return sites; }
  /// Address of the array of MeshcKernel; null where there are none.
  llvm::Constant *getKernels() const { return kernelTable; }

private:
  void call(llvm::StringRef function,
            llvm::ArrayRef<llvm::Value *> arguments) override;
  void loop(int64_t size, bool backwards,
            llvm::function_ref<void()> body) override;
  void inIteration(int64_t iteration, llvm::function_ref<void()> body) override;
  void inNextIteration(llvm::function_ref<void()> body) override;
  void endUnless(mlir::Value condition, const MeshcLoop &loop) override;
  llvm::Value *getAddress(mlir::Value buffer) override;
  llvm::Value *getNull() override;
  llvm::Value *fillArray(unsigned number, mlir::ValueRange buffers) override;
  llvm::Value *getKernel(llvm::StringRef symbol) override;
  llvm::Value *addDescriptor(const MeshcGemm &gemm, exec::BufferType buffer,
                             llvm::StringRef cut, nd::MeshAttr mesh) override;
  llvm::Value *addDescriptor(MeshcEpilogueKind kind,
                             llvm::StringRef kernel) override;
  llvm::Value *addDescriptor(const MeshcCollective &collective,
                             mlir::Location location,
                             llvm::StringRef description) override;
  void setBegun(mlir::Value token, llvm::Value *descriptor) override {
    begun[token] = descriptor;
  }
  llvm::Value *getBegun(mlir::Value token) override {
    return begun.lookup(token);
  }
  llvm::Constant *makePermutation(const MeshcPermutation *permutation);
  llvm::BasicBlock *addBlock();
  llvm::Constant *getKernelAddress(llvm::StringRef symbol);

  llvm::Module &module;
  const AbiTypes &types;
  ConstantTable &constants;
  llvm::Constant *kernelTable = nullptr;
  llvm::StringMap<unsigned> kernelNumbers;
  llvm::IRBuilder<> builder;
  llvm::SmallVector<llvm::Constant *> sites;
  // State of the current function.
  llvm::Value *context = nullptr, *arena = nullptr;
  struct Loop {
    llvm::Value *last; ///< number of the last iteration
    int64_t direction;
    llvm::BasicBlock *after; ///< where the function goes on
  };
  llvm::SmallVector<Loop> loops;                    ///< the outermost first
  llvm::SmallVector<llvm::Value *> iterations;      ///< likewise
  llvm::DenseMap<mlir::Value, llvm::Value *> begun; ///< by token
  std::array<llvm::AllocaInst *, 2> arrays = {};
  std::array<unsigned, 2> arraySizes = {};
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_STEPFUNCTIONS_H
