//===- StepFunctions.cpp - step functions as calls of the runtime ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/StepFunctions.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc::codegen {

std::string getSourceText(Location location) {
  std::string text;
  location->walk([&](Location part) {
    auto place = dyn_cast<FileLineColLoc>(part);
    if (!place)
      return WalkResult::advance();
    text = (llvm::sys::path::filename(place.getFilename().getValue()) + ":" +
            Twine(place.getLine()) + ":" + Twine(place.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}

StepFunctions::StepFunctions(
    llvm::Module &module, const AbiTypes &types, ConstantTable &constants,
    ArrayRef<std::pair<exec::KernelOp, KernelLaunch>> kernels)
    : module(module), types(types), constants(constants),
      builder(module.getContext()) {
  SmallVector<llvm::Constant *> table;
  for (auto [kernel, launch] : kernels) {
    llvm::Constant *function = module.getFunction(kernel.getSymName());
    bool isOnDevice = launch.extent == 0;
    if (!function || isOnDevice)
      function = llvm::ConstantPointerNull::get(types.pointer);
    size_t buffers =
        kernel.getInputOrders().size() + kernel.getOutputOrders().size();
    auto number = [&](llvm::Type *type, uint64_t value) {
      return constants.getInteger(type, static_cast<int64_t>(value));
    };
    kernelNumbers[kernel.getSymName()] = table.size();
    table.push_back(constants.makeStruct(
        types.kernel,
        {constants.getString(kernel.getSymName()), function,
         number(types.i64, launch.extent), number(types.i64, launch.grain),
         number(types.i32, buffers), number(types.i32, launch.blocks),
         number(types.i32, launch.threads),
         number(types.i32, launch.sharedBytes)}));
  }
  kernelTable = constants.makeArray(table);
}

void StepFunctions::call(StringRef name, ArrayRef<llvm::Value *> arguments) {
  SmallVector<llvm::Type *> argumentTypes;
  for (llvm::Value *argument : arguments)
    argumentTypes.push_back(argument->getType());
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), argumentTypes, false);
  builder.CreateCall(module.getOrInsertFunction(name, type), arguments);
}

llvm::Value *StepFunctions::getBuffer(Value buffer) {
  auto op = buffer.getDefiningOp<exec::BufferOp>();
  return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), arena,
                                            op.getOffset());
}

llvm::Value *StepFunctions::fillArray(unsigned which, ValueRange buffers) {
  arraySizes[which] = std::max<unsigned>(arraySizes[which], buffers.size());
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    llvm::Value *slot =
        builder.CreateConstInBoundsGEP1_64(types.pointer, arrays[which], index);
    builder.CreateStore(getBuffer(buffer), slot);
  }
  return arrays[which];
}

void StepFunctions::emitLaunch(exec::LaunchOp launch) {
  SmallVector<Value> buffers(launch.getInputs());
  llvm::append_range(buffers, launch.getOutputs());
  call("meshc_launch",
       {context, getKernel(launch.getKernel()), fillArray(0, buffers)});
}

llvm::Constant *StepFunctions::getKernel(StringRef name) {
  return llvm::ConstantExpr::getInBoundsGetElementPtr(
      types.kernel, kernelTable, builder.getInt64(kernelNumbers.lookup(name)));
}

static Type getElementType(Value buffer) {
  return cast<exec::BufferType>(buffer.getType()).getTensor().getElementType();
}

void StepFunctions::emitGemm(exec::GemmOp gemm) {
  SmallVector<llvm::Constant *> fields;
  for (int64_t size : gemm.getSizes())
    fields.push_back(constants.getInteger(types.i64, size));
  for (int64_t byte : {int64_t(getAbiType(getElementType(gemm.getA()))),
                       int64_t(getAbiType(getElementType(gemm.getC()))),
                       int64_t(gemm.getTransA()), int64_t(gemm.getTransB()),
                       int64_t(gemm.getAccumulate())})
    fields.push_back(constants.getInteger(types.i8, byte));
  exec::ScratchOp scratch = gemm.getScratchOp();
  for (int64_t number : {scratch ? int64_t(scratch.getOffset()) : 0,
                         scratch ? scratch.getType().getBytes() : 0})
    fields.push_back(constants.getInteger(types.i64, number));
  llvm::Constant *descriptor =
      constants.makeGlobal(constants.makeStruct(types.gemm, fields));
  llvm::Value *a = getBuffer(gemm.getA()), *b = getBuffer(gemm.getB()),
              *c = getBuffer(gemm.getC());
  if (!gemm.getEpilogue()) {
    call("meshc_gemm", {context, descriptor, a, b, c});
    return;
  }
  SmallVector<Value> buffers(gemm.getInputs());
  llvm::append_range(buffers, gemm.getOutputs());
  llvm::Constant *epilogue = constants.makeGlobal(constants.makeStruct(
      types.epilogue,
      {constants.getInteger(types.i32, int64_t(*gemm.getEpilogue())),
       constants.getInteger(types.i32, 0), getKernel(*gemm.getKernel())}));
  llvm::Value *mask = gemm.getMask()
                          ? getBuffer(gemm.getMask())
                          : llvm::ConstantPointerNull::get(types.pointer);
  call("meshc_gemm_epilogue",
       {context, descriptor, epilogue, a, b, c, fillArray(0, buffers), mask});
}

