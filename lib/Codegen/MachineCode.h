//===- MachineCode.h - LLVM IR to code of a target ------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_MACHINECODE_H
#define MESHC_LIB_CODEGEN_MACHINECODE_H

#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Support/Error.h"
#include "llvm/Target/TargetMachine.h"

namespace meshc::codegen {

/// Runs LLVM's pipeline of this level with the target machine's cost model.
void optimize(llvm::Module &module, llvm::TargetMachine &machine,
              llvm::OptimizationLevel level = llvm::OptimizationLevel::O3);

/// Writes an object file or assembly; changes the module. Fails if the target
/// cannot write such a file.
llvm::Error emitFile(llvm::Module &module, llvm::TargetMachine &machine,
                     llvm::CodeGenFileType type,
                     llvm::SmallVectorImpl<char> &output);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_MACHINECODE_H
