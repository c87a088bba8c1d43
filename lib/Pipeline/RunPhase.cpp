//===- RunPhase.cpp - the passes of one phase -----------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/RunPhase.h"
#include "lib/Loops/Passes.h"
#include "lib/Steps/Passes.h"
#include "mlir/IR/Action.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace meshc {

ExitCode reportDefect(llvm::StringRef what) {
  llvm::errs() << ("meshc: error: " + what +
                   " failed; this is a defect of meshc: please report it with "
                   "the model and the command line\n")
                      .str();
  return ExitCode::Internal;
}

namespace {

/// Tells errors of a pass itself from those of MLIR's verifier, which runs
/// after it: actions are the passes.
class FailureWatch {
public:
  FailureWatch(const Phase &phase, MLIRContext *context)
      : phase(phase), context(context) {
    handler = context->getDiagEngine().registerHandler([this](Diagnostic &it) {
      errors += it.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // for the printer
    });
    context->registerActionHandler(
        [this](llvm::function_ref<void()> run, const tracing::Action &action) {
          unsigned before = errors;
          run();
          auto *pass = dyn_cast<PassExecutionAction>(&action);
          isRefused |= pass && errors > before && isJudge(pass->getPass());
        });
  }
  ~FailureWatch() {
    context->registerActionHandler(nullptr);
    context->getDiagEngine().eraseHandler(handler);
  }

  bool isRefused = false; ///< a judge found something wrong

private:
  bool isJudge(const Pass &pass) const {
    return llvm::is_contained(phase.judges, pass.getArgument()) ||
           // A loop may have too many iterations to be unrolled.
           pass.getArgument() == "meshc-unroll-loops";
  }

  const Phase &phase;
  MLIRContext *context;
  DiagnosticEngine::HandlerID handler;
  unsigned errors = 0;
};

} // namespace

static void addUnrolling(PassManager &passes, const Phase &phase) {
  loops::UnrollLoopsOptions unrolling;
  unrolling.isPrimitive = getPhaseNumber(phase.name) > getPhaseNumber("layout");
  // The steps phase turns iterations over positions into steps of generation.
  unrolling.keepsPositions = true;
  // It rejects the gradient of a loop with `while` [L4.16], so it must see
  // such loops.
  unrolling.keepsConditional =
      getPhaseNumber(phase.name) <= getPhaseNumber("steps");
  // It decides that what loops carry stays f32.
  passes.addPass(steps::createLowerPrecision());
  passes.addPass(loops::createUnrollLoops(unrolling));
}

static ExitCode run(const Phase &phase, PassManager &passes, ModuleOp program) {
  FailureWatch watch(phase, program.getContext());
  // Each phase ends in a verifier of its own; MLIR's runs after each pass too.
  if (succeeded(passes.run(program)))
    return ExitCode::Success;
  return watch.isRefused ? ExitCode::Input : ExitCode::Internal;
}

ExitCode unrollLoops(const Phase &phase, ModuleOp program,
                     const CompileOptions &options) {
  PassManager passes(program.getContext());
  if (!options.unrollLoops)
    return ExitCode::Success;
  addUnrolling(passes, phase);
  return run(phase, passes, program);
}

ExitCode tryPhase(const Phase &phase, ModuleOp program,
                  const CompileOptions &options) {
  PassManager passes(program.getContext());
  if (options.unrollLoops)
    addUnrolling(passes, phase);
  phase.addPasses(passes, options);
  return run(phase, passes, program);
}

ExitCode runPhase(const Phase &phase, ModuleOp program,
                  const CompileOptions &options) {
  ExitCode code = tryPhase(phase, program, options);
  return code == ExitCode::Internal
             ? reportDefect(("phase '" + phase.name + "'").str())
             : code;
}

LogicalResult verifyPromise(const Phase &phase, ModuleOp program) {
  PassManager passes(program.getContext());
  if (phase.addVerifier)
    phase.addVerifier(passes);
  return passes.run(program);
}

} // namespace meshc
