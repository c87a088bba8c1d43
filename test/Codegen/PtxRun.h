//===- PtxRun.h - a kernel's PTX beside its emulation -----------*- C++ -*-===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_CODEGEN_PTXRUN_H
#define MESHC_TEST_CODEGEN_PTXRUN_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "meshc/RuntimeAbi.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/gpu/ptx/RunEntry.h"

namespace meshc::codegen {

/// The PTX of a module's only kernel, interpreted (test/gpu/ptx). What it
/// computes equals the emulation to the bit, except for sin, cos and pow: a GPU
/// takes them from libdevice, the emulation from the host.
class PtxRun {
public:
  /// Compiles the kernel for a chip, sm_80, sm_90 or sm_100, as the kernel's
  /// text draws it. With MESHC_RANDOM_SEED only some kernels are run, which the
  /// seed draws. Null if it is not run: not drawn, no libdevice is installed,
  /// or after a failed expectation.
  static std::unique_ptr<PtxRun> make(mlir::ModuleOp module,
                                      const GpuOptions &gpu);

  /// A buffer of the kernel, in the order of its parameters.
  struct Buffer {
    char *data;
    int64_t bytes;
  };
  /// Runs the kernel; expects that the interpreter finds nothing, and returns
  /// whether it does.
  bool run(MeshcContext context, llvm::ArrayRef<Buffer> buffers,
           int64_t axisCount);

  /// Whether an element has the emulation's value, as far as it must have.
  bool isEqual(const char *ptx, const char *emulated, mlir::Type type) const;

private:
  std::unique_ptr<ptx::Program> program;
  std::string name;
  uint32_t blocks = 0, threads = 0;
  bool isExact = true;
};

} // namespace meshc::codegen

#endif // MESHC_TEST_CODEGEN_PTXRUN_H
