//===- Compilation.h - one run of the compiler ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_COMPILATION_H
#define MESHC_LIB_PIPELINE_COMPILATION_H

#include "lib/Codegen/Program.h"
#include "lib/Pipeline/Compile.h"
#include "lib/Pipeline/Dump.h"
#include "lib/Pipeline/PhaseTimes.h"
#include "lib/Pipeline/Pipeline.h"
#include "lib/Pipeline/PlaceDiagnostics.h"
#include "lib/Pipeline/Verification.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace meshc {

/// One run of the compiler. Each step gives the exit code; errors are printed.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options),
        context(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
        handler(sources, &context, llvm::errs()),
        places(&context, options.input == "-" ? "<stdin>" : options.input,
               handler),
        verification(this->options) {
    context.loadAllAvailableDialects();
    // Messages are about the model's text, not about ops made from it.
    context.printOpOnDiagnostic(false);
  }

  ExitCode run();

private:
  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  ExitCode chooseTarget();
  ExitCode parse();
  ExitCode parseProgram(std::unique_ptr<llvm::MemoryBuffer> text);
  ExitCode parseMlir();
  ExitCode runPhases();
  ExitCode afterPhase(llvm::StringRef phase,
                      llvm::function_ref<std::string()> print);
  std::string getDumpPath(llvm::StringRef phase) const;
  ExitCode printReport();
  llvm::StringRef getModelText() const;
  ExitCode finish();
  ExitCode writeProgram();
  ExitCode checkOutput(llvm::StringRef path);
  ExitCode write(llvm::StringRef path, llvm::StringRef text);
  ExitCode generate();
  ExitCode generateKernels(codegen::GpuCode &code);
  void reportKernels(const codegen::GpuCode &code);

  CompileOptions options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
  PlaceDiagnostics places;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Verification verification; ///< of --verify
  DumpState state;           ///< what is known beside the module
  PhaseTimes times;
  std::unique_ptr<codegen::Program> code; ///< after code generation
  codegen::GpuCodeOptions gpu;            ///< of target cuda
  std::string ptxas;                      ///< empty: PTX alone
  codegen::GpuCode kernels;               ///< of target cuda
  std::optional<ExitCode> ended;          ///< set by --stop-after
};

/// Prints an error that has no place in the model.
ExitCode fail(ExitCode code, const llvm::Twine &message);

/// Whether kernels are those of GPUs.
inline bool isForGpus(const CompileOptions &options) {
  return options.target == "cuda" || options.emulateGpu;
}

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_COMPILATION_H
