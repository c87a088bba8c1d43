//===- GpuCode.h - code for NVIDIA GPUs -----------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GPU code generation: the kernels of an exec module become images in the
/// program's table.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPUCODE_H
#define MESHC_LIB_CODEGEN_GPU_GPUCODE_H

#include "lib/Codegen/Gpu/GpuKernel.h"
#include "lib/Codegen/Gpu/Ptxas.h"

namespace meshc::codegen {

struct GpuCodeOptions {
  GpuOptions mapping;
  /// The chips to generate code for, such as sm_90; at least one (checkChips).
  std::vector<std::string> chips = {"sm_90"};
  std::string libdevice; ///< path of libdevice.10.bc; empty if absent
};

struct GpuImage {
  MeshcImageKind kind;
  unsigned chip; ///< 90: sm_90
  std::string bytes;
  std::vector<KernelUsage> usage; ///< of machine code
};

/// Returns an error if there are no chips, or if a name does not have the form
/// sm_90, is unknown to LLVM, or is too old for the instructions of kernels.
llvm::Error checkChips(llvm::ArrayRef<std::string> chips);

/// The kernels of one program.
struct GpuCode {
  KernelLaunches launches;
  /// The last image is the PTX for the oldest chip and all newer ones, with a
  /// terminating zero byte. Empty if there are no kernels.
  std::vector<GpuImage> images;

  /// Generates PTX for the kernels of an exec module and leaves it unchanged.
  /// Errors are reported at its ops; sets `fault` if the program or the toolkit
  /// causes them.
  static llvm::FailureOr<GpuCode> generate(mlir::ModuleOp module,
                                           const GpuCodeOptions &options,
                                           GpuFault *fault = nullptr);
  /// Adds machine code for each of the chips, in order, with the ptxas at that
  /// path (runPtxas).
  llvm::Error assemble(llvm::StringRef ptxas,
                       llvm::ArrayRef<std::string> chips);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPUCODE_H
