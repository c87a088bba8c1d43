//===- Gpu.h - code for NVIDIA GPUs ---------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The codegen phase for the kernels of a program on GPUs: an exec module's
/// kernels become images, to be kept in the program's table.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_GPU_GPU_H
#define MESHC_LIB_CODEGEN_GPU_GPU_H

#include "lib/Codegen/Gpu/GpuKernel.h"
#include "lib/Codegen/Gpu/Ptxas.h"

namespace meshc::codegen {

struct GpuProgramOptions {
  GpuOptions mapping;
  /// What to make machine code for, as sm_90; at least one.
  std::vector<std::string> chips = {"sm_90"};
  std::string libdevice; ///< path of libdevice.10.bc; may be empty
  /// Path of ptxas; empty: no machine code, PTX alone, which the driver
  /// compiles at start.
  std::string ptxas;
};

struct GpuImage {
  MeshcImageKind kind;
  unsigned chip; ///< 90: sm_90
  std::string bytes;
  std::vector<KernelUsage> usage; ///< of machine code
};

/// The kernels of one program.
struct GpuProgram {
  std::vector<std::pair<exec::KernelOp, KernelLaunch>> launches;
  /// One of machine code for each chip, in their order; the PTX last, for the
  /// oldest of the chips and all newer ones, with a zero byte at its end.
  std::vector<GpuImage> images;

  /// Generates code for the kernels of an exec module, which stays as it is.
  /// Errors are reported at its ops. A module without kernels has no images.
  static llvm::FailureOr<GpuProgram> generate(mlir::ModuleOp module,
                                              const GpuProgramOptions &options);
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_GPU_GPU_H
