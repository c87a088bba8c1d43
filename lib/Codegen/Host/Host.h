//===- Host.h - code for CPUs ---------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The codegen phase for hosts: an exec module becomes an object that defines
/// `meshc_program`, to be linked with the runtime.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_HOST_HOST_H
#define MESHC_LIB_CODEGEN_HOST_HOST_H

#include "lib/Codegen/Gpu/GpuMapping.h"
#include "lib/Codegen/Host/HostTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace meshc::codegen {

struct HostOptions {
  std::string march = "native"; ///< see HostTarget::get
  std::string name;             ///< the model's
  std::string manifest;         ///< JSON, kept in the program
  /// For tests: kernels are those of GPUs, run on the host by the functions of
  /// runtime/Device/Emulation.h; the unit of a launch is a block.
  bool emulateGpu = false;
  GpuOptions gpu = {}; ///< of those kernels
};

/// Fails where code cannot be made for the processor on this host; see
/// HostTarget::get.
llvm::Error checkProcessor(llvm::StringRef march);

/// A program in LLVM IR, optimized.
class HostProgram {
public:
  /// Generates code for an exec module, which stays as it is. Errors are
  /// reported at its ops.
  static llvm::FailureOr<std::unique_ptr<HostProgram>>
  generate(mlir::ModuleOp module, const HostOptions &options);

  /// LLVM IR as text.
  void printIr(llvm::raw_ostream &stream) const;
  /// Assembly, or an object file's bytes. Once: it uses the program up.
  llvm::Error emit(llvm::CodeGenFileType type,
                   llvm::SmallVectorImpl<char> &output);

private:
  explicit HostProgram(HostTarget target) : target(std::move(target)) {}

  HostTarget target;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_HOST_HOST_H
