//===- Program.h - a program's object file --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The codegen phase: an exec module becomes an object for the host that
/// defines `meshc_program`, to be linked with the runtime. Step functions are
/// the host's on every target; the code of kernels is the target's.
///
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_CODEGEN_PROGRAM_H
#define MESHC_LIB_CODEGEN_PROGRAM_H

#include "lib/Codegen/Gpu/GpuCode.h"
#include "lib/Codegen/Host/HostTarget.h"

namespace meshc::codegen {

struct ProgramOptions {
  std::string march = "native"; ///< see HostTarget::get
  std::string name;             ///< the model's
  std::string manifest;         ///< JSON, kept in the program
  /// The kernels, where they run on GPUs; else they run on the host.
  const GpuCode *gpu = nullptr;
  /// For tests, where they run on the host: they are those of GPUs, so mapped,
  /// run by the functions of runtime/Device/Emulation.h; the unit of a launch
  /// is a block.
  std::optional<GpuOptions> emulated = std::nullopt;
  /// The emulated kernels are the code of an image of a program for GPUs, which
  /// fake libraries of CUDA run (EmulatedImage).
  bool emulatesDevice = false;
};

/// Fails if this host cannot generate code for the processor; see
/// HostTarget::get.
llvm::Error checkProcessor(llvm::StringRef march);

/// A program in LLVM IR, optimized.
class Program {
public:
  /// Generates code for an exec module and leaves it unchanged. Errors are
  /// reported at its ops.
  static llvm::FailureOr<std::unique_ptr<Program>>
  generate(mlir::ModuleOp module, const ProgramOptions &options);

  /// Reads what printIr wrote; it is not optimized again. The error says what
  /// is wrong with the text.
  static llvm::Expected<std::unique_ptr<Program>>
  read(std::unique_ptr<llvm::MemoryBuffer> text, llvm::StringRef march);

  /// LLVM IR as text; of kernels the host's only. It can be read back.
  void printIr(llvm::raw_ostream &stream) const;
  /// Assembly, or an object file's bytes. Once: it uses the program up.
  llvm::Error emit(llvm::CodeGenFileType type,
                   llvm::SmallVectorImpl<char> &output);

private:
  explicit Program(HostTarget target) : target(std::move(target)) {}

  HostTarget target;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code;
};

} // namespace meshc::codegen

#endif // MESHC_LIB_CODEGEN_PROGRAM_H
