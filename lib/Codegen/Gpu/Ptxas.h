//===- Ptxas.h - PTX to machine code --------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_PTXAS_H
#define MESHC_LIB_CODEGEN_GPU_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace meshc::codegen {

/// Resource usage of one kernel, as reported by the assembler.
struct KernelUsage {
  std::string kernel;
  unsigned registers = 0;   ///< of each thread
  unsigned sharedBytes = 0; ///< of each block
  unsigned spillBytes = 0;  ///< stored to local memory for want of registers
  unsigned stackBytes = 0;  ///< of local memory, spills included
};

struct Assembled {
  std::string cubin; ///< bytes
  std::vector<KernelUsage> usage;
};

/// Assembles PTX for the chip by the program `ptxas` at `path`, of the CUDA
/// toolkit; a name without a folder is searched in PATH. Returns an error if
/// the program is missing or fails.
llvm::Expected<Assembled> runPtxas(llvm::StringRef path, llvm::StringRef ptx,
                                   llvm::StringRef chip);

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_PTXAS_H
