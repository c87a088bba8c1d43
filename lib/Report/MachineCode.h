//===- MachineCode.h - what kernels take of a GPU -------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of `meshc --report` that only programs for GPUs have.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_REPORT_MACHINECODE_H
#define MESHC_LIB_REPORT_MACHINECODE_H

#include "lib/Report/Report.h"

namespace meshc::report {

/// Resource usage of a kernel's machine code on one kind of GPU.
struct ChipUsage {
  std::string chip;         ///< sm_90
  unsigned registers = 0;   ///< of each thread
  unsigned sharedBytes = 0; ///< of each block
  unsigned spillBytes = 0;  ///< that each thread stores for want of registers
  unsigned stackBytes = 0;  ///< of each thread, spills included
};

/// One kernel of a program.
struct KernelUsage {
  std::string name;
  mlir::Location location;
  unsigned blocks = 0, threads = 0; ///< threads of each block
  std::vector<ChipUsage> chips;
};

/// Adds the kernels, in their order:
///
///     "machineCode": [{"kernel": "kernel_0", "location": "mlp.mesh:12:7",
///       "blocks": 64, "threads": 256, "chips": [{"chip": "sm_90",
///       "registers": 32, "sharedBytes": 0, "spillBytes": 0,
///       "stackBytes": 0}, …]}, …]
void addMachineCode(Json &report, llvm::ArrayRef<KernelUsage> kernels);

/// Prints "machineCode" as lines of text.
void printMachineCode(const Json &kernels, llvm::raw_ostream &out);

} // namespace meshc::report

#endif // MESHC_LIB_REPORT_MACHINECODE_H
