//===- KernelRun.h - programs compiled and run in this process ------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_TEST_CODEGEN_KERNELRUN_H
#define MESHC_TEST_CODEGEN_KERNELRUN_H

#include "dialects/Exec/Exec.h"
#include "lib/Codegen/Program.h"
#include "meshc/RuntimeAbi.h"
#include "mlir/IR/OwningOpRef.h"
#include "test/Codegen/KernelCase.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <map>

namespace meshc::codegen {

/// A compiled program in this process. It calls a small runtime here: launches
/// in uneven pieces, products by a plain loop, collectives that fill what they
/// receive with ones.
class LoadedProgram {
public:
  /// Compiles the exec module, with `gpu` for the emulation of GPU kernels;
  /// null after a failed expectation.
  static std::unique_ptr<LoadedProgram>
  load(mlir::ModuleOp module, llvm::StringRef march = "native",
       std::optional<GpuOptions> gpu = {});
  /// `functions`: further ones of the runtime, by name.
  static std::unique_ptr<LoadedProgram>
  load(mlir::ModuleOp module, const ProgramOptions &options,
       const std::map<std::string, void *> &functions = {});
  const MeshcProgram &operator*() const { return *program; }
  const MeshcProgram *operator->() const { return program; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  const MeshcProgram *program = nullptr;
};

/// The last product and the last collective that loaded programs requested.
struct RuntimeCalls {
  MeshcGemm gemm;
  MeshcCollective collective, waited;
  std::vector<void *> send, recv;
  /// The beginning of a collective, with its first tensor's buffers, or the
  /// wait for one, without.
  struct Event {
    const MeshcCollective *collective;
    void *send = nullptr, *recv = nullptr;
  };
  std::vector<Event> events; ///< since forgetRuntimeEvents(), in order
};
const RuntimeCalls &getRuntimeCalls();
void forgetRuntimeEvents();

} // namespace meshc::codegen

#endif // MESHC_TEST_CODEGEN_KERNELRUN_H
