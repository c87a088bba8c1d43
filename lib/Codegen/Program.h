//===- Program.h - a program's object file --------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The codegen phase: an exec module becomes a host object that defines
/// `meshc_program` and is linked with the runtime. Step functions run on the
/// host on every target; kernels run on the target.
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
  /// The kernels' code for GPUs; null if the kernels run on the host.
  const GpuCode *gpu = nullptr;
  /// For tests: elements of a kernel's vectors on the host; by default as many
  /// as the processor's registers hold.
  std::optional<int64_t> lanes = std::nullopt;
  /// For tests: emulate GPU kernels with this mapping on the host, with the
  /// functions of runtime/Device/Emulation.h. The unit of a launch is a block.
  std::optional<GpuOptions> emulated = std::nullopt;
  /// Put the emulated kernels into an image of a GPU program, which fake CUDA
  /// libraries run (EmulatedImage).
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

  /// Reads the output of printIr without optimizing it again. The error says
  /// what is wrong with the text.
  static llvm::Expected<std::unique_ptr<Program>>
  read(std::unique_ptr<llvm::MemoryBuffer> text, llvm::StringRef march);

  /// Prints LLVM IR, which contains only host kernels. `read` reads it back.
  void printIr(llvm::raw_ostream &stream) const;
  /// Writes assembly or an object file. Call it once: it consumes the program.
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
