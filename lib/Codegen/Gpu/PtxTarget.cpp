//===- PtxTarget.cpp - LLVM IR to PTX -------------------------------------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/Gpu/PtxTarget.h"
#include "lib/Codegen/MachineCode.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;

namespace meshc::codegen {

unsigned getChipNumber(StringRef chip) {
  unsigned number = 0;
  if (!chip.consume_front("sm_") || chip.consumeInteger(10, number))
    return 0;
  return chip.empty() ? number : 0;
}

Expected<PtxTarget> PtxTarget::get(StringRef chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError("no code generator for NVIDIA GPUs: " + message);
  std::unique_ptr<MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, "", ""));
  if (getChipNumber(chip) == 0 || !known->isCPUStringValid(chip))
    return createStringError("unknown chip '" + chip +
                             "'; give a name as in '--chip=sm_90'");
  if (getChipNumber(chip) < 80)
    return createStringError("chip '" + chip +
                             "' is too old: bf16 and reductions over a warp "
                             "need sm_80 or newer");
  TargetOptions options;
  // Only fmuladd is fused: an op has one value, whether a product that it adds
  // is computed beside it or comes through memory.
  options.AllowFPOpFusion = FPOpFusion::Standard;
  PtxTarget result;
  result.machine.reset(
      target->createTargetMachine(triple, chip, "", options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Aggressive));
  if (!result.machine)
    return createStringError("cannot make code for chip '" + chip + "'");
  return result;
}

void PtxTarget::prepare(Module &module) const {
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
  for (Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr("target-cpu", machine->getTargetCPU());
}

Error PtxTarget::linkLibdevice(Module &module, StringRef path) const {
  bool isWanted = any_of(module, [](const Function &function) {
    return function.isDeclaration() && function.getName().starts_with("__nv_");
  });
  if (!isWanted || path.empty())
    return Error::success();
  SMDiagnostic diagnostic;
  std::unique_ptr<Module> library =
      parseIRFile(path, diagnostic, module.getContext());
  if (!library)
    return createStringError("cannot read libdevice '" + path +
                             "': " + diagnostic.getMessage());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  bool failed = Linker::linkModules(
      module, std::move(library), Linker::LinkOnlyNeeded,
      [](Module &linked, const StringSet<> &names) {
        internalizeModule(linked, [&](const GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  if (failed)
    return createStringError("cannot link libdevice '" + path + "'");
  prepare(module);
  return Error::success();
}

/// Whether NVPTX lowers the intrinsic to a call of libm, which GPUs do not
/// have.
static bool isLibraryCall(Intrinsic::ID intrinsic) {
  switch (intrinsic) {
  case Intrinsic::acos:
  case Intrinsic::asin:
  case Intrinsic::atan:
  case Intrinsic::atan2:
  case Intrinsic::cos:
  case Intrinsic::cosh:
  case Intrinsic::exp:
  case Intrinsic::exp10:
  case Intrinsic::frexp:
  case Intrinsic::ldexp:
  case Intrinsic::log:
  case Intrinsic::log10:
  case Intrinsic::log2:
  case Intrinsic::modf:
  case Intrinsic::pow:
  case Intrinsic::powi:
  case Intrinsic::sin:
  case Intrinsic::sincos:
  case Intrinsic::sincospi:
  case Intrinsic::sinh:
  case Intrinsic::tan:
  case Intrinsic::tanh:
    return true;
  default:
    return false;
  }
}

/// A kernel that comes to the function through calls, or the function's name.
static std::string findKernel(Function &function) {
  SmallVector<Function *> pending{&function};
  SmallPtrSet<Function *, 8> seen;
  while (!pending.empty()) {
    Function *caller = pending.pop_back_val();
    if (caller->getCallingConv() == CallingConv::PTX_Kernel)
      return caller->getName().str();
    for (User *user : caller->users())
      if (auto *call = dyn_cast<CallBase>(user))
        if (seen.insert(call->getFunction()).second)
          pending.push_back(call->getFunction());
  }
  return function.getName().str();
}

UnresolvedCall findUnresolved(Module &module) {
  for (Function &function : module) {
    // Reflection becomes a constant before code is generated.
    bool isMissing = function.isIntrinsic()
                         ? isLibraryCall(function.getIntrinsicID())
                         : function.getName() != "__nvvm_reflect";
    if (!function.isDeclaration() || !isMissing)
      continue;
    for (User *user : function.users())
      if (auto *call = dyn_cast<CallBase>(user))
        return {findKernel(*call->getFunction()), function.getName().str()};
  }
  return {};
}

/// Arithmetic on bf16 and f16, to which passes narrow what is rounded to them
/// afterwards, in f32 again: as it was written, and as the host has it.
static void widenShortFloats(Function &function) {
  for (Instruction &instruction :
       make_early_inc_range(instructions(function))) {
    auto *op = dyn_cast<BinaryOperator>(&instruction);
    if (!op || !op->getType()->getScalarType()->is16bitFPTy())
      continue;
    IRBuilder<> builder(op);
    Type *wide = op->getType()->getWithNewType(builder.getFloatTy());
    Value *result = builder.CreateBinOp(
        op->getOpcode(), builder.CreateFPExt(op->getOperand(0), wide),
        builder.CreateFPExt(op->getOperand(1), wide));
    op->replaceAllUsesWith(builder.CreateFPTrunc(result, op->getType()));
    op->eraseFromParent();
  }
}

void PtxTarget::optimize(Module &module) const {
  codegen::optimize(module, *machine);
  for (Function &function : module)
    widenShortFloats(function);
}

Expected<std::string> PtxTarget::emit(Module &module) const {
  SmallVector<char> text;
  if (Error error =
          emitFile(module, *machine, CodeGenFileType::AssemblyFile, text))
    return std::move(error);
  return std::string(text.begin(), text.end());
}

} // namespace meshc::codegen
