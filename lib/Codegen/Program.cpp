//===- Program.cpp - a program's object file ------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Program.h"
#include "dialects/Nd/StepNames.h"
#include "dialects/Nd/TensorAttributes.h"
#include "lib/Codegen/Gpu/EmulateGpu.h"
#include "lib/Codegen/Host/LowerToLlvm.h"
#include "lib/Codegen/Host/SharedKernels.h"
#include "lib/Codegen/Lowering.h"
#include "lib/Codegen/MachineCode.h"
#include "lib/Codegen/ProgramTable.h"
#include "lib/Codegen/StepFunctions.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

namespace meshc::codegen {

/// Kernels as functions of the host, lowered. `launches` gets one entry for
/// each.
static std::unique_ptr<llvm::Module>
generateHostKernels(ModuleOp module, const ProgramOptions &options,
                    const HostTarget &target, llvm::LLVMContext &context,
                    KernelLaunches &launches) {
  loadCodegenDialects(*module.getContext());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(module.getLoc());
  SharedKernels shared(module, *kernels,
                       options.lanes.value_or(target.getLanes()));
  for (exec::KernelOp kernel : module.getOps<exec::KernelOp>()) {
    FailureOr<KernelLaunch> launch =
        options.emulated ? emitGpuKernel(kernel, *kernels, *options.emulated)
                         : shared.emit(kernel);
    if (failed(launch))
      return nullptr;
    if (options.emulated && !options.emulatesDevice)
      launch = KernelLaunch{launch->blocks, /*grain=*/1};
    launches.push_back({kernel, *launch});
  }
  if (options.emulated && failed(emulateGpu(*kernels)))
    return nullptr;
  return lowerToLlvm(*kernels, target, context);
}

static llvm::Constant *makeImage(const GpuImage &image, const AbiTypes &types,
                                 ConstantTable &constants) {
  llvm::Constant *data = constants.makeGlobal(llvm::ConstantDataArray::getRaw(
      image.bytes, image.bytes.size(), types.i8));
  // The driver reads structs in it.
  cast<llvm::GlobalVariable>(data)->setAlignment(llvm::Align(64));
  auto number = [&](llvm::Type *type, uint64_t value) {
    return constants.getInteger(type, static_cast<int64_t>(value));
  };
  return constants.makeStruct(types.image,
                              {number(types.i32, image.kind),
                               number(types.i32, image.chip),
                               number(types.i64, image.bytes.size()), data});
}

/// An image of functions of the host, as EmulateGpu.h says.
static llvm::Constant *makeEmulatedImage(const KernelLaunches &launches,
                                         llvm::Module &code,
                                         const AbiTypes &types,
                                         ConstantTable &constants) {
  auto number = [&](llvm::Type *type, uint64_t value) {
    return constants.getInteger(type, static_cast<int64_t>(value));
  };
  SmallVector<llvm::Constant *> kernels;
  for (auto [kernel, launch] : launches) {
    size_t buffers =
        kernel.getInputOrders().size() + kernel.getOutputOrders().size();
    kernels.push_back(llvm::ConstantStruct::getAnon(
        {constants.getString(kernel.getSymName()),
         code.getFunction(kernel.getSymName()),
         number(types.i64, launch.blocks), number(types.i32, buffers),
         number(types.i32, launch.threads)}));
  }
  llvm::Constant *data = constants.makeGlobal(llvm::ConstantStruct::getAnon(
      {number(types.i64, emulatedImageMagic), number(types.i64, kernels.size()),
       constants.makeArray(kernels)}));
  return constants.makeStruct(
      types.image, {number(types.i32, MESHC_CUBIN), number(types.i32, 90),
                    number(types.i64, emulatedImageBytes), data});
}

/// Step functions and the program's table.
static LogicalResult generateTable(ModuleOp module,
                                   const ProgramOptions &options,
                                   const HostTarget &target,
                                   const KernelLaunches &launches,
                                   llvm::Module &code) {
  AbiTypes types(code.getContext());
  ConstantTable constants(code, types);
  StepFunctions steps(code, types, constants, launches);
  ProgramParts parts;
  SmallVector<llvm::Constant *> images;
  if (options.gpu) {
    parts.target = MESHC_CUDA;
    for (const GpuImage &image : options.gpu->images)
      images.push_back(makeImage(image, types, constants));
  }
  if (options.emulatesDevice) {
    parts.target = MESHC_CUDA;
    if (!launches.empty())
      images.push_back(makeEmulatedImage(launches, code, types, constants));
  }
  parts.images = images;
  parts.kernels = steps.getKernels();
  parts.kernelCount = launches.size();
  parts.name = options.name;
  parts.manifest = options.manifest;
  std::string features = target.getFeatures();
  parts.features = features;
  for (exec::FuncOp function : module.getOps<exec::FuncOp>()) {
    llvm::Function *emitted = steps.emit(function);
    for (nd::Step step : nd::allSteps)
      if (nd::isStep(function, step))
        parts.steps[unsigned(step)] = emitted;
  }
  parts.positions = nd::getPositions(module);
  if (StringAttr text = nd::getWholeBatches(module))
    parts.wholeBatches = text.getValue();
  parts.sites = steps.getSites();
  return defineProgram(module, parts, code, types, constants);
}

llvm::Error checkProcessor(StringRef march) {
  return HostTarget::get(march).takeError();
}

FailureOr<std::unique_ptr<Program>>
Program::generate(ModuleOp module, const ProgramOptions &options) {
  auto target = HostTarget::get(options.march);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  std::unique_ptr<Program> program(new Program(std::move(*target)));
  KernelLaunches launches;
  if (options.gpu) {
    launches = options.gpu->launches;
    program->code = std::make_unique<llvm::Module>("meshc", program->context);
  } else {
    program->code = generateHostKernels(module, options, program->target,
                                        program->context, launches);
  }
  if (!program->code)
    return failure();
  program->target.prepare(*program->code);
  if (failed(generateTable(module, options, program->target, launches,
                           *program->code)))
    return failure();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*program->code, &stream))
    return module.emitError("generated code is malformed: ") << message;
  program->target.setAttributes(*program->code);
  // Compiling emulated kernels takes longer than running them.
  auto level = llvm::OptimizationLevel::O3;
  if (options.emulated) {
    level = llvm::OptimizationLevel::O1;
    program->target.getMachine().setOptLevel(llvm::CodeGenOptLevel::None);
  }
  optimize(*program->code, program->target.getMachine(), level);
  return std::move(program);
}