static int64_t getAbiKind(StringRef kind) {
  return llvm::StringSwitch<int64_t>(kind)
      .Case("all_reduce", MESHC_ALL_REDUCE)
      .Case("reduce_scatter", MESHC_REDUCE_SCATTER)
      .Case("all_gather", MESHC_ALL_GATHER)
      .Default(MESHC_ALL_TO_ALL);
}

// The numbers are the same on both sides.
static_assert(int(exec::Epilogue::Bias) == MESHC_BIAS &&
              int(exec::Epilogue::Relu) == MESHC_RELU &&
              int(exec::Epilogue::ReluBias) == MESHC_RELU_BIAS &&
              int(exec::Epilogue::Gelu) == MESHC_GELU &&
              int(exec::Epilogue::GeluBias) == MESHC_GELU_BIAS &&
              int(exec::Epilogue::ReluGradient) == MESHC_RELU_GRADIENT &&
              int(exec::Epilogue::GeluGradient) == MESHC_GELU_GRADIENT &&
              int(exec::Epilogue::BiasGradientA) == MESHC_BIAS_GRADIENT_A &&
              int(exec::Epilogue::BiasGradientB) == MESHC_BIAS_GRADIENT_B);
static_assert(int(nd::ReductionKind::Sum) == MESHC_SUM &&
              int(nd::ReductionKind::Max) == MESHC_MAX &&
              int(nd::ReductionKind::Min) == MESHC_MIN &&
              int(nd::ReductionKind::Prod) == MESHC_PROD);

void StepFunctions::emitCollective(exec::CollectiveOp collective) {
  nd::MeshAttr mesh = nd::MeshAttr::of(collective);
  uint32_t axes = 0;
  for (StringAttr axis : collective.getAxes().getAsRange<StringAttr>())
    axes |= 1u << mesh.getAxisIndex(axis.getValue());
  SmallVector<llvm::Constant *> items;
  ArrayRef<int64_t> sizes = collective.getItems();
  for (size_t item = 0; item < sizes.size(); item += 4) {
    SmallVector<llvm::Constant *> fields;
    for (int64_t size : sizes.slice(item, 4))
      fields.push_back(constants.getInteger(types.i64, size));
    items.push_back(constants.makeStruct(types.collectiveItem, fields));
  }
  auto site = static_cast<int64_t>(sites.size());
  sites.push_back(constants.makeStruct(
      types.site, {constants.getString(getSourceText(collective.getLoc())),
                   constants.getString(collective.getDescription())}));
  llvm::Constant *descriptor = constants.makeStruct(
      types.collective,
      {constants.getInteger(types.i8, getAbiKind(collective.getKind())),
       constants.getInteger(types.i8, int64_t(collective.getReduction())),
       constants.getInteger(
           types.i8, getAbiType(getElementType(collective.getSend().front()))),
       constants.getInteger(types.i8, 0), constants.getInteger(types.i32, axes),
       constants.getInteger(types.i32, site),
       constants.getInteger(types.i32, int64_t(items.size())),
       constants.makeArray(items)});
  llvm::Constant *address = constants.makeGlobal(descriptor);
  begun[collective.getToken()] = address;
  call("meshc_collective",
       {context, address, fillArray(0, collective.getSend()),
        fillArray(1, collective.getRecv())});
}

void StepFunctions::emitWait(exec::WaitOp wait) {
  call("meshc_wait", {context, begun.lookup(wait.getToken())});
}

llvm::Function *StepFunctions::emit(exec::FuncOp op) {
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), {types.pointer}, false);
  auto *function = llvm::Function::Create(
      type, llvm::GlobalValue::InternalLinkage, op.getSymName(), module);
  // The runtime's calls may throw.
  function->setUWTableKind(llvm::UWTableKind::Default);
  context = function->getArg(0);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", function));
  for (llvm::AllocaInst *&array : arrays)
    array = builder.CreateAlloca(types.pointer, builder.getInt64(1));
  arraySizes = {1, 1};
  arena = builder.CreateLoad(types.pointer, context, "arena");
  for (Operation &inner : op.getBody().front()) {
    if (auto launch = dyn_cast<exec::LaunchOp>(inner))
      emitLaunch(launch);
    else if (auto gemm = dyn_cast<exec::GemmOp>(inner))
      emitGemm(gemm);
    else if (auto collective = dyn_cast<exec::CollectiveOp>(inner))
      emitCollective(collective);
    else if (auto wait = dyn_cast<exec::WaitOp>(inner))
      emitWait(wait);
  }
  for (auto [array, size] : llvm::zip(arrays, arraySizes))
    array->setOperand(0, builder.getInt64(size));
  builder.CreateRetVoid();
  return function;
}

} // namespace meshc::codegen
