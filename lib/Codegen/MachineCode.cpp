//===- MachineCode.cpp - LLVM IR to code of a target ----------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/MachineCode.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace meshc::codegen {

void optimize(Module &module, TargetMachine &machine, OptimizationLevel level) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

Error emitFile(Module &module, TargetMachine &machine, CodeGenFileType type,
               SmallVectorImpl<char> &output) {
  raw_svector_ostream stream(output);
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return createStringError("the target '" + machine.getTargetTriple().str() +
                             "' cannot write such a file");
  passes.run(module);
  return Error::success();
}

} // namespace meshc::codegen
