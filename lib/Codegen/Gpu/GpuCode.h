//===- GpuCode.h - code for NVIDIA GPUs -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The code of a program's kernels on GPUs: an exec module's kernels become
/// images, to be kept in the program's table.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUCODE_H
#define MESHC_LIB_CODEGEN_GPU_GPUCODE_H

#include "lib/Codegen/Gpu/GpuKernel.h"
#include "lib/Codegen/Gpu/Ptxas.h"

namespace meshc::codegen {

struct GpuCodeOptions {
  GpuOptions mapping;
  /// What to make code for, as sm_90; at least one (checkChips).
  std::vector<std::string> chips = {"sm_90"};
  std::string libdevice; ///< path of libdevice.10.bc; empty: there is none
};

struct GpuImage {
  MeshcImageKind kind;
  unsigned chip; ///< 90: sm_90
  std::string bytes;
  std::vector<KernelUsage> usage; ///< of machine code
};

/// An error where there are no chips, or one is not as sm_90, not known to
/// LLVM, or too old for what kernels are made of.
llvm::Error checkChips(llvm::ArrayRef<std::string> chips);

/// The kernels of one program.
struct GpuCode {
  KernelLaunches launches;
  /// The PTX last, for the oldest of the chips and all newer ones, with a zero
  /// byte at its end. Empty where there are no kernels.
  std::vector<GpuImage> images;

  /// Generates PTX for the kernels of an exec module, which stays as it is.
  /// Errors are reported at its ops; sets `fault` where they are the program's
  /// or the toolkit's.
  static llvm::FailureOr<GpuCode> generate(mlir::ModuleOp module,
                                           const GpuCodeOptions &options,
                                           GpuFault *fault = nullptr);
  /// Adds machine code for each of the chips, in their order, made by the
  /// ptxas at that path (runPtxas).
  llvm::Error assemble(llvm::StringRef ptxas,
                       llvm::ArrayRef<std::string> chips);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUCODE_H
