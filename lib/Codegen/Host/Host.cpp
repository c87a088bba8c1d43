//===- Host.cpp - code for CPUs -------------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Host/Host.h"
#include "lib/Codegen/Gpu/EmulateGpu.h"
#include "lib/Codegen/Gpu/GpuKernel.h"
#include "lib/Codegen/Host/HostKernel.h"
#include "lib/Codegen/Host/LowerToLlvm.h"
#include "lib/Codegen/Lowering.h"
#include "lib/Codegen/MachineCode.h"
#include "lib/Codegen/ProgramTable.h"
#include "lib/Codegen/StepFunctions.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace meshc::codegen {

using Kernels = SmallVector<std::pair<exec::KernelOp, KernelLaunch>>;

/// Kernels, lowered. `launches` gets one entry for each.
static std::unique_ptr<llvm::Module> generateKernels(ModuleOp module,
                                                     const HostOptions &options,
                                                     const HostTarget &target,
                                                     llvm::LLVMContext &context,
                                                     Kernels &launches) {
  loadCodegenDialects(*module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelLaunch> launch =
        options.emulateGpu
            ? emitGpuKernel(kernel, *kernels, options.gpu)
            : emitHostKernel(kernel, *kernels, target.getLanes());
    if (failed(launch))
      return nullptr;
    if (options.emulateGpu)
      launch = KernelLaunch{launch->blocks, /*grain=*/1};
    launches.push_back({kernel, *launch});
  }
  if (options.emulateGpu && failed(emulateGpu(*kernels)))
    return nullptr;
  return lowerToLlvm(*kernels, context);
}

/// Step functions and the program's table.
static LogicalResult generateProgram(ModuleOp module,
                                     const HostOptions &options,
                                     const Kernels &kernels,
                                     llvm::Module &code) {
  AbiTypes types(code.getContext());
  ConstantTable constants(code, types);
  StepFunctions steps(code, types, constants, kernels);
  ProgramParts parts;
  parts.kernels = steps.getKernels();
  parts.kernelCount = kernels.size();
  parts.name = options.name;
  parts.manifest = options.manifest;
  for (exec::FuncOp function : module.getOps<exec::FuncOp>()) {
    llvm::Function *emitted = steps.emit(function);
    if (function.getSymName() == "initialize")
      parts.initialize = emitted;
    else if (function.getSymName() == "train_step")
      parts.trainStep = emitted;
    else if (function.getSymName() == "eval_step")
      parts.evalStep = emitted;
  }
  parts.sites = steps.getSites();
  return defineProgram(module, parts, code, types, constants);
}

llvm::Error checkProcessor(StringRef march) {
  return HostTarget::get(march).takeError();
}

FailureOr<std::unique_ptr<HostProgram>>
HostProgram::generate(ModuleOp module, const HostOptions &options) {
  auto target = HostTarget::get(options.march);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  std::unique_ptr<HostProgram> program(new HostProgram(std::move(*target)));
  Kernels kernels;
  program->code = generateKernels(module, options, program->target,
                                  program->context, kernels);
  if (!program->code)
    return failure();
  program->target.prepare(*program->code);
  if (failed(generateProgram(module, options, kernels, *program->code)))
    return failure();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*program->code, &stream))
    return module.emitError("generated code is malformed: ") << message;
  program->target.setAttributes(*program->code);
  optimize(*program->code, program->target.getMachine());
  return std::move(program);
}

void HostProgram::printIr(llvm::raw_ostream &stream) const {
  code->print(stream, nullptr);
}

llvm::Error HostProgram::emit(llvm::CodeGenFileType type,
                              llvm::SmallVectorImpl<char> &output) {
  return emitFile(*code, target.getMachine(), type, output);
}

} // namespace meshc::codegen
