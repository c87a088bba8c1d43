//===- PtxTarget.h - LLVM IR to PTX ---------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_PTXTARGET_H
#define MESHC_LIB_CODEGEN_GPU_PTXTARGET_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace meshc::codegen {

/// A kind of NVIDIA GPU.
class PtxTarget {
public:
  /// `chip`: sm_ and a number that LLVM knows, 80 or higher, as sm_90. Others
  /// are errors, those of one chip alone (sm_90a) too.
  static llvm::Expected<PtxTarget> get(llvm::StringRef chip);

  /// Sets triple, data layout, and the chip on each function.
  void prepare(llvm::Module &module) const;
  /// Links what the module calls of the CUDA toolkit's libdevice.10.bc, at
  /// `path`; reads no file where it calls nothing of it. An empty path: nothing
  /// is linked.
  llvm::Error linkLibdevice(llvm::Module &module, llvm::StringRef path) const;
  /// LLVM's O3.
  void optimize(llvm::Module &module) const;
  /// The text of the PTX; changes the module. Calls of what the GPU has no code
  /// for must have been found before (findUnresolved).
  llvm::Expected<std::string> emit(llvm::Module &module) const;

private:
  std::unique_ptr<llvm::TargetMachine> machine;
};

/// A call of a function that does not exist.
struct UnresolvedCall {
  std::string kernel, function; ///< both empty: there is none
};

/// The first such call of a module, after linking: of a function without a
/// body, or of an intrinsic for which NVPTX has no code.
UnresolvedCall findUnresolved(llvm::Module &module);

/// 90 for sm_90; 0 if the name has another form.
unsigned getChipNumber(llvm::StringRef chip);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_PTXTARGET_H
