//===- GenerateCode.cpp - the phase codegen -------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Nd/TensorAttributes.h"
#include "lib/Pipeline/Compilation.h"
#include "lib/Pipeline/OptionRules.h"
#include "lib/Pipeline/RunPhase.h"
#include "lib/Report/MachineCode.h"

using namespace mlir;

namespace meshc {

ExitCode Compilation::generateCode(const Phase &) {
  // Emulated kernels are code of the host.
  if (options.target == Target::Cuda && !options.emulateGpu)
    if (ExitCode code = generateKernels(); code != ExitCode::Success)
      return code;
  if (ExitCode code = printReport(); code != ExitCode::Success)
    return code;
  hasEnded = options.verify != Verify::Compiled && !isToWrite(options);
  // Of --emit=ptx there is no code of the host.
  if (hasEnded || options.emit == Emit::Ptx)
    return ExitCode::Success;
  return generateProgram();
}

/// The code of kernels for GPUs.
ExitCode Compilation::generateKernels() {
  codegen::GpuFault fault;
  auto generated = codegen::GpuCode::generate(*module, gpu, &fault);
  if (failed(generated))
    return fault == codegen::GpuFault::Input ? ExitCode::Input
                                             : ExitCode::Internal;
  kernels = std::move(*generated);
  if (options.emit == Emit::Ptx)
    return ExitCode::Success;
  if (auto error = kernels.assemble(ptxas, gpu.chips))
    return failWithLines(ExitCode::Input, llvm::toString(std::move(error)));
  reportKernels();
  return ExitCode::Success;
}

/// Enters what the assembler said into the report, and warns of spills.
void Compilation::reportKernels() {
  std::vector<report::KernelUsage> table;
  llvm::StringMap<size_t> numbers;
  for (auto [kernel, launch] : kernels.launches) {
    std::string name = kernel.getSymName().str();
    numbers[name] = table.size();
    table.push_back({name, kernel.getLoc(), launch.blocks, launch.threads, {}});
  }
  for (const codegen::GpuImage &image : kernels.images)
    for (const codegen::KernelUsage &usage : image.usage) {
      auto number = numbers.find(usage.kernel);
      if (number == numbers.end())
        continue;
      report::KernelUsage &kernel = table[number->second];
      std::string chip = "sm_" + std::to_string(image.chip);
      kernel.chips.push_back({chip, usage.registers, usage.sharedBytes,
                              usage.spillBytes, usage.stackBytes});
      if (usage.spillBytes)
        emitWarning(kernel.location)
            << "kernel '" << kernel.name << "' spills on " << chip
            << ": each thread stores " << usage.spillBytes
            << " bytes for want of registers; its results are right, and it "
               "is slower than it could be";
    }
  report::addMachineCode(state.manifest, table);
}

/// LLVM IR of the program on the host.
ExitCode Compilation::generateProgram() {
  codegen::ProgramOptions program;
  program.emulatesDevice = options.target == Target::Cuda && options.emulateGpu;
  if (options.target == Target::Cuda && !options.emulateGpu)
    program.gpu = &kernels;
  program.march = options.march;
  if (auto name = nd::getModelName(*module))
    program.name = name.str();
  program.manifest = report::toText(state.manifest);
  if (options.emulateGpu)
    program.emulated.emplace();
  auto generated = codegen::Program::generate(*module, program);
  if (failed(generated))
    return reportDefect("phase 'codegen'");
  code = std::move(*generated);
  return ExitCode::Success;
}

ExitCode Compilation::emitCode() {
  if (!bytes.empty())
    return ExitCode::Success;
  if (options.emit == Emit::Ptx) {
    if (!kernels.images.empty()) // the last one is of PTX, with a zero byte
      llvm::append_range(
          bytes, llvm::StringRef(kernels.images.back().bytes).drop_back());
    return ExitCode::Success;
  }
  if (options.emit == Emit::Llvm) {
    llvm::raw_svector_ostream stream(bytes);
    code->printIr(stream);
    return ExitCode::Success;
  }
  auto error =
      code->emit(options.emit == Emit::Asm ? llvm::CodeGenFileType::AssemblyFile
                                           : llvm::CodeGenFileType::ObjectFile,
                 bytes);
  if (error)
    return fail(ExitCode::Internal, llvm::toString(std::move(error)));
  return ExitCode::Success;
}

} // namespace meshc
