//===- Pipeline.cpp - the table of contents -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Pipeline.h"
#include "dialects/Exec/ArenaAttributes.h"
#include "dialects/Exec/Exec.h"
#include "dialects/Nd/NdInterfaces.h"
#include "dialects/Spmd/SpmdOps.h"
#include "lib/Collectives/Passes.h"
#include "lib/Kernels/Passes.h"
#include "lib/Layout/Passes.h"
#include "lib/Loops/Passes.h"
#include "lib/Partition/Passes.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Schedule/Passes.h"
#include "lib/Steps/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

namespace meshc {

//===----------------------------------------------------------------------===//
// What depends on the target
//===----------------------------------------------------------------------===//

/// Kernels for GPUs, emulated or not.
static void setForGpus(mlir::ModuleOp program, const CompileOptions &options) {
  if (isForGpus(options))
    exec::setForGpus(program);
}

/// cublasLt has a workspace of its own; on the host, scratch memory of products
/// lies in the arena.
static void setLibraryWorkspace(mlir::ModuleOp program,
                                const CompileOptions &options) {
  if (options.target == Target::Cuda)
    exec::setLibraryWorkspace(program);
}

//===----------------------------------------------------------------------===//
// What depends on other options
//===----------------------------------------------------------------------===//

/// For the phase schedule, which may go on from a dump.
static void setMemoryAims(mlir::ModuleOp program,
                          const CompileOptions &options) {
  using steps::Recompute;
  exec::setMemoryAims(program, {options.memoryBudget,
                                options.recompute == Recompute::Full,
                                options.recompute == Recompute::None});
}

static void addStepsPasses(mlir::OpPassManager &passes,
                           const CompileOptions &options) {
  steps::addStepsPasses(passes,
                        options.recompute.value_or(steps::Recompute::Cheap));
}

/// The passes of a phase that no option changes.
template <auto add>
static void addPasses(mlir::OpPassManager &passes, const CompileOptions &) {
  add(passes);
}

//===----------------------------------------------------------------------===//
// The phases
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral modelJudges[] = {"meshc-build-steps",
                                                      "meshc-decode-positions"};
static constexpr llvm::StringLiteral layoutJudges[] = {
    "meshc-verify-rules", "meshc-assign-shardings"};
// The kernels say what is stored.
static constexpr llvm::StringLiteral scheduleJudges[] = {"meshc-bound-sizes"};

template <auto create> static void addPass(mlir::OpPassManager &passes) {
  passes.addPass(create());
}

/// A pass on each function.
template <auto create>
static void addFunctionPass(mlir::OpPassManager &passes) {
  passes.addNestedPass<mlir::func::FuncOp>(create());
}

llvm::ArrayRef<Phase> getPhases() {
  static constexpr Phase phases[] = {
      {.name = "parse",
       .promise = "nd ops on whole tensors; every name has a meaning",
       .run = &Compilation::parse,
       .verify = &Compilation::keepModel,
       .listShapes = &Compilation::listShapes},
      {.name = "steps",
       .promise = "one step function: (state, batch) -> (state', metrics)",
       .run = &Compilation::runSteps,
       .addPasses = addStepsPasses,
       .judges = modelJudges,
       .addVerifier = addPass<steps::createVerifySteps>,
       .describeOptions = setMemoryAims,
       .explain = &Compilation::keepSteps},
      // How everything shall be cut, by name; nothing is cut yet.
      {.name = "layout",
       .promise = "every tensor has a sharding; every rule was used",
       .run = &Compilation::runPasses,
       .addPasses = addPasses<layout::addLayoutPasses>,
       .judges = layoutJudges,
       .addVerifier = addPass<layout::createVerifyLayout>,
       .verify = &Compilation::keepWhole},
      {.name = "partition",
       .promise = "every op is local; disagreements are explicit reshards",
       .run = &Compilation::runPartition,
       .addPasses = addPasses<partition::addBuildPasses>,
       .addVerifier = addPass<partition::createVerifyPartition>,
       .explain = &Compilation::explainValues},
      {.name = "collectives",
       .promise = "reshards are the cheapest collectives; these are combined",
       .run = &Compilation::runCollectives,
       .addPasses = addPasses<collectives::addCollectivesPasses>,
       .addVerifier = addPass<collectives::createVerifyCollectives>,
       .verify = &Compilation::comparePartitioned},
      {.name = "kernels",
       .promise = "fusions are formed; every op has an implementation",
       .run = &Compilation::runPasses,
       .addPasses = addPasses<kernels::addKernelsPasses>,
       .addVerifier = addFunctionPass<kernels::createVerifyKernels>,
       .describeOptions = setForGpus},
      {.name = "schedule",
       .promise = "every buffer has an offset in one arena of known size",
       .run = &Compilation::runSchedule,
       .addPasses = addPasses<schedule::addSchedulePasses>,
       .judges = scheduleJudges,
       .addVerifier = addPass<schedule::createVerifySchedule>,
       .describeOptions = setLibraryWorkspace},
      // Machine code of kernels for GPUs, and LLVM IR of everything else.
      {.name = "codegen",
       .promise = "LLVM IR that defines meshc_program",
       .run = &Compilation::generateCode,
       .verify = &Compilation::compareCompiled},
      {.name = "link",
       .promise = "a file as --emit wants it, complete or absent",
       .run = &Compilation::writeProgram},
  };
  return phases;
}

size_t getPhaseNumber(llvm::StringRef name) {
  llvm::ArrayRef<Phase> phases = getPhases();
  return llvm::find_if(phases,
                       [&](const Phase &phase) { return phase.name == name; }) -
         phases.begin();
}

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<nd::NdDialect, spmd::SpmdDialect, exec::ExecDialect,
                  mlir::func::FuncDialect>();
}

void registerPasses() {
  steps::registerStepsPasses();
  layout::registerLayoutPasses();
  partition::registerPartitionPasses();
  collectives::registerCollectivesPasses();
  kernels::registerKernelsPasses();
  loops::registerLoopsPasses();
  schedule::registerSchedulePasses();
  mlir::registerTransformsPasses();
}

} // namespace meshc