llvm::Expected<std::unique_ptr<Program>>
Program::read(std::unique_ptr<llvm::MemoryBuffer> text, StringRef march) {
  auto target = HostTarget::get(march);
  if (!target)
    return target.takeError();
  std::unique_ptr<Program> program(new Program(std::move(*target)));
  llvm::SMDiagnostic problem;
  program->code =
      llvm::parseIR(text->getMemBufferRef(), problem, program->context);
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (!program->code)
    problem.print("", stream, /*ShowColors=*/false, /*ShowKindLabel=*/false);
  else if (!program->code->getNamedGlobal("meshc_program"))
    stream << text->getBufferIdentifier()
           << " defines no 'meshc_program'; meshc reads the code that it wrote";
  else if (!llvm::verifyModule(*program->code, &stream))
    return std::move(program);
  return llvm::createStringError(StringRef(message).rtrim());
}

void Program::printIr(llvm::raw_ostream &stream) const {
  // With the order of uses, machine code is the same after reading.
  code->print(stream, nullptr, /*ShouldPreserveUseListOrder=*/true);
}

llvm::Error Program::emit(llvm::CodeGenFileType type,
                          llvm::SmallVectorImpl<char> &output) {
  return emitFile(*code, target.getMachine(), type, output);
}

} // namespace meshc::codegen
