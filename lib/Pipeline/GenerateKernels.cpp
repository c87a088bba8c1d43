//===- GenerateKernels.cpp - code of kernels for GPUs ---------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipeline/Compilation.h"
#include "lib/Report/MachineCode.h"

using namespace mlir;

namespace meshc {

/// The kernels on GPUs.
ExitCode Compilation::generateKernels(codegen::GpuCode &code) {
  codegen::GpuFault fault;
  auto generated = codegen::GpuCode::generate(*module, gpu, &fault);
  if (failed(generated))
    return fault == codegen::GpuFault::Input ? ExitCode::Input
                                             : ExitCode::Internal;
  code = std::move(*generated);
  if (options.emit == "ptx")
    return ExitCode::Success;
  if (auto error = code.assemble(ptxas, gpu.chips))
    return fail(ExitCode::Input, llvm::toString(std::move(error)));
  reportKernels(code);
  return ExitCode::Success;
}

/// Enters what the assembler said into the report, and warns of spills.
void Compilation::reportKernels(const codegen::GpuCode &code) {
  std::vector<report::KernelUsage> table;
  llvm::StringMap<size_t> numbers;
  for (auto [kernel, launch] : code.launches) {
    std::string name = kernel.getSymName().str();
    numbers[name] = table.size();
    table.push_back({name, kernel.getLoc(), launch.blocks, launch.threads, {}});
  }
  for (const codegen::GpuImage &image : code.images)
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

} // namespace meshc
