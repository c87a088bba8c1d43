//===- Compilation.h - one run of the compiler ----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef MESHC_LIB_PIPELINE_COMPILATION_H
#define MESHC_LIB_PIPELINE_COMPILATION_H

#include "lib/Codegen/Program.h"
#include "lib/Cost/Machine.h"
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
    sources.setDiagHandler(printDiagnostic);
    context.loadAllAvailableDialects();
    // Messages are about the model's text, not about ops made from it.
    context.printOpOnDiagnostic(false);
  }

  ExitCode run();

private:
  // The table of phases names the steps below.
  friend llvm::ArrayRef<Phase> getPhases();

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  // ReadInput.cpp

  ExitCode chooseTarget();
  /// Reads the machine for which times are predicted.
  ExitCode chooseMachine();
  /// The phase `parse`. Sets `state.phase` to a later one if the input is a
  /// dump.
  ExitCode parse(const Phase &phase);
  std::vector<std::string> getModuleFolders() const;
  ExitCode parseModelText();
  ExitCode parseProgram(std::unique_ptr<llvm::MemoryBuffer> text);
  ExitCode parseMlir();

  // Compile.cpp

  ExitCode runPhases();
  ExitCode runOne(const Phase &phase);
  /// A phase of passes on the module.
  ExitCode runPasses(const Phase &phase);
  /// The same, with the recomputation that --memory-budget needs.
  ExitCode runSteps(const Phase &phase);
  /// The phase partition; see partitionProgram.
  ExitCode runPartition(const Phase &phase);
  /// The phase schedule; see scheduleProgram.
  ExitCode runSchedule(const Phase &phase);
  /// A phase that chooses among several programs.
  using ProgramChoice = llvm::function_ref<ExitCode(
      mlir::OwningOpRef<mlir::ModuleOp> &, const CompileOptions &,
      const cost::Machine &)>;
  ExitCode runChosen(const Phase &phase, ProgramChoice choose);
  /// A phase of passes; then the report of the collectives is made.
  ExitCode runCollectives(const Phase &phase);
  ExitCode dump(const Phase &phase);
  bool isLast(const Phase &phase) const;
  std::string getDumpPath(const Phase &phase) const;
  /// The program after the last phase, as a dump.
  std::string print();

  // MemoryBudget.cpp

  /// Chooses options.recompute so that the arena fits the memory budget: the
  /// first policy of cheap, full and none that does, by planning the program
  /// with each. If none fits, reports the largest values. Does nothing if a
  /// phase refuses the program. Notes in `budget` what was tried.
  ExitCode fitMemory();
  /// A sentence for the error, if --recompute is given: whether the program
  /// fits with another policy.
  std::string describeOtherPolicies();

  // Steps of --verify, after the phases parse, layout, collectives, codegen.

  ExitCode keepModel();
  mlir::OwningOpRef<mlir::ModuleOp> parseWholeBatch();
  ExitCode keepWhole();
  ExitCode comparePartitioned();
  ExitCode compareCompiled();

  /// The step of --shapes, after the phase parse.
  ExitCode listShapes();

  // Explain.cpp: steps of --explain, after the phases steps, partition.

  ExitCode keepSteps();
  ExitCode explainValues();

  // GenerateCode.cpp

  /// The phase `codegen`. The report says what kernels take, so it is printed
  /// here.
  ExitCode generateCode(const Phase &phase);
  ExitCode generateKernels();
  ExitCode generateProgram();
  void reportKernels();
  /// Machine code of the host, as --emit wants it; made once.
  ExitCode emitCode();

  // WriteOutput.cpp

  ExitCode printReport();
  llvm::StringRef getModelText() const;
  /// The phase `link`.
  ExitCode writeProgram(const Phase &phase);
  ExitCode writeDepfile();
  ExitCode checkOutput(llvm::StringRef path);
  ExitCode write(llvm::StringRef path, llvm::StringRef text);
  ExitCode printText(llvm::StringRef text);

  CompileOptions options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler handler;
  PlaceDiagnostics places;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OwningOpRef<mlir::ModuleOp> steps; ///< of --explain, before layout
  Verification verification;               ///< of --verify
  cost::Machine machine;                   ///< whose times are predicted
  DumpState state;                         ///< what is known beside the module
  mlir::DictionaryAttr plans; ///< after the phase partition: the functions'
  report::Json budget;        ///< of --memory-budget, for report::addBudget
  PhaseTimes times;
  std::unique_ptr<codegen::Program> code; ///< after code generation
  llvm::SmallVector<char> bytes;          ///< of emitCode
  codegen::GpuCodeOptions gpu;            ///< of target cuda
  std::string ptxas;                      ///< empty: PTX alone
  codegen::GpuCode kernels;               ///< of target cuda
  bool hasEnded = false; ///< the options want nothing of later phases
};

/// Prints an error that has no place in the model.
ExitCode fail(ExitCode code, const llvm::Twine &message);

/// The same with details below the first line, which are indented: what a
/// linker printed, or a list.
ExitCode failWithLines(ExitCode code, llvm::StringRef text);

} // namespace meshc

#endif // MESHC_LIB_PIPELINE_COMPILATION_H
