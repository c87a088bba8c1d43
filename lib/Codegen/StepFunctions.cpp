//===- StepFunctions.cpp - step functions as calls of the runtime ---------===//
//
// Part of meshc, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Codegen/StepFunctions.h"
#include "dialects/Nd/ModelPlaces.h"
#include "meshc/EscapeControls.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace meshc::codegen {

std::string getSourceText(Location location) {
  SmallVector<FileLineColLoc> places = nd::getModelPlaces(location);
  if (places.empty())
    return "";
  FileLineColLoc place = places.front();
  StringRef name = llvm::sys::path::filename(place.getFilename().getValue());
  return escapeControls(name) + ":" + std::to_string(place.getLine()) + ":" +
         std::to_string(place.getColumn());
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

void StepFunctions::call(StringRef name, ArrayRef<llvm::Value *> given) {
  SmallVector<llvm::Value *> arguments = {context};
  llvm::append_range(arguments, given);
  SmallVector<llvm::Type *> argumentTypes;
  for (llvm::Value *argument : arguments)
    argumentTypes.push_back(argument->getType());
  auto *type =
      llvm::FunctionType::get(builder.getVoidTy(), argumentTypes, false);
  builder.CreateCall(module.getOrInsertFunction(name, type), arguments);
}

llvm::Value *StepFunctions::getAddress(Value buffer) {
  exec::ArenaPlace place =
      buffer.getDefiningOp<exec::PieceOpInterface>().getPlace();
  llvm::Value *address = builder.CreateConstInBoundsGEP1_64(
      builder.getInt8Ty(), arena, place.offset);
  for (auto [stride, iteration] : llvm::zip(place.strides, iterations))
    if (stride != 0)
      address = builder.CreateInBoundsGEP(
          builder.getInt8Ty(), address,
          builder.CreateMul(iteration, builder.getInt64(stride)));
  for (auto [alternate, iteration] : llvm::zip(place.alternates, iterations))
    if (alternate != 0)
      address = builder.CreateInBoundsGEP(
          builder.getInt8Ty(), address,
          builder.CreateMul(builder.CreateAnd(iteration, builder.getInt64(1)),
                            builder.getInt64(alternate)));
  return address;
}

/// Keeps LLVM from copying the body: its code is as long as the model's.
static void forbidUnrolling(llvm::Instruction *branch) {
  llvm::LLVMContext &context = branch->getContext();
  auto *hint = llvm::MDNode::get(
      context, llvm::MDString::get(context, "llvm.loop.unroll.disable"));
  llvm::MDNode *loop = llvm::MDNode::getDistinct(context, {nullptr, hint});
  loop->replaceOperandWith(0, loop);
  branch->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

/// At the end of the current function.
llvm::BasicBlock *StepFunctions::addBlock() {
  return llvm::BasicBlock::Create(module.getContext(), "",
                                  builder.GetInsertBlock()->getParent());
}

void StepFunctions::loop(int64_t size, bool backwards,
                         llvm::function_ref<void()> body) {
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::BasicBlock *start = addBlock();
  builder.CreateBr(start);
  builder.SetInsertPoint(start);
  llvm::PHINode *iteration = builder.CreatePHI(types.i64, 2, "iteration");
  iteration->addIncoming(builder.getInt64(backwards ? size - 1 : 0), before);
  llvm::BasicBlock *after = addBlock();
  Loop range = {builder.getInt64(backwards ? 0 : size - 1), backwards ? -1 : 1,
                after};
  loops.push_back(range);
  iterations.push_back(iteration);
  body();
  iterations.pop_back();
  loops.pop_back();
  llvm::Value *next =
      builder.CreateAdd(iteration, builder.getInt64(range.direction));
  iteration->addIncoming(next, builder.GetInsertBlock());
  llvm::Value *isLast = builder.CreateICmpEQ(iteration, range.last);
  forbidUnrolling(builder.CreateCondBr(isLast, after, start));
  builder.SetInsertPoint(after);
}

void StepFunctions::endUnless(Value condition, const MeshcLoop &loop) {
  SmallVector<llvm::Constant *> fields;
  for (int64_t count :
       {loop.launches, loop.products, loop.epilogues, loop.collectives})
    fields.push_back(constants.getInteger(types.i64, count));
  llvm::Value *descriptor =
      constants.makeGlobal(constants.makeStruct(types.loop, fields));
  const Loop &around = loops.back();
  llvm::Value *left =
      builder.CreateMul(builder.CreateSub(around.last, iterations.back()),
                        builder.getInt64(around.direction));
  auto *type = llvm::FunctionType::get(
      types.i32, {types.pointer, types.pointer, types.pointer, types.i64},
      false);
  llvm::Value *goesOn =
      builder.CreateCall(module.getOrInsertFunction("meshc_goes_on", type),
                         {context, descriptor, getAddress(condition), left});
  llvm::BasicBlock *next = addBlock();
  builder.CreateCondBr(builder.CreateICmpNE(goesOn, builder.getInt32(0)), next,
                       around.after);
  builder.SetInsertPoint(next);
}

void StepFunctions::inIteration(int64_t iteration,
                                llvm::function_ref<void()> body) {
  iterations.push_back(builder.getInt64(iteration));
  body();
  iterations.pop_back();
}

void StepFunctions::inNextIteration(llvm::function_ref<void()> body) {
  llvm::Value *current = iterations.back();
  llvm::BasicBlock *begin = addBlock(), *after = addBlock();
  llvm::Value *isLast = builder.CreateICmpEQ(current, loops.back().last);
  builder.CreateCondBr(isLast, after, begin);
  builder.SetInsertPoint(begin);
  iterations.back() =
      builder.CreateAdd(current, builder.getInt64(loops.back().direction));
  body();
  iterations.back() = current;
  builder.CreateBr(after);
  builder.SetInsertPoint(after);
}

llvm::Value *StepFunctions::getNull() {
  return llvm::ConstantPointerNull::get(types.pointer);
}

llvm::Value *StepFunctions::fillArray(unsigned number, ValueRange buffers) {
  arraySizes[number] = std::max<unsigned>(arraySizes[number], buffers.size());
  for (auto [index, buffer] : llvm::enumerate(buffers)) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(
        types.pointer, arrays[number], index);
    builder.CreateStore(getAddress(buffer), slot);
  }
  return arrays[number];
}

llvm::Constant *StepFunctions::getKernelAddress(StringRef symbol) {
  return llvm::ConstantExpr::getInBoundsGetElementPtr(
      types.kernel, kernelTable,
      builder.getInt64(kernelNumbers.lookup(symbol)));
}

llvm::Value *StepFunctions::getKernel(StringRef symbol) {
  return getKernelAddress(symbol);
}

llvm::Value *StepFunctions::addDescriptor(const MeshcGemm &gemm,
                                          exec::BufferType buffer,
                                          StringRef cut, nd::MeshAttr mesh) {
  SmallVector<llvm::Constant *> fields;
  for (int64_t size : {gemm.m, gemm.n, gemm.k, gemm.lda, gemm.ldb, gemm.ldc,
                       gemm.batch, gemm.strideA, gemm.strideB, gemm.strideC})
    fields.push_back(constants.getInteger(types.i64, size));
  for (uint8_t byte :
       {gemm.type, gemm.typeC, gemm.transA, gemm.transB, gemm.accumulate})
    fields.push_back(constants.getInteger(types.i8, byte));
  for (int64_t bytes : {gemm.scratchOffset, gemm.scratchBytes})
    fields.push_back(constants.getInteger(types.i64, bytes));
  fields.push_back(
      cut.empty() ? llvm::ConstantPointerNull::get(types.pointer)
                  : constants.makeGlobal(constants.makeDim(buffer, cut, mesh)));
  return constants.makeGlobal(constants.makeStruct(types.gemm, fields));
}

llvm::Value *StepFunctions::addDescriptor(MeshcEpilogueKind kind,
                                          StringRef kernel) {
  return constants.makeGlobal(constants.makeStruct(
      types.epilogue,
      {constants.getInteger(types.i32, kind),
       constants.getInteger(types.i32, 0), getKernelAddress(kernel)}));
}

llvm::Constant *
StepFunctions::makePermutation(const MeshcPermutation *permutation) {
  if (!permutation)
    return llvm::ConstantPointerNull::get(types.pointer);
  auto makeOrder = [&](ArrayRef<uint8_t> places) {
    return llvm::ConstantDataArray::get(module.getContext(), places);
  };
  const MeshcRound &round = permutation->round;
  SmallVector<llvm::Constant *> fields = {makeOrder(permutation->senders),
                                          makeOrder(permutation->receivers)};
  for (int64_t number : {permutation->shift, round.sendBlock, round.recvBlock,
                         round.offset, round.number})
    fields.push_back(constants.getInteger(types.i64, number));
  return constants.makeGlobal(constants.makeStruct(types.permutation, fields));
}

llvm::Value *StepFunctions::addDescriptor(const MeshcCollective &collective,
                                          Location location,
                                          StringRef description) {
  SmallVector<llvm::Constant *> items;
  for (const MeshcCollectiveItem &item :
       ArrayRef(collective.items, collective.itemCount)) {
    SmallVector<llvm::Constant *> fields;
    for (int64_t size : {item.sendOuter, item.sendEntries, item.sendInner,
                         item.recvOuter, item.recvEntries, item.recvInner})
      fields.push_back(constants.getInteger(types.i64, size));
    items.push_back(constants.makeStruct(types.collectiveItem, fields));
  }
  auto site = static_cast<int64_t>(sites.size());
  sites.push_back(constants.makeStruct(
      types.site, {constants.getString(getSourceText(location)),
                   constants.getString(description)}));
  return constants.makeGlobal(constants.makeStruct(
      types.collective,
      {constants.getInteger(types.i8, collective.kind),
       constants.getInteger(types.i8, collective.reduction),
       constants.getInteger(types.i8, collective.type),
       constants.getInteger(types.i8, 0),
       constants.getInteger(types.i32, collective.axes),
       constants.getInteger(types.i32, site),
       constants.getInteger(types.i32, collective.itemCount),
       constants.makeArray(items), makePermutation(collective.permutation)}));
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
  for (exec::StepOpInterface step : op.getSteps())
    step.emitCall(*this);
  for (auto [array, size] : llvm::zip(arrays, arraySizes))
    array->setOperand(0, builder.getInt64(size));
  builder.CreateRetVoid();
  return function;
}

} // namespace meshc::codegen
