//===- Gpu.cpp - code for NVIDIA GPUs -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/Gpu.h"
#include "lib/Codegen/Gpu/LowerToNvvm.h"
#include "lib/Codegen/Gpu/PtxTarget.h"
#include "lib/Codegen/Lowering.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace meshc::codegen {

/// Kernels in the LLVM IR of GPUs; `program` gets their launches.
static std::unique_ptr<llvm::Module>
generateKernels(ModuleOp module, const GpuProgramOptions &options,
                llvm::LLVMContext &context, GpuProgram &program) {
  loadCodegenDialects(*module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelLaunch> launch =
        emitGpuKernel(kernel, *kernels, options.mapping);
    if (failed(launch))
      return nullptr;
    program.launches.push_back({kernel, *launch});
  }
  return lowerToNvvm(*kernels, context);
}

static LogicalResult reportUnresolved(ModuleOp module,
                                      const UnresolvedCall &call,
                                      const GpuProgramOptions &options) {
  Operation *place = module;
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>())
    if (kernel.getSymName() == call.kernel)
      place = kernel;
  auto error = place->emitError("kernel '")
               << call.kernel << "' calls '" << call.function
               << "', for which GPUs have no code";
  if (options.libdevice.empty())
    error << "; libdevice.10.bc of the CUDA toolkit was not given";
  return error;
}

/// PTX for the target.
static FailureOr<std::string> compile(ModuleOp module, llvm::Module &code,
                                      const PtxTarget &target,
                                      const GpuProgramOptions &options) {
  target.prepare(code);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(code, &stream))
    return module.emitError("generated code is malformed: ") << message;
  if (llvm::Error error = target.linkLibdevice(code, options.libdevice))
    return module.emitError(llvm::toString(std::move(error)));
  if (UnresolvedCall call = findUnresolved(code); !call.function.empty())
    return reportUnresolved(module, call, options);
  auto ptx = target.compile(code);
  if (!ptx)
    return module.emitError(llvm::toString(ptx.takeError()));
  return std::move(*ptx);
}

FailureOr<GpuProgram> GpuProgram::generate(ModuleOp module,
                                           const GpuProgramOptions &options) {
  if (options.chips.empty())
    return module.emitError("no chip to make code for; give one as in "
                            "--chip=sm_90");
  for (const std::string &chip : options.chips)
    if (auto known = PtxTarget::get(chip); !known)
      return module.emitError(llvm::toString(known.takeError()));
  // All chips assemble the PTX of the oldest.
  const std::string &oldest = *llvm::min_element(
      options.chips, [](const std::string &a, const std::string &b) {
        return getChipNumber(a) < getChipNumber(b);
      });
  auto target = llvm::cantFail(PtxTarget::get(oldest));
  GpuProgram program;
  llvm::LLVMContext context;
  auto code = generateKernels(module, options, context, program);
  if (!code)
    return failure();
  if (program.launches.empty())
    return program;
  FailureOr<std::string> ptx = compile(module, *code, target, options);
  if (failed(ptx))
    return failure();
  if (!options.ptxas.empty())
    for (const std::string &chip : options.chips) {
      auto assembled = runPtxas(options.ptxas, *ptx, chip);
      if (!assembled)
        return module.emitError(llvm::toString(assembled.takeError()));
      program.images.push_back({MESHC_CUBIN, getChipNumber(chip),
                                std::move(assembled->cubin),
                                std::move(assembled->usage)});
    }
  ptx->push_back('\0');
  program.images.push_back(
      {MESHC_PTX, getChipNumber(oldest), std::move(*ptx), {}});
  return program;
}

} // namespace meshc::codegen
