//===- GpuCode.cpp - code for NVIDIA GPUs ---------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/GpuCode.h"
#include "lib/Codegen/Gpu/LowerToNvvm.h"
#include "lib/Codegen/Gpu/PtxTarget.h"
#include "lib/Codegen/Lowering.h"
#include "llvm/IR/Verifier.h"

using namespace mlir;

namespace meshc::codegen {

llvm::Error checkChips(ArrayRef<std::string> chips) {
  if (chips.empty())
    return llvm::createStringError(
        "no chip to generate code for; give one, as in '--chip=sm_90'");
  for (const std::string &chip : chips)
    if (auto target = PtxTarget::get(chip); !target)
      return target.takeError();
  return llvm::Error::success();
}

/// Kernels in the LLVM IR of GPUs; `launches` gets one entry for each.
static std::unique_ptr<llvm::Module>
generateKernels(ModuleOp module, const GpuCodeOptions &options,
                llvm::LLVMContext &context, KernelLaunches &launches,
                GpuFault &fault) {
  loadCodegenDialects(*module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelLaunch> launch =
        emitGpuKernel(kernel, *kernels, options.mapping, &fault);
    if (failed(launch))
      return nullptr;
    launches.push_back({kernel, *launch});
  }
  return lowerToNvvm(*kernels, context);
}

static LogicalResult reportUnresolved(ModuleOp module,
                                      const UnresolvedCall &call,
                                      const GpuCodeOptions &options,
                                      GpuFault &fault) {
  Location place = module.getLoc();
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>())
    if (kernel.getSymName() == call.kernel)
      place = kernel.getLoc();
  auto error = emitError(place, "kernel '")
               << call.kernel << "' calls '" << call.function
               << "', for which there is no code on GPUs";
  if (options.libdevice.empty() &&
      StringRef(call.function).starts_with("__nv_")) {
    fault = GpuFault::Input;
    error << "; it is in the CUDA toolkit's libdevice.10.bc, which was not "
             "found: install the toolkit whole, and say where it is with "
             "--cuda-path or CUDA_HOME";
  }
  return error;
}

/// PTX for the target.
static FailureOr<std::string> compile(ModuleOp module, llvm::Module &code,
                                      const PtxTarget &target,
                                      const GpuCodeOptions &options,
                                      GpuFault &fault) {
  target.prepare(code);
  auto fail = [&](const Twine &message) {
    return emitError(module.getLoc(), message);
  };
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(code, &stream))
    return fail("generated code is malformed: " + message);
  if (llvm::Error error = target.linkLibdevice(code, options.libdevice)) {
    fault = GpuFault::Input;
    return fail(llvm::toString(std::move(error)));
  }
  if (UnresolvedCall call = findUnresolved(code); !call.function.empty())
    return reportUnresolved(module, call, options, fault);
  target.optimize(code);
  // Passes may turn what they know into other functions.
  if (UnresolvedCall call = findUnresolved(code); !call.function.empty())
    return reportUnresolved(module, call, options, fault);
  auto ptx = target.emit(code);
  if (!ptx)
    return fail(llvm::toString(ptx.takeError()));
  return std::move(*ptx);
}

FailureOr<GpuCode> GpuCode::generate(ModuleOp module,
                                     const GpuCodeOptions &options,
                                     GpuFault *fault) {
  GpuFault ignored = GpuFault::Compiler;
  GpuFault &blamed = fault ? *fault : ignored;
  blamed = GpuFault::Compiler;
  if (llvm::Error error = checkChips(options.chips))
    return emitError(module.getLoc(), llvm::toString(std::move(error)));
  // All chips assemble the PTX of the oldest.
  const std::string &oldest = *llvm::min_element(
      options.chips, [](const std::string &a, const std::string &b) {
        return getChipNumber(a) < getChipNumber(b);
      });
  auto target = llvm::cantFail(PtxTarget::get(oldest));
  GpuCode result;
  llvm::LLVMContext context;
  auto code =
      generateKernels(module, options, context, result.launches, blamed);
  if (!code)
    return failure();
  if (result.launches.empty())
    return result;
  FailureOr<std::string> ptx = compile(module, *code, target, options, blamed);
  if (failed(ptx))
    return failure();
  ptx->push_back('\0');
  result.images.push_back(
      {MESHC_PTX, getChipNumber(oldest), std::move(*ptx), {}});
  return result;
}

llvm::Error GpuCode::assemble(StringRef ptxas, ArrayRef<std::string> chips) {
  if (images.empty())
    return llvm::Error::success();
  std::vector<GpuImage> assembled;
  StringRef ptx = StringRef(images.back().bytes).drop_back();
  for (const std::string &chip : chips) {
    auto image = runPtxas(ptxas, ptx, chip);
    if (!image)
      return image.takeError();
    assembled.push_back({MESHC_CUBIN, getChipNumber(chip),
                         std::move(image->cubin), std::move(image->usage)});
  }
  assembled.push_back(std::move(images.back()));
  images = std::move(assembled);
  return llvm::Error::success();
}

} // namespace meshc::codegen
